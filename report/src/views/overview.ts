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

/** A number of the last checkpoint, large, with its way there. */
interface Tile {
  name: string;
  hint: string;
  definition: string;
  look: string;
  leaf: (c: Checkpoint) => Leaf;
  from: (c: Checkpoint) => string;
  share?: boolean;
}

/** A tile, and how its drawing over training follows the axis; null: it has none. */
function tile({ run, store }: Context, { name, hint, definition, look, leaf, from, share }: Tile): { element: HTMLElement; draw: (() => void) | null } {
  const last = run.steps[run.steps.length - 1];
  const [first] = run.order.wayTo(last);
  const text = (of: Leaf) => (share ? (of.value === null ? DASH : `${shareText(of)} %`) : withError(of.value, of.se));
  // The number, then what is smaller: its error or interval.
  const [, value, error] = /^(\S+)(.*)$/.exec(text(leaf(last)))!;
  const values = run.checkpoints.map((c) => leaf(c).value ?? NaN).filter((v) => !Number.isNaN(v));
  const spark = h("div", {});
  const draw = () =>
    spark.replaceChildren(
      timeChart(run, {
        label: `${name} over training`,
        axis: store.state.axis,
        domain: [Math.min(0, ...values), Math.max(1, ...values)],
        ticks: [],
        width: 220,
        height: 64,
        labels: false,
        series: [{ name: look, markers: true, value: (c) => leaf(run.checkpoints[c]).value ?? NaN }],
      }),
    );
  const several = run.steps.length > 1;
  const element = h(
    "div",
    { class: "tile", "data-statistic": name },
    h("div", { class: "tile-name" }, name),
    h("div", { class: "tile-value", "data-number": from(last) }, value, error ? h("span", { class: "se" }, error) : null),
    h("div", { class: "tile-hint", title: definition }, hint),
    several ? spark : null,
    first !== last ? h("div", { class: "tile-from muted" }, `${first.label}: `, number(from(first), text(leaf(first)))) : null,
  );
  return { element, draw: several ? draw : null };
}

/** Means over heads, the loss, and the share of the first class. */
function tilesOf({ run, summary }: Context): Tile[] {
  const look = ({ hue }: StatisticView) => (hue === "both" ? "variance" : hue);
  return [
    ...means(run).map(({ key, name, hint, statistic: { definition }, reading }) => ({
      name,
      hint,
      definition: definition.replaceAll("`", ""),
      look: look(reading),
      leaf: (c: Checkpoint) => summary.leaf(key, c),
      from: (c: Checkpoint) => summary.from(key, c),
    })),
    ...(run.losses ? [{ name: "loss", hint: "nats per token", definition: "of the next token", look: "variance", leaf: lossOf, from: ofLoss }] : []),
    {
      name: CLASSES[0],
      hint: "share of heads",
      definition: `r_q and |r_k| above ${run.high}, on PC0`,
      look: "class-0",
      leaf: (c) => summary.share(CLASSES[0], c),
      from: (c) => summary.shareFrom(CLASSES[0], c),
      share: true,
    },
  ];
}

/** What the study is, in a sentence and in numbers, with links to the parts below and what is to be known first. */
function introduction({ run, summary }: Context, parts: { name: string; part: HTMLElement }[]): HTMLElement {
  const last = run.steps[run.steps.length - 1];
  const entry = summary.entry(last);
  const counted = (what: string, many: number, one: string) => number(`count:qk.csv::${what}`, count(many, one));
  const documents = entry["documents"];
  const facts = [
    counted("steps", run.steps.length, run.models ? "model" : "checkpoint"),
    run.baselines.length ? counted("baselines", run.baselines.length, "baseline") : null,
    run.models ? null : counted("heads", run.heads.length, "head"),
    counted("components", run.components.length, "component"),
    typeof documents === "number" && !run.models ? number(ofEntry(last, "documents"), count(documents, "document")) : null,
  ].flatMap((fact, i) => (fact ? [i ? " · " : "", fact] : []));
  const lead = run.models
    ? ["How the attention heads of ", counted("steps", run.steps.length, "model"), " encode token position."]
    : [
        "How ",
        counted("heads", run.heads.length, "attention head"),
        " encode token position: the numbers of ",
        h("strong", {}, last.label),
        run.steps.length > 1 ? " and the way there." : ".",
      ];
  const contents = parts.map(({ name, part }) => button(name, () => part.scrollIntoView(), { class: "link" }));
  return h(
    "div",
    { class: "intro" },
    h("p", { class: "lead" }, ...lead),
    h("p", { class: "muted" }, ...facts),
    run.models || !parts.length ? null : h("p", { class: "contents" }, ...contents),
    ...warnings(entry["few_blocks"] === true, !summary.known, run.models && run.order.mixed).map((text) => h("p", { class: "notice" }, text)),
  );
}

function warnings(fewBlocks: boolean, noSummary: boolean, mixedModels: boolean): string[] {
  return [
    noSummary ? "There is no summary.json for this table: standard errors over checkpoints are not known." : "",
    fewBlocks ? "Fewer than eight blocks of documents: the standard errors are themselves uncertain." : "",
    mixedModels
      ? "These models were measured at different contexts. Class and r depend on the context, so rows of different contexts do not compare."
      : "",
  ].filter((text) => text);
}

/** The study at a glance. */
export function overview(context: Context): Part {
  const { run } = context;
  const last = run.steps[run.steps.length - 1];
  const tiles = tilesOf(context).map((one) => tile(context, one));
  const parts = [
    { name: "Heads to look at", part: topHeads(context) },
    { name: "Read with care", part: careTable(context, last) },
    { name: "Figures", part: figures(context) },
    { name: "What changed", part: changes(context) },
    { name: "Checkpoints", part: checkpoints(context) },
    { name: "Loss by position", part: lossByPosition(context) },
  ].flatMap(({ name, part }) => (part ? [{ name, part }] : []));
  const element = h(
    "div",
    { class: "overview" },
    introduction(context, parts),
    ...(run.models
      ? [checkpoints(context), figures(context), lossByPosition(context)]
      : [h("div", { class: "tiles" }, ...tiles.map((one) => one.element)), ...parts.map(({ part }) => part)]),
  );
  return {
    element,
    render(changed) {
      if (!unmoved(changed, "axis")) for (const { draw } of tiles) draw?.();
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

/** What a checkpoint is, the means over its heads, and the shares of classes. */
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

/** Every number of the tiles at every checkpoint; of models side by side, the overview of them. */
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
  // A sheet is not wide enough for all of it.
  const show = () => holder.replaceChildren(...(isPrinting() ? [numbers, shares] : [[...numbers, ...shares]]).map((some) => tableOf([...what, ...some])));
  onPrint(show, show);
  show();
  return card(
    run.models ? "Models" : "Checkpoints",
    `Means over heads ± standard error over documents. Class shares: ± SE, or a 95 % binomial interval near 0 or 100 %.${run.order.mixed && !run.models ? " Class and r depend on the context: compare rows of one context." : ""}${run.losses ? lossNote(run.models) : ""}`,
    checkpointScroller(`Numbers of every ${run.models ? "model" : "checkpoint"}`, run.checkpoints.length, holder),
  );
}
