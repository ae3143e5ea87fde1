import { CLASSES } from "../data/classes";
import type { Statistic } from "../data/blob";
import type { Run } from "../data/run";
import { csvNumber, withError } from "../format";
import { chosen, type State } from "../state";

export interface Row {
  checkpoint: number;
  head: number;
}

export interface Column {
  key: string;
  name: string;
  /** What rows are sorted by. */
  sort(run: Run, row: Row, component: number): number | string;
  text(run: Run, row: Row, component: number): string;
}

const column = (statistic: Statistic): Column => ({
  key: statistic.key,
  name: statistic.title,
  sort: (run, { checkpoint, head }, component) => run.value(statistic.key, checkpoint, head, component),
  text: (run, { checkpoint, head }, component) =>
    withError(
      run.value(statistic.key, checkpoint, head, component),
      run.error(statistic, checkpoint, head, component),
    ),
});

const FIRST: Column[] = [
  {
    key: "checkpoint",
    name: "checkpoint",
    sort: (_, r) => r.checkpoint,
    text: (run, r) => run.checkpoints[r.checkpoint].label,
  },
  {
    key: "layer",
    name: "layer",
    sort: (run, r) => run.heads[r.head].layer * 1e6 + run.heads[r.head].q_head,
    text: (run, r) => String(run.heads[r.head].layer),
  },
  {
    key: "q_head",
    name: "head",
    sort: (run, r) => run.heads[r.head].q_head,
    text: (run, r) => String(run.heads[r.head].q_head),
  },
  {
    key: "kv_head",
    name: "KV head",
    sort: (run, r) => run.heads[r.head].kv_head ?? NaN,
    text: (run, r) => String(run.heads[r.head].kv_head ?? ""),
  },
  {
    key: "rope",
    name: "RoPE",
    sort: (run, r) => Number(run.heads[r.head].rope ?? NaN),
    text: (run, r) => ({ true: "RoPE", false: "NoPE", null: "" })[String(run.heads[r.head].rope)] ?? "",
  },
  {
    key: "class",
    name: "class",
    sort: (run, r) => run.classOf(r.checkpoint, r.head),
    text: (run, r) => CLASSES[run.classOf(r.checkpoint, r.head)] ?? "no class",
  },
];

const LAST: Column[] = [
  {
    key: "flag",
    name: "flag",
    sort: (run, r, pc) => run.flag(r.checkpoint, r.head, pc),
    text: (run, r, pc) => run.flag(r.checkpoint, r.head, pc).replaceAll(";", ", "),
  },
];

/** Columns of the page's table: statistics of components before those of heads. */
export function tableColumns(run: Run): Column[] {
  const of = (per: string) => run.statistics.filter((statistic) => statistic.per === per).map(column);
  return [...FIRST, ...of("component"), ...of("head"), ...LAST];
}

/** Rows that filters, selection and search leave, sorted; missing numbers stand last whichever way. */
export function tableRows(run: Run, state: State): Row[] {
  const checkpoints = state.everyCheckpoint ? run.checkpoints.map((c) => c.index) : [state.at];
  // "layer 3" is one word, and means no layer 30.
  const words = (state.search.toLowerCase().match(/(?:layer|head)\s+\d+|\S+/g) ?? []).map((word) =>
    word.replace(/\s+(\d+)/, " $1;"),
  );
  const heads = chosen(run, state);
  const rows: Row[] = [];
  for (const checkpoint of checkpoints) {
    for (const head of heads) {
      if (!run.measured(checkpoint, head, state.component)) continue;
      if (words.length && !words.every((word) => haystack(run, checkpoint, head, state.component).includes(word)))
        continue;
      rows.push({ checkpoint, head });
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

function haystack(run: Run, checkpoint: number, head: number, component: number): string {
  const { layer, q_head, name, rope } = run.heads[head];
  const c = run.checkpoints[checkpoint];
  return [
    c.label,
    c.phase,
    name,
    `layer ${layer};`,
    `head ${q_head};`,
    `l${layer}h${q_head}`,
    rope === null ? "" : rope ? "rope" : "nope",
    CLASSES[run.classOf(checkpoint, head)] ?? "no class",
    run.flag(checkpoint, head, component),
  ]
    .join("\n")
    .toLowerCase();
}

/** As the table's writer does it: an apostrophe before what a spreadsheet would take for a formula, then quotes. */
function field(name: string): string {
  const text = /^'*[=+\-@\t\r]/.test(name) ? `'${name}` : name;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The rows as qk.csv has them: the same columns but their order in the run, the same digits. */
export function csv(run: Run, rows: Row[], component: number): string {
  const names = run.blob.column_names.filter((name) => name !== "order");
  const lines = rows.map(({ checkpoint, head }) => {
    const c = run.checkpoints[checkpoint];
    const { layer, q_head, kv_head, rope } = run.heads[head];
    const texts: Record<string, string | number> = {
      model: field(c.model),
      checkpoint: field(c.label),
      phase: field(c.phase),
      layer,
      q_head,
      kv_head: kv_head ?? "",
      rope: rope === null ? "" : Number(rope),
      pc: run.components[component],
      class: CLASSES[run.classOf(checkpoint, head)] ?? "",
      flag: field(run.flag(checkpoint, head, component)),
    };
    for (const name of Object.keys(run.blob.table.counts)) texts[name] = run.count(name, checkpoint, head) ?? "";
    return names
      .map((name) => texts[name] ?? csvNumber(run.value(name, checkpoint, head, component)))
      .join(",");
  });
  return `${[names.join(","), ...lines].join("\n")}\n`;
}
