// What `ropewalk report` writes into the page; docs/report.md describes it.

export interface PackedNumbers {
  /** Base64 of little-endian int32: up to nine significant digits; see numbers.ts for the two special ones. */
  digits: string;
  /** Base64 of int8: how many of the digits stand after the decimal point. */
  places: string;
}

export interface CheckpointEntry {
  label: string;
  phase: string;
  model: string;
  baseline: boolean;
}

export interface TableBlob {
  checkpoints: CheckpointEntry[];
  heads: { layer: number[]; q_head: number[]; kv_head: (number | null)[]; rope: (0 | 1 | null)[] };
  /** Numbers of the components, ascending. */
  components: number[];
  /** One number a (checkpoint, head, component). */
  columns: Record<string, PackedNumbers>;
  /** One number a (checkpoint, head). */
  head_columns: Record<string, PackedNumbers>;
  counts: Record<string, (number | null)[]>;
  /** Flags of each (checkpoint, head, component) as runs: code, length, code, length, … */
  flags: { names: string[]; runs: number[] };
}

export interface Leaf {
  value: number | null;
  se: number | null;
}

export interface Change extends Leaf {
  real: boolean | null;
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
  heads_r_q?: HeadChange[];
  heads_r_k?: HeadChange[];
  [statistic: string]: unknown;
}

export interface SummaryBlob {
  thresholds?: { high: number; low: number };
  checkpoints: Record<string, unknown>[];
  differences?: Difference[];
  taxonomy: Record<string, Record<string, Leaf>>;
  [key: string]: unknown;
}

export interface Blob {
  format: number;
  title: string;
  ropewalk: string;
  manifest: Record<string, unknown> | null;
  summary: SummaryBlob | null;
  table: TableBlob;
  figures: Record<string, Record<string, unknown>>;
}

export function readBlob(): Blob {
  const element = document.getElementById("data");
  return JSON.parse(element?.textContent ?? "") as Blob;
}
