import { timeChart } from "../charts/time_chart";
import { unmoved, type Context, type Part } from "../context";
import type { Leaf, StatisticView } from "../data/blob";
import { CLASSES } from "../data/classes";
import type { Checkpoint } from "../data/run";
import { means } from "../data/summary";
import { h } from "../dom";
import { number, ofEntry, ofLoss } from "../data/source";
import { count, DASH, shareText, withError } from "../format";
import { isPrinting, onPrint } from "../print";
import { button, card, checkpointScroller } from "../widgets";
import { careTable } from "./care";
import { changes } from "./changes";
import { figures } from "./figures";
import { lossByPosition } from "./losses";
import { topHeads } from "./top_heads";

const lossOf = ({ loss }: Checkpoint): Leaf => loss ?? { value: null, se: null };

/** The most important results of the study. */
export function overview(context: Context): Part {
  const { run, summary, store } = context;
  /** Drawings over training, which follow the chosen axis. */
  const sparks: (() => void)[] = [];
  const last = run.steps[run.steps.length - 1];
  const [first] = run.order.wayTo(last);

  const tile = (
    name: string,
    hint: string,
    definition: string,
    look: string,
    leaf: (c: Checkpoint) => Leaf,
    from: (c: Checkpoint) => string,
    share = false,
  ) => {
    const text = (of: Leaf) =>
      share ? (of.value === null ? DASH : `${shareText(of)} %`) : withError(of.value, of.se);
    // The number, followed in smaller type by its error or interval.
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
      h("div", { class: "tile-value", "data-number": from(last) }, value, error ? h("span", { class: "se" }, error) : null),
      h("div", { class: "tile-hint", title: definition }, hint),
      run.steps.length > 1 ? spark : null,
      first !== last ? h("div", { class: "tile-from muted" }, `${first.label}: `, number(from(first), text(leaf(first)))) : null,
    );
  };
  const look = ({ hue }: StatisticView) => (hue === "both" ? "variance" : hue);
  const tiles = h(
    "div",
    { class: "tiles" },
    ...means(run).map(({ key, name, hint, statistic: { definition }, reading }) =>
      tile(name, hint, definition.replaceAll("`", ""), look(reading), (c) => summary.leaf(key, c), (c) => summary.from(key, c)),
    ),
    run.losses ? tile("loss", "nats per token", "of the next token", "variance", lossOf, ofLoss) : null,
    tile(CLASSES[0], "share of heads", `r_q and |r_k| above ${run.high}, on PC0`, "class-0", (c) => summary.share(CLASSES[0], c), (c) => summary.shareFrom(CLASSES[0], c), true),
  );

  const entry = summary.entry(last);
  const parts = [
    { name: "Heads to look at", part: topHeads(context) },
    { name: "Read with care", part: careTable(context, last) },
    { name: "Figures", part: figures(context) },
    { name: "What changed", part: changes(context) },
    { name: "Checkpoints", part: checkpoints(context) },
    { name: "Loss by position", part: lossByPosition(context) },
  ].flatMap(({ name, part }) => (part ? [{ name, part }] : []));
  const contents = h(
    "p",
    { class: "contents" },
    ...(run.models ? [] : parts).map(({ name, part }) => button(name, () => part.scrollIntoView(), { class: "link" })),
  );
  const counted = (what: string, many: number, one: string) => number(`count:qk.csv::${what}`, count(many, one));
  const documents = entry["documents"];
  const facts = [
    counted("steps", run.steps.length, run.models ? "model" : "checkpoint"),
    run.baselines.length ? counted("baselines", run.baselines.length, "baseline") : null,
    run.models ? null : counted("heads", run.heads.length, "head"),
    counted("components", run.components.length, "component"),
    typeof documents === "number" && !run.models ? number(ofEntry(last, "documents"), count(documents, "document")) : null,
  ].flatMap((fact, i) => (fact ? [i ? " · " : "", fact] : []));
  const intro = h(
    "div",
    { class: "intro" },
    h(
      "p",
      { class: "lead" },
      ...(run.models
        ? ["How the attention heads of ", counted("steps", run.steps.length, "model"), " encode token position."]
        : [
            "How ",
            counted("heads", run.heads.length, "attention head"),
            " encode token position: the numbers of ",
            h("strong", {}, last.label),
            run.steps.length > 1 ? " and their development." : ".",
          ]),
    ),
    h("p", { class: "muted" }, ...facts),
    run.models || !parts.length ? null : contents,
    summary.known
      ? null
      : h(
          "p",
          { class: "notice" },
          "There is no summary.json for this table, so standard errors of means are unknown.",
        ),
    entry["few_blocks"] === true
      ? h(
          "p",
          { class: "notice" },
          "Fewer than eight blocks of documents: the standard errors are themselves uncertain.",
        )
      : null,
    run.models && run.order.mixed
      ? h(
          "p",
          { class: "notice" },
          "These models were measured at different contexts. Class and r depend on the context, so rows of different contexts cannot be compared.",
        )
      : null,
  );

  const element = h(
    "div",
    { class: "overview" },
    intro,
    ...(run.models
      ? [checkpoints(context), figures(context), lossByPosition(context)]
      : [tiles, ...parts.map(({ part }) => part)]),
  );
  return {
    element,
    render(changed) {
      if (!unmoved(changed, "axis")) for (const draw of sparks) draw();
    },
  };
}

