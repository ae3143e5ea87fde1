import { CLASSES } from "../data/classes";
import type { Run } from "../data/run";
import { csvNumber, decimals, withError } from "../format";
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

const value = (key: "r_q" | "r_k" | "explained_variance", name: string): Column => ({
  key,
  name,
  sort: (run, { checkpoint, head }, component) => run.value(key, checkpoint, head, component),
  text: (run, { checkpoint, head }, component) =>
    withError(run.value(key, checkpoint, head, component), run.value(`${key}_se`, checkpoint, head, component)),
});

export const COLUMNS: Column[] = [
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
  value("explained_variance", "variance"),
  value("r_q", "r_q"),
  value("r_k", "r_k"),
  {
    key: "pc0_stability",
    name: "stability",
    sort: (run, r) => run.headValue("pc0_stability", r.checkpoint, r.head),
    text: (run, r) => decimals(run.headValue("pc0_stability", r.checkpoint, r.head)),
  },
  {
    key: "flag",
    name: "flag",
    sort: (run, r, pc) => run.flag(r.checkpoint, r.head, pc),
    text: (run, r, pc) => run.flag(r.checkpoint, r.head, pc).replaceAll(";", ", "),
  },
];

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
  const column = COLUMNS.find(({ key }) => key === state.sort) ?? COLUMNS[1];
  const keys = new Map(rows.map((row) => [row, column.sort(run, row, state.component)]));
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

/** The rows as qk.csv has them: the same columns, the same digits. */
export function csv(run: Run, rows: Row[], component: number): string {
  const header =
    "model,checkpoint,phase,layer,q_head,kv_head,rope,pc,explained_variance,r_q,r_k,r_q_se,r_k_se,explained_variance_se,class,pc0_stability,n_q,n_k,n_blocks,flag";
  const lines = rows.map(({ checkpoint, head }) => {
    const c = run.checkpoints[checkpoint];
    const { layer, q_head, kv_head, rope } = run.heads[head];
    const number = (name: Parameters<Run["value"]>[0]) => csvNumber(run.value(name, checkpoint, head, component));
    const counts = ["n_q", "n_k", "n_blocks"].map((name) => run.count(name, checkpoint, head) ?? "");
    return [
      field(c.model),
      field(c.label),
      field(c.phase),
      layer,
      q_head,
      kv_head ?? "",
      rope === null ? "" : Number(rope),
      run.components[component],
      number("explained_variance"),
      number("r_q"),
      number("r_k"),
      number("r_q_se"),
      number("r_k_se"),
      number("explained_variance_se"),
      CLASSES[run.classOf(checkpoint, head)] ?? "",
      csvNumber(run.headValue("pc0_stability", checkpoint, head)),
      ...counts,
      field(run.flag(checkpoint, head, component)),
    ].join(",");
  });
  return `${[header, ...lines].join("\n")}\n`;
}
