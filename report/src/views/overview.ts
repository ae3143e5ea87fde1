import { timeChart } from "../charts/time_chart";
import { unmoved, type Context, type Part } from "../context";
import type { Leaf, Reading } from "../data/blob";
import { CLASSES } from "../data/classes";
import type { Checkpoint } from "../data/run";
import { means } from "../data/summary";
import { h } from "../dom";
import { count, DASH, shareText, withError } from "../format";
import { card, checkpointScroller } from "../widgets";
import { changes } from "./changes";
import { figures } from "./figures";

/** The study at a glance. */
export function overview(context: Context): Part {
  const { run, summary, store } = context;
  /** Drawings over training, which follow the axis. */
  const sparks: (() => void)[] = [];
  const last = run.steps[run.steps.length - 1];
  const [first] = run.order.wayTo(last);

  const tile = (name: string, hint: string, look: string, leaf: (c: Checkpoint) => Leaf, share: boolean) => {
    const text = (of: Leaf) =>
      share ? (of.value === null ? DASH : `${shareText(of)} %`) : withError(of.value, of.se);
    // The number, then what is smaller: its error or interval.
    const [, value, error] = /^(\S+)(.*)$/.exec(text(leaf(last)))!;
    const values = run.checkpoints.map((c) => leaf(c).value ?? NaN).filter((v) => !Number.isNaN(v));
    const low = Math.min(0, ...values);
    const spark = h("div", {});
    if (run.steps.length > 1)
      sparks.push(() =>
        spark.replaceChildren(
          timeChart(run, {
            label: `${name} over training`,
            axis: store.state.axis,
            domain: [low, Math.max(1, ...values)],
            ticks: [],
            width: 220,
            height: 64,
            labels: false,
            series: [{ name: look, markers: true, value: (c) => leaf(run.checkpoints[c]).value ?? NaN }],
          }),
        ),
      );
    return h(
      "div",
      { class: "tile", "data-statistic": name },
      h("div", { class: "tile-name" }, name),
      h("div", { class: "tile-value" }, value, error ? h("span", { class: "se" }, error) : null),
      h("div", { class: "tile-hint", title: hint }, hint),
      run.steps.length > 1 ? spark : null,
      first !== last ? h("div", { class: "tile-from muted" }, `${first.label}: ${text(leaf(first))}`) : null,
    );
  };
  const look = ({ hue }: Reading) => (hue === "both" ? "variance" : hue);
  const tiles = h(
    "div",
    { class: "tiles" },
    ...means(run).map(({ key, name, hint, reading }) =>
      tile(name, hint, look(reading), (c) => summary.leaf(key, c), false),
    ),
    tile(CLASSES[0], "share of heads", "class-0", (c) => summary.share(CLASSES[0], c), true),
  );

  const entry = summary.entry(last);
  const facts = [
    count(run.steps.length, run.models ? "model" : "checkpoint"),
    run.baselines.length ? count(run.baselines.length, "baseline") : "",
    run.models ? "" : count(run.heads.length, "head"),
    count(run.components.length, "component"),
    typeof entry["documents"] === "number" && !run.models ? count(entry["documents"], "document") : "",
  ].filter((text) => text);
  const intro = h(
    "div",
    { class: "intro" },
    h(
      "p",
      { class: "lead" },
      ...(run.models
        ? [`How the attention heads of ${count(run.steps.length, "model")} encode token position.`]
        : [
            `How ${count(run.heads.length, "attention head")} encode token position: the numbers of `,
            h("strong", {}, last.label),
            run.steps.length > 1 ? " and the way there." : ".",
          ]),
    ),
    h("p", { class: "muted" }, facts.join(" · ")),
    summary.known
      ? null
      : h(
          "p",
          { class: "notice" },
          "There is no summary.json for this table: standard errors over checkpoints are not known.",
        ),
    entry["few_blocks"] === true
      ? h(
          "p",
          { class: "notice" },
          "Fewer than eight blocks of documents: the standard errors are themselves uncertain.",
        )
      : null,
  );

  const element = h(
    "div",
    { class: "overview" },
    intro,
    ...(run.models
      ? [checkpoints(context), figures(context)]
      : [tiles, figures(context), changes(context), checkpoints(context)]),
  );
  return {
    element,
    render(changed) {
      if (!unmoved(changed, "axis")) for (const draw of sparks) draw();
    },
  };
}

/** Every number of the tiles at every checkpoint; of models side by side, the overview of them. */
function checkpoints({ run, summary }: Context): HTMLElement {
  const number = (value: unknown) => h("td", {}, typeof value === "number" ? String(value) : "");
  const row = (c: Checkpoint) => {
    const entry = summary.entry(c);
    const shares = CLASSES.map((name) => summary.share(name, c));
    return h(
      "tr",
      { class: c.baseline ? "baseline" : "", "data-checkpoint": c.label },
      h("th", { scope: "row" }, c.label),
      ...(run.models
        ? [number(typeof entry["last_layer"] === "number" ? entry["last_layer"] + 1 : null), number(entry["context"])]
        : [h("td", {}, c.baseline ? "baseline" : run.order.phase(c))]),
      number(entry["heads"]),
      ...means(run).map(({ key }) => summary.leaf(key, c)).map(({ value, se }) => h("td", {}, withError(value, se))),
      ...shares.map((share) => h("td", {}, shareText(share))),
    );
  };
  const names = [
    ...(run.models ? ["model", "layers", "context"] : ["checkpoint", "phase"]),
    "heads",
    ...means(run).map(({ name }) => name),
    ...CLASSES.map((name) => `${name}, %`),
  ];
  const table = h(
    "table",
    { class: "numbers checkpoints" },
    h("thead", {}, h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...[...run.baselines, ...run.steps].map(row)),
  );
  return card(
    run.models ? "Models" : "Checkpoints",
    "Means over heads on PC0 ± standard error over documents; share of heads in each class, with ± or, where that would pass 0 or 100 %, the 95 % interval of a share of so many heads.",
    checkpointScroller(`Numbers of every ${run.models ? "model" : "checkpoint"}`, run.checkpoints.length, table),
  );
}
