import { CLASSES } from "../data/classes";
import type { Statistic } from "../data/blob";
import { ranked } from "../data/flags";
import { groupOf, quantities } from "../data/quantities";
import type { Run } from "../data/run";
import type { Search } from "../data/search";
import { ofHead, ofEntry } from "../data/source";
import { means } from "../data/summary";
import { csvNumber, errorUnit, withError } from "../format";
import { chosen, type State } from "../state";

export interface Row {
  checkpoint: number;
  head: number;
}

export interface Column {
  key: string;
  name: string;
  group: string;
  definition: string;
  /** The value by which rows are sorted. */
  sort(run: Run, row: Row, component: number): number | string;
  text(run: Run, row: Row, component: number): string;
  /** The source of its number; a column of names has none. */
  from?(run: Run, row: Row, component: number): string;
}

/** A number of qk.csv that does not depend on the component. */
const ofRow = (key: string) => (run: Run, { checkpoint, head }: Row, component: number) =>
  ofHead(run, { key, table: "components" }, checkpoint, head, component);

const column = (statistic: Statistic, digits: number): Column => ({
  key: statistic.key,
  name: statistic.title,
  group: groupOf(statistic, true),
  definition: statistic.definition,
  sort: (run, { checkpoint, head }, component) => run.value(statistic.key, checkpoint, head, component),
  text: (run, { checkpoint, head }, component) =>
    withError(
      run.value(statistic.key, checkpoint, head, component),
      run.error(statistic, checkpoint, head, component),
      digits,
      errorUnit(statistic),
    ),
  from: (run, { checkpoint, head }, component) => ofHead(run, statistic, checkpoint, head, component),
});

const ROW = "Row";
const FIRST: Column[] = [
  {
    key: "checkpoint",
    name: "checkpoint",
    group: ROW,
    definition: "label of the checkpoint",
    sort: (_, r) => r.checkpoint,
    text: (run, r) => run.checkpoints[r.checkpoint].label,
  },
  {
    key: "context",
    name: "context",
    group: ROW,
    definition: "largest number of tokens per document: r and the class depend on it",
    sort: (run, r) => run.order.context(run.checkpoints[r.checkpoint]),
    text: (run, r) => String(run.order.context(run.checkpoints[r.checkpoint]) || ""),
    from: (run, r) => ofEntry(run.checkpoints[r.checkpoint], "context"),
  },
  {
    key: "layer",
    name: "layer",
    group: ROW,
    definition: "from 0",
    sort: (run, r) => run.heads[r.head].layer * 1e6 + run.heads[r.head].q_head,
    text: (run, r) => String(run.heads[r.head].layer),
    from: ofRow("layer"),
  },
  {
    key: "q_head",
    name: "head",
    group: ROW,
    definition: "query head, from 0",
    sort: (run, r) => run.heads[r.head].q_head,
    text: (run, r) => String(run.heads[r.head].q_head),
    from: ofRow("q_head"),
  },
  {
    key: "kv_head",
    name: "KV head",
    group: ROW,
    definition: "the KV head that the query head reads",
    sort: (run, r) => run.heads[r.head].kv_head ?? NaN,
    text: (run, r) => String(run.heads[r.head].kv_head ?? ""),
    from: ofRow("kv_head"),
  },
  {
    key: "rope",
    name: "RoPE",
    group: ROW,
    definition: "whether the layer rotates queries and keys",
    sort: (run, r) => Number(run.heads[r.head].rope ?? NaN),
    text: (run, r) => ({ true: "RoPE", false: "NoPE", null: "" })[String(run.heads[r.head].rope)] ?? "",
  },
  {
    key: "class",
    name: "class",
    group: ROW,
    definition: "by r_q and r_k on PC0",
    sort: (run, r) => run.classOf(r.checkpoint, r.head),
    text: (run, r) => CLASSES[run.classOf(r.checkpoint, r.head)] ?? "no class",
  },
  {
    key: "flag",
    name: "flags",
    group: ROW,
    definition: "warnings about this row; the panel of the head explains them",
    sort: (run, r, pc) => flagText(run, r, pc),
    text: flagText,
  },
];

