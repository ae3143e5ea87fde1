import { curveChart, type Axis } from "../charts/curve_chart";
import type { Context } from "../context";
import type { Head } from "../data/run";
import type { Series } from "../data/series";
import { number, ofPage } from "../data/source";
import { h } from "../dom";
import { decimals } from "../format";
import { tooltip } from "../tooltip";
import { card, scroller, type Note } from "../widgets";
import { across, extent, seriesInView, type Drawn } from "./series_in_view";

/** Curves in the colours of the figures. */
const LOOKS: Record<string, string> = { dist_pred: "predicted", dist_actual: "actual" };
const AXES = {
  distance: { card: "Logits by distance", title: "distance, tokens", unit: "tokens" },
  position: { card: "By position", title: "position, tokens", unit: "tokens" },
  attention: { card: "Attention by distance", title: "distance, tokens", unit: "tokens" },
  copies: { card: "Induction by distance", title: "distance of the copies, tokens", unit: "tokens" },
};
/** What of bands.csv stands in one chart: of queries and of keys. */
const PROFILES = [
  { name: "Energy", keys: ["energy_q", "energy_k"] },
  { name: "Variance from turning", keys: ["rope_var_q", "rope_var_k"] },
  { name: "Concentration", keys: ["mrl_q", "mrl_k"] },
];
/** On a logarithmic axis of energies, smaller ones lie on its lower end. */
const LEAST_ENERGY = 1e-5;

/** How pairs are laid out: by the wavelength at which they turn, if they do; the context where it lies among these. */
interface Pairs {
  turns: boolean;
  x: (theta: number, i: number) => number;
  domain: [number, number];
  context: number | null;
}