const lossNote = (models: boolean) =>
  ` Loss: nats per token${models ? "; models compare where they share their tokens" : ""}.`;

/** A column of the table of checkpoints. */
interface Column {
  name: string;
  cell(c: Checkpoint): HTMLElement;
}

/** The facts about a checkpoint, the means over its heads, and the shares of classes. */
function columnsOf({ run, summary }: Context): Record<"what" | "means" | "shares", Column[]> {
  const stated = (key: string, value = (c: Checkpoint) => summary.entry(c)[key]): Column => ({
    name: key,
    cell: (c) => h("td", { "data-number": ofEntry(c, key) }, typeof value(c) === "number" ? String(value(c)) : ""),
  });
  const layers = (c: Checkpoint) => {
    const last = summary.entry(c)["last_layer"];
    return typeof last === "number" ? last + 1 : null;
  };
  const phase: Column = { name: "phase", cell: (c) => h("td", { class: "text" }, c.baseline ? "baseline" : c.phase) };
  const loss: Column = { name: "loss", cell: (c) => h("td", { "data-number": ofLoss(c) }, withError(lossOf(c).value, lossOf(c).se)) };
  return {
    what: [
      { name: run.models ? "model" : "checkpoint", cell: (c) => h("th", { scope: "row" }, c.label) },
      run.models ? stated("layers", layers) : phase,
      ...(run.models || run.order.mixed ? [stated("context")] : []),
      stated("heads"),
    ],
    means: [
      ...(run.losses ? [loss] : []),
      ...means(run).map(({ key, name }) => ({
        name,
        cell: (c: Checkpoint) => {
          const { value, se } = summary.leaf(key, c);
          return h("td", { "data-number": summary.from(key, c) }, withError(value, se));
        },
      })),
    ],
    shares: CLASSES.map((name) => ({
      name: `${name}, %`,
      cell: (c) => h("td", { "data-number": summary.shareFrom(name, c), "data-unit": "%" }, shareText(summary.share(name, c))),
    })),
  };
}

/** Every number of the tiles at every checkpoint; for independent models, a table of them. */
function checkpoints(context: Context): HTMLElement {
  const { run } = context;
  const { what, means: numbers, shares } = columnsOf(context);
  const tableOf = (columns: Column[]) =>
    h(
      "table",
      { class: "numbers checkpoints" },
      h("thead", {}, h("tr", {}, ...columns.map(({ name }) => h("th", { scope: "col" }, name)))),
      h(
        "tbody",
        {},
        ...[...run.baselines, ...run.steps].map((c) =>
          h("tr", { class: c.baseline ? "baseline" : "", "data-checkpoint": c.label }, ...columns.map(({ cell }) => cell(c))),
        ),
      ),
    );
  const holder = h("div", {});
  // A printed page is too narrow for everything.
  const show = () => holder.replaceChildren(...(isPrinting() ? [numbers, shares] : [[...numbers, ...shares]]).map((some) => tableOf([...what, ...some])));
  onPrint(show, show);
  show();
  return card(
    run.models ? "Models" : "Checkpoints",
    `Means over heads ± standard error over documents. Class shares: ± SE, or a 95 % binomial interval near 0 or 100 %.${run.order.mixed && !run.models ? " Class and r depend on the context: compare rows of one context." : ""}${run.losses ? lossNote(run.models) : ""}`,
    checkpointScroller(`Numbers of every ${run.models ? "model" : "checkpoint"}`, run.checkpoints.length, holder),
  );
}
