import { h } from "../dom";
import type { Statistic } from "./blob";
import type { Checkpoint, Run } from "./run";

// Where a number on the page is from, as its element says in `data-number`: "FILE:ROW:COLUMN". A head's row is
// "LABEL/LAYER.HEAD", of qk.csv with "/PCn" after it; a checkpoint's is its label, a bin's of loss.csv "LABEL/FROM", an edge's "LABEL/LAYER.HEAD/RANK", a
// pair's "FROM → TO"; in a JSON file
// the column is a path of keys. "count:" and "mean:" before it: of those rows; "interval:": the 95 % interval of it.
// "X ± Y" is a number with its standard error. What counts the page itself is "page:WHAT".

/** Of the page itself: rows found, heads selected. */
export const ofPage = (what: string): string => `page:${what}`;

export function ofHead(run: Run, statistic: Pick<Statistic, "key" | "table">, checkpoint: number, head: number, component = run.pc0): string {
  const { layer, q_head } = run.heads[head];
  const row = `${run.checkpoints[checkpoint].label}/${layer}.${q_head}`;
  const heads = statistic.table === "heads";
  return heads ? `heads.csv:${row}:${statistic.key}` : `qk.csv:${row}/PC${run.components[component]}:${statistic.key}`;
}

export const ofSummary = ({ label }: Pick<Checkpoint, "label">, key: string): string => `summary.json:${label}:${key}`;

/** The loss of a checkpoint; `from`: of the bin that begins there. */
export const ofLoss = ({ label }: Pick<Checkpoint, "label">, from?: number): string =>
  `loss.csv:${label}${from === undefined ? "" : `/${from}`}:loss`;

/** What a summary says about a checkpoint itself: its context, its documents. */
export const ofEntry = (c: Pick<Checkpoint, "label">, key: string): string => ofSummary(c, `checkpoint.${key}`);

/** A number with where it is from. */
export function number(from: string, text: string, attributes: Record<string, unknown> = {}): HTMLElement {
  return h("span", { ...attributes, "data-number": from }, text);
}