export function headSeries(context: Context): (head: Head) => HTMLElement[] {
  const { run, store } = context;
  const { here, whichCheckpoint, gather, curvesNow, pointFrom, from, textOf, named, xNumber, inWords } = seriesInView(context);
  /** Tables that the reader opened stay open while the run plays. */
  const opened = new Set<string>();
  const titled = (head: Head) => `layer ${head.layer}, head ${head.q_head}`;

  function legend(drawn: Drawn[], more: string): HTMLElement {
    return h(
      "p",
      { class: "note series-legend" },
      ...drawn.map(({ series, look }) =>
        h(
          "span",
          { class: "named", "data-definition": series.statistic.definition },
          h("i", { class: `line-key series ${look}` }),
          series.statistic.title,
        ),
      ),
      h("span", {}, more),
    );
  }

  /** The numbers of a drawing as a table, made when it is opened. */
  function numbers(key: string, name: string, first: string[], drawn: Drawn[], row: (i: number) => (string | HTMLElement)[]): HTMLElement {
    const body = h("div", {});
    const fill = () => {
      const count = Math.max(0, ...drawn.map(({ at }) => at[store.state.at]?.x.length ?? 0));
      const names = [
        ...first.map((text) => h("th", { scope: "col" }, text)),
        ...drawn.map(({ series: { statistic } }) =>
          h("th", { scope: "col", "data-definition": statistic.definition }, statistic.title),
        ),
      ];
      const rows = Array.from({ length: count }, (_, i) => {
        const [head, ...rest] = row(i);
        return h(
          "tr",
          {},
          h("th", { scope: "row" }, head),
          ...rest.map((text) => h("td", {}, text)),
          ...drawn.map((one) => h("td", { "data-number": from(one, i) }, textOf(one, i))),
        );
      });
      const table = h("table", { class: "numbers" }, h("thead", {}, h("tr", {}, ...names)), h("tbody", {}, ...rows));
      body.replaceChildren(scroller(name, table));
    };
    const box = h("details", { class: "series-numbers", "data-series": key }, h("summary", {}, name), body);
    box.addEventListener("toggle", () => {
      if (box.open) opened.add(key);
      else opened.delete(key);
      if (box.open && !body.childElementCount) fill();
    });
    if (opened.has(key)) {
      box.open = true;
      fill();
    }
    return box;
  }

  /** Why a card has nothing to draw; null: it has. */
  function absence(file: "bands" | "curves", drawn: Drawn[]): Note | null {
    const size = run.blob.series.left_out[file];
    if (size)
      return ["Left out of this page, to which they would add ", number(ofPage(file), `${(size / 1e6).toFixed(0)} MB`), `. They are in ${file}.csv.`];
    return drawn.length ? null : `${file}.csv has no numbers of this head.`;
  }
  const missingNow = (drawn: Drawn[]) => (drawn.some(({ at }) => at[store.state.at]) ? "" : ` Not measured ${whichCheckpoint()}.`);

  function curves(head: Head, axis: keyof typeof AXES, wanted: Series[]): HTMLElement {
    const words = AXES[axis];
    const title = axis !== "position" ? words.card : `${words.card}: ${wanted.map(({ statistic }) => statistic.title).join(", ")}`;
    const drawn = gather(head, wanted, ({ statistic }, i) => LOOKS[statistic.key] ?? (i ? "actual" : "variance"));
    const none = absence("curves", drawn);
    if (none) return card(title, none);
    const [low, high] = extent(drawn);
    const margin = 0.04 * (high - low || 1);
    const limits = drawn.map(({ series }) => series.statistic);
    const fixed = (axis === "position" || axis === "copies") && limits.every((one) => one.low !== null && one.high !== null);
    const y: Axis = {
      kind: "linear",
      domain: fixed
        ? [Math.min(...limits.map((one) => one.low!)), Math.max(...limits.map((one) => one.high!))]
        : [low - margin, high + margin],
    };
    const x: Axis = { kind: axis !== "position" ? "symlog" : "linear", domain: [0, Math.max(1, ...across(drawn))] };
    const same = (point: number) => point;
    const current = curvesNow(drawn, same);
    const describe = (at: number) => [
      [xNumber(drawn[0], drawn[0].at[store.state.at]?.drawn.indexOf(at) ?? -1), ` ${words.unit}`],
      ...drawn.map((one) => named(one, one.at[store.state.at]?.drawn.indexOf(at) ?? -1)),
    ];
    const flat =
      axis === "distance" && run.flags(store.state.at, head.index).includes("no_distance")
        ? " This layer has no RoPE: the predicted logit is the same at every distance."
        : "";
    const about =
      axis === "distance"
        ? `Mean logit of a query and a key ${whichCheckpoint()}, by how far they stand apart. The gap between the curves is what content adds.${flat}`
        : axis === "attention"
          ? `What a token's attention gives ${whichCheckpoint()} to tokens at a distance from x to below twice that, without the first four of the document.`
          : axis === "copies"
            ? `What tokens of a second copy of 50 random tokens give ${whichCheckpoint()} to the token behind the same one in the first copy, by how far apart the copies stand.`
            : `At ${here()}.`;
    return card(
      title,
      `${about}${missingNow(drawn)}`,
      legend(drawn, "· shaded: ±1 standard error over documents"),
      curveChart({
        label: `${title} of ${titled(head)} ${whichCheckpoint()}: ${inWords(drawn, same, words.unit)}`,
        x,
        y,
        xTitle: words.title,
        curves: current,
        mark: null,
        width: Math.max(280, Math.min(960, innerWidth - 56)),
        height: 300,
        describe,
      }),
      numbers(axis, `Numbers by ${axis}`, [words.title], drawn, (i) => [xNumber(drawn[0], i)]),
    );
  }

  /** The axis of pairs: wavelengths, or numbers of pairs that do not turn. */
  function pairAxis(all: Drawn[]): Pairs {
    const turns = across(all).some((theta) => theta > 0);
    const x = (theta: number, i: number) => (turns ? (2 * Math.PI) / theta : i);
    const xs = all.flatMap(({ at }) => at.flatMap((points) => points?.x.map(x) ?? [])).filter(Number.isFinite);
    const domain: [number, number] = [Math.min(...xs), Math.max(...xs)];
    if (domain[0] === domain[1]) domain[1] += 1;
    const context = run.order.context(run.checkpoints[store.state.at]);
    const inside = turns && context > domain[0] && context < domain[1];
    return { turns, x, domain, context: inside ? context : null };
  }

  /** Limits of a profile: energies on a logarithmic axis. */
  function profileAxis(drawn: Drawn[]): Axis {
    const [low, high] = extent(drawn);
    const positive = drawn.flatMap(({ at }) => at.flatMap((points) => [...(points?.value ?? [])])).filter((v) => v > 0);
    const least = Math.max(Math.min(...positive), high * LEAST_ENERGY);
    const energy = drawn[0].series.statistic.key.startsWith("energy") && positive.length > 0;
    return energy
      ? { kind: "log", domain: [least * 0.9, Math.max(high, least) * 1.1] }
      : { kind: "linear", domain: [drawn[0].series.statistic.low ?? Math.min(0, low - 0.02), 1] };
  }

  /** Queries and keys by pair. */
  function profile(head: Head, name: string, drawn: Drawn[], { turns, x, domain, context }: Pairs): HTMLElement {
    const xs = drawn[0].at[store.state.at]?.x.map(x) ?? [];
    return h(
      "figure",
      { class: "profile", "data-profile": drawn[0].series.statistic.key },
      h("figcaption", { "data-definition": drawn.map(({ series }) => series.statistic.definition).join("; ") }, name),
      curveChart({
        label: `${name} by ${turns ? "wavelength" : "pair"} of ${titled(head)} ${whichCheckpoint()}: ${inWords(drawn, x, turns ? "tokens" : "")}`,
        x: { kind: turns ? "log" : "linear", domain },
        y: profileAxis(drawn),
        xTitle: turns ? "wavelength, tokens" : "pair",
        curves: curvesNow(drawn, x),
        mark: context === null ? null : { at: context, name: `context ${context.toLocaleString("en")}` },
        width: Math.max(280, Math.min(400, innerWidth - 56)),
        height: 240,
        describe: (at) => {
          const i = xs.indexOf(at);
          const wave = number(pointFrom(String(i), "bands", "wavelength"), decimals(at, at < 100 ? 1 : 0));
          return [[`pair ${i}`, ...(turns ? [", ", wave, " tokens"] : [])], ...drawn.map((one) => named(one, i))];
        },
      }),
    );
  }

  function bands(head: Head, wanted: Series[]): HTMLElement {
    const look = ({ statistic }: Series) => (statistic.hue === "both" ? "variance" : statistic.hue);
    const all = gather(head, wanted, look);
    const title = "Rotary pairs";
    const none = absence("bands", all);
    if (none) return card(title, none);
    const pairs = pairAxis(all);
    const { turns, x, context } = pairs;
    const charts = PROFILES.flatMap(({ name, keys }) => {
      const drawn = all.filter(({ series }) => keys.includes(series.statistic.key));
      return drawn.length ? [profile(head, name, drawn, pairs)] : [];
    });
    const where = context !== null ? " Pairs right of the context turn less than once within a document." : "";
    const about = turns
      ? `Queries and keys in each pair of dimensions that RoPE turns, ${whichCheckpoint()}, by wavelength: the tokens of a whole turn.${where}`
      : `Queries and keys in each pair of dimensions ${whichCheckpoint()}. This layer has no RoPE: its pairs do not turn.`;
    const sides = ["queries", "keys"].map((side) =>
      h("span", { class: "named" }, h("i", { class: side === "keys" ? "square keys" : "dot queries" }), side),
    );
    return card(
      title,
      `${about}${missingNow(all)}`,
      h("p", { class: "note series-legend" }, ...sides, h("span", {}, "· shaded: ±1 standard error over documents")),
      h("div", { class: "profiles" }, ...charts),
      numbers("bands", "Numbers by pair", turns ? ["pair", "wavelength, tokens"] : ["pair"], all, (i) => {
        const theta = all[0].at[store.state.at]?.x[i] ?? NaN;
        const length = x(theta, i);
        const pair = number(pointFrom(String(i), "bands", "pair"), String(i));
        const wave = number(pointFrom(String(i), "bands", "wavelength"), decimals(length, length < 100 ? 2 : 0));
        return turns ? [pair, wave] : [pair];
      }),
    );
  }

  return (head) => {
    tooltip.hide();
    const of = (axis: string) => run.series.filter(({ statistic }) => statistic.axis === axis);
    const { left_out } = run.blob.series;
    return [
      ...(of("distance").length || left_out["curves"] ? [curves(head, "distance", of("distance"))] : []),
      ...of("attention").map((series) => curves(head, "attention", [series])),
      ...of("copies").map((series) => curves(head, "copies", [series])),
      ...of("position").map((series) => curves(head, "position", [series])),
      ...(of("wavelength").length || left_out["bands"] ? [bands(head, of("wavelength"))] : []),
    ];
  };
}
