// What `ropewalk report` writes into the page; docs/report.md describes it.

export interface PackedNumbers {
  /** Base64 of little-endian int32: up to nine significant digits; see numbers.ts for the two special ones. */
  digits: string;
  /** Base64 of int8: how many of the digits stand after the decimal point. */
  places: string;
}

/** Base64 of little-endian float32, or of its upper three (float24) or two bytes (bfloat16); NaN: missing. */
export type PackedFloats = { float32: string } | { float24: string } | { bfloat16: string };

export interface CheckpointEntry {
  label: string;
  phase: string;
  model: string;
  /** Place in the run, as the table numbers it. */
  order: number;
  /** Of training, and the tokens that it had read until then; null: not known. */
  training_step: number | null;
  tokens: number | null;
  baseline: boolean;
  /** Nats per token, of loss.csv; null: not measured. */
  loss: Losses | null;
}

/** The loss over all positions, and of the positions from `from` to before `to`. */
export interface Losses extends Leaf {
  bins: (Leaf & { from: number; to: number })[];
}

export interface TableBlob {
  checkpoints: CheckpointEntry[];
  heads: { layer: number[]; q_head: number[]; kv_head: (number | null)[]; rope: (0 | 1 | null)[] };
  /** Numbers of the components, ascending. */
  components: number[];
  /** One number a (checkpoint, head, component). */
  columns: Record<string, PackedNumbers>;
  /** One number a (checkpoint, head). */
  head_columns: Record<string, PackedNumbers | PackedFloats>;
  counts: Record<string, (number | null)[]>;
  /** Flags of qk.csv, of each (checkpoint, head, component). */
  flags: PackedFlags;
  /** Flags of heads.csv, of each (checkpoint, head); not there without it. */
  head_flags?: PackedFlags;
}

/** As runs: code, length, code, length, …; a name may be several flags, joined by ";". */
export interface PackedFlags {
  names: string[];
  runs: number[];
}

/** One way to look at a statistic, as it is or its absolute value: ropewalk/analysis/statistics/statistic.h. */
export interface StatisticView {
  key: string;
  name: string;
  absolute: boolean;
  hue: "queries" | "keys" | "both";
  /** Limits of the colours: fixed, so that checkpoints can be compared. */
  low: number;
  high: number;
  /** A change this large has the strongest colour. */
  change: number;
  /** Key of its mean over heads in summary.json; empty: none. */
  mean: string;
  mean_name: string;
  hint: string;
  /** Of its marks over training. */
  shape: string;
}

/** A column of the table. */
export interface Statistic {
  key: string;
  title: string;
  definition: string;
  per: "head" | "component";
  /** The file that holds its column: heads.csv, or else qk.csv. */
  table: "components" | "heads";
  /** What it is listed under; without one, by what it is of. */
  group: string;
  /** Limits of its values; null: none. */
  low: number | null;
  high: number | null;
  /** The column of its standard error; null: it has none. */
  error: string | null;
  /** Its sign is that of PC0's axis: where that is another axis, it has no change. */
  on_pc0: boolean;
  /** The statistic whose changes stand for its own: the same with a sign that a run carries. */
  carried: string | null;
  /** It falls as the context grows: it has no change between contexts. */
  per_token: boolean;
  /** Its components are shares of a whole. */
  shares: boolean;
  /** Whether summary.json lists the heads in which it changed, under heads_KEY. */
  changes: boolean;
  readings: StatisticView[];
}

export interface Leaf {
  value: number | null;
  se: number | null;
  /** The 95 % interval of a share that documents give no spread. */
  low?: number;
  high?: number;
}

export interface Change extends Leaf {
  real: boolean | null;
  /** Of a mean of signed numbers: over how many heads it is. */
  heads?: number;
  /** The same over heads whose axis stayed, with signs carried along the run. */
  stayed?: Change;
  /** Why it has no verdict. */
  flag?: string;
}

/** A head to look at, and the change that makes it one. */
export interface TopHead {
  layer: number;
  q_head: number;
  /** With it, those that share the keys that changed. */
  q_heads: number[];
  score: number;
  statistic: string;
  from: string;
  to: string;
  before: number;
  after: number;
  change: number;
  se: number | null;
  /** The change in units of the spread over heads. */
  effect: number;
  effect_se: number | null;
  changed: boolean;
  axis_changed: boolean;
  sentence: string;
}

export interface HeadChange {
  layer: number;
  q_head: number;
  value: number;
  se: number;
}

export interface Difference {
  from: string;
  to: string;
  paired: number;
  taxonomy?: Record<string, Change>;
  [statistic: string]: unknown;
}

/** What taking something away from a set of heads costs: a row of ablate.csv. */
export interface Effect {
  checkpoint: string;
  set: string;
  edit: string;
  /** [layer, query head] of each. */
  heads: [number, number][];
  /** Nats per token, and the mean of the same edit of random sets. */
  dloss: number | null;
  se: number | null;
  control: number | null;
}

export interface SummaryBlob {
  thresholds?: { high: number; low: number };
  changed?: { min_change: number; max_q: number } | undefined;
  checkpoints: Record<string, unknown>[];
  differences?: Difference[];
  whole_run?: Difference;
  /** All measured heads, by decreasing score. */
  top_heads?: TopHead[];
  taxonomy: Record<string, Record<string, Leaf>>;
  [key: string]: unknown;
}

/** Numbers of a head along something: ropewalk/analysis/statistics/series.h. */
export interface SeriesStatistic {
  key: string;
  title: string;
  definition: string;
  /** The file that holds it: bands.csv or curves.csv. */
  table: "bands" | "curves";
  /** What its points are; wavelengths are written as angles per token. */
  axis: "wavelength" | "distance" | "position" | "attention";
  hue: "queries" | "keys" | "both";
  low: number | null;
  high: number | null;
}

export interface PackedSeries {
  /** Of each (checkpoint, head) as runs: code, length, …; a place in `grids`, −1: no row, −2: the numbers of the cell before. */
  cells: number[];
  /** Of the cells with a grid, one after the other: one number a point. */
  value: PackedFloats;
  se: PackedFloats;
}

export interface SeriesBlob {
  statistics: SeriesStatistic[];
  grids: number[][];
  columns: Record<string, PackedSeries>;
  /** Files that would make the page too large, and by how many characters. */
  left_out: Record<string, number>;
}

/** Edges of heads, of edges.csv. */
export interface EdgesBlob {
  texts: string[];
  /** [place of the checkpoint, of the head, edges]: each edge is [document, t, key, p, ids of both, places of six texts]. */
  heads: [number, number, number[][]][];
  /** How many checkpoints have edges that the page does not hold. */
  left_out: number;
}

export interface Blob {
  format: number;
  title: string;
  ropewalk: string;
  manifest: Record<string, unknown> | null;
  summary: SummaryBlob | null;
  statistics: Statistic[];
  /** What each flag of the tables means, in a sentence. */
  flags?: Record<string, string>;
  /** Of qk.csv. */
  column_names: string[];
  table: TableBlob;
  series: SeriesBlob;
  edges?: EdgesBlob;
  /** Null: nothing was taken away. */
  effects?: Effect[] | null;
  /** In the order of docs/figures.md. */
  figure_names: string[];
  figures: Record<string, Record<string, unknown>>;
}

export function readBlob(): Blob {
  const element = document.getElementById("data");
  return JSON.parse(element?.textContent ?? "") as Blob;
}
