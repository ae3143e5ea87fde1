// The data that `ropewalk report` writes into the page; docs/report.md describes them.

export interface PackedNumbers {
  /** Base64 of little-endian int32: up to nine significant digits; see numbers.ts for the two special ones. */
  digits: string;
  /** Base64 of int8: how many of the digits are after the decimal point. */
  places: string;
}

/** Base64 of little-endian float32, or of its upper three (float24) or two bytes (bfloat16); NaN: missing. */
export type PackedFloats = { float32: string } | { float24: string } | { bfloat16: string };

export interface CheckpointEntry {
  label: string;
  phase: string;
  model: string;
  /** Order in the run, as in the table. */
  order: number;
  /** The training step, and the tokens that training had read by then; null: unknown. */
  training_step: number | null;
  tokens: number | null;
  baseline: boolean;
  /** Nats per token, from loss.csv; null: not measured. */
  loss: Losses | null;
}

/** The loss over all positions, and over the positions from `from` to before `to`. */
export interface Losses extends Leaf {
  bins: (Leaf & { from: number; to: number })[];
}

export interface TableBlob {
  checkpoints: CheckpointEntry[];
  heads: { layer: number[]; q_head: number[]; kv_head: (number | null)[]; rope: (0 | 1 | null)[] };
  /** Numbers of the components, ascending. */
  components: number[];
  /** One number per (checkpoint, head, component). */
  columns: Record<string, PackedNumbers>;
  /** One number per (checkpoint, head). */
  head_columns: Record<string, PackedNumbers | PackedFloats>;
  counts: Record<string, (number | null)[]>;
  /** Flags of qk.csv, per (checkpoint, head, component). */
  flags: PackedFlags;
  /** Flags of heads.csv, per (checkpoint, head); missing without this file. */
  head_flags?: PackedFlags;
}

/** Run-length encoded: code, length, code, length, …; a name may be several flags, joined by ";". */
export interface PackedFlags {
  names: string[];
  runs: number[];
}

/** One way to show a statistic, its value or its absolute value: ropewalk/analysis/statistics/statistic.h. */
export interface StatisticView {
  key: string;
  name: string;
  absolute: boolean;
  hue: "queries" | "keys" | "both";
  /** Limits of the colours: fixed, so that checkpoints can be compared. */
  low: number;
  high: number;
  /** A change of this size has the strongest colour. */
  change: number;
  /** Key of its mean over heads in summary.json; empty: none. */
  mean: string;
  mean_name: string;
  hint: string;
  /** Shape of its marks over training. */
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
  /** The heading under which it is listed; empty: the heading for components or heads. */
  group: string;
  /** Limits of its values; null: none. */
  low: number | null;
  high: number | null;
  /** The column of its standard error; null: it has none. */
  error: string | null;
  /** It jumps from value to value; its error is on its scale. */
  step: boolean;
  /** Its sign is that of PC0's axis: where that is another axis, it has no change. */
  on_pc0: boolean;
  /** The statistic whose changes are used in place of its own: the same with signs carried along the run. */
  carried: string | null;
  /** It falls as the context grows, so it has no change between contexts. */
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
  /** The 95 % interval of a share for which documents give no error. */
  low?: number;
  high?: number;
}

export interface Change extends Leaf {
  real: boolean | null;
  /** For a mean of signed numbers: the number of heads. */
  heads?: number;
  /** The change over heads whose axis stayed, with signs carried along the run. */
  stayed?: Change;
  /** The reason why it has no verdict. */
  flag?: string;
}

/** A head to look at, and the change because of which it is listed. */
export interface TopHead {
  layer: number;
  q_head: number;
  /** All query heads that share the changed keys. */
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

/** What an edit of a set of heads costs: a row of ablate.csv. */
export interface Effect {
  checkpoint: string;
  set: string;
  edit: string;
  /** [layer, query head] of each head. */
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

/** Numbers of a head along an axis: ropewalk/analysis/statistics/series.h. */
export interface SeriesStatistic {
  key: string;
  title: string;
  definition: string;
  /** The file that holds it: bands.csv or curves.csv. */
  table: "bands" | "curves";
  /** What its points are; wavelengths are stored as angles per token. */
  axis: "wavelength" | "distance" | "position" | "attention" | "copies";
  hue: "queries" | "keys" | "both";
  low: number | null;
  high: number | null;
}

export interface PackedSeries {
  /**
   * Per (checkpoint, head), run-length encoded: code, length, …; an index in `grids`, −1: no row, −2: the numbers of
   * the cell before.
   */
  cells: number[];
  /** The numbers of all cells with a grid, one after another: one number per point. */
  value: PackedFloats;
  se: PackedFloats;
}

export interface SeriesBlob {
  statistics: SeriesStatistic[];
  grids: number[][];
  /** Of grids of windows: the first place past each, and where it is drawn; null: points are places. */
  grid_ends: (number[] | null)[];
  grid_means: (number[] | null)[];
  columns: Record<string, PackedSeries>;
  /** Files that would make the page too large, and the number of characters that they need. */
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

/** What a head is said to do where its score less some standard errors is above a threshold: ropewalk/analysis/table/roles.h. */
export interface Role {
  key: string;
  name: string;
  /** A column of heads.csv. */
  score: string;
  threshold: number;
  errors: number;
}

export interface Blob {
  format: number;
  title: string;
  ropewalk: string;
  manifest: Record<string, unknown> | null;
  summary: SummaryBlob | null;
  statistics: Statistic[];
  /** The meaning of each flag of the tables, in a sentence. */
  flags?: Record<string, string>;
  roles?: Role[];
  /** Columns of qk.csv. */
  column_names: string[];
  table: TableBlob;
  series: SeriesBlob;
  edges?: EdgesBlob;
  /** Null: heads were not edited. */
  effects?: Effect[] | null;
  /** In the order of docs/figures.md. */
  figure_names: string[];
  figures: Record<string, Record<string, unknown>>;
}

export function readBlob(): Blob {
  const element = document.getElementById("data");
  return JSON.parse(element?.textContent ?? "") as Blob;
}