/** The most important flags first. */
function flagText(run: Run, { checkpoint, head }: Row, component: number): string {
  return ranked(run, run.flags(checkpoint, head, component))
    .map(({ name }) => name)
    .join(", ");
}

/** Columns that the page's table can have: statistics of components before those of heads. */
export function tableColumns(run: Run): Column[] {
  const digits = new Map(quantities(run).map((one) => [one.statistic.key, one]));
  const of = (per: string) =>
    run.statistics
      .filter((statistic) => statistic.per === per)
      .map((statistic) => column(statistic, digits.get(statistic.key)?.digits ?? 3));
  const first = FIRST.filter(({ key }) => key !== "context" || run.order.mixed);
  return [...first, ...of("component"), ...of("head")];
}

/** These columns identify a row, so they are always shown. */
export const FIXED = ["layer", "q_head"];
/** Keys of the columns that are shown by default. */
export function usualColumns(run: Run): string[] {
  const shown = new Set(means(run).map(({ statistic }) => statistic.key));
  const out = new Set(run.statistics.flatMap(({ table, key }) => (table === "heads" && !shown.has(key) ? key : [])));
  return tableColumns(run)
    .map(({ key }) => key)
    .filter((key) => !out.has(key));
}

/** Columns that are shown, in the table's order. */
export function shownColumns(run: Run, state: State): Column[] {
  const wanted = new Set([...FIXED, ...(state.columns ?? usualColumns(run))]);
  return tableColumns(run).filter(({ key }) => wanted.has(key));
}

/** Rows that pass filters, selection and search, sorted; missing numbers come last in both directions. */
export function tableRows(run: Run, state: State, { test }: Search): Row[] {
  const checkpoints = state.everyCheckpoint ? run.checkpoints.map((c) => c.index) : [state.at];
  const heads = chosen(run, state);
  const rows: Row[] = [];
  for (const checkpoint of checkpoints) {
    for (const head of heads) {
      if (!run.measured(checkpoint, head, state.component)) continue;
      if (test(checkpoint, head, state.component)) rows.push({ checkpoint, head });
    }
  }
  const columns = tableColumns(run);
  const sorted = columns.find(({ key }) => key === state.sort) ?? columns[1];
  const keys = new Map(rows.map((row) => [row, sorted.sort(run, row, state.component)]));
  const sign = state.descending ? -1 : 1;
  return rows.sort((a, b) => {
    const [x, y] = [keys.get(a)!, keys.get(b)!];
    if (typeof x === "string" || typeof y === "string") return sign * String(x).localeCompare(String(y));
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
    return sign * (x - y);
  });
}

/** Formats a name like the table's writer: an apostrophe before what a spreadsheet would evaluate as a formula, then quotes. */
function field(name: string): string {
  const text = /^'*[=+\-@\t\r]/.test(name) ? `'${name}` : name;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The rows in the format of qk.csv, with all their components: the same columns and digits, so that ropewalk can read them. */
export function csv(run: Run, rows: Row[]): string {
  const names = run.blob.column_names;
  const line = ({ checkpoint, head }: Row, component: number) => {
    const c = run.checkpoints[checkpoint];
    const { layer, q_head, kv_head, rope } = run.heads[head];
    const texts: Record<string, string | number> = {
      model: field(c.model),
      checkpoint: field(c.label),
      phase: field(c.phase),
      order: c.order,
      step: c.training_step ?? "",
      tokens: c.tokens ?? "",
      layer,
      q_head,
      kv_head: kv_head ?? "",
      rope: rope === null ? "" : Number(rope),
      pc: run.components[component],
      class: CLASSES[run.classOf(checkpoint, head)] ?? "",
      flag: field(run.flag(checkpoint, head, component)),
    };
    for (const name of Object.keys(run.blob.table.counts)) texts[name] = run.count(name, checkpoint, head) ?? "";
    return names.map((name) => texts[name] ?? csvNumber(run.value(name, checkpoint, head, component))).join(",");
  };
  const lines = rows.flatMap((row) =>
    run.components.flatMap((_, i) => (run.measured(row.checkpoint, row.head, i) ? line(row, i) : [])),
  );
  return `${[names.join(","), ...lines].join("\n")}\n`;
}
