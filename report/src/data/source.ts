import { h } from "../dom";
import type { Statistic } from "./blob";
import type { Checkpoint, Run } from "./run";

// Where a number on the page comes from, as its element states in `data-number`: "FILE:ROW:COLUMN". The row of a head
// is "LABEL/LAYER.HEAD", in qk.csv followed by "/PCn"; the row of a checkpoint is its label, of a bin of loss.csv
// "LABEL/FROM", of an edge "LABEL/LAYER.HEAD/RANK", of a pair "FROM → TO". In a JSON file the column is a path of keys. A prefix "count:" or "mean:" means
// the count or mean of these rows; "interval:" the 95 % interval of the number. "X ± Y" is a number with its standard
// error. Numbers that the page counts itself are "page:WHAT".

/** The source of a number that the page counts itself: rows found, heads selected. */
export const ofPage = (what: string): string => `page:${what}`;

export function ofHead(run: Run, statistic: Pick<Statistic, "key" | "table">, checkpoint: number, head: number, component = run.pc0): string {
  const { layer, q_head } = run.heads[head];
  const row = `${run.checkpoints[checkpoint].label}/${layer}.${q_head}`;
  const heads = statistic.table === "heads";
  return heads ? `heads.csv:${row}:${statistic.key}` : `qk.csv:${row}/PC${run.components[component]}:${statistic.key}`;
}

export const ofSummary = ({ label }: Pick<Checkpoint, "label">, key: string): string => `summary.json:${label}:${key}`;

/** The source of a checkpoint's loss; `from`: the beginning of the bin. */
export const ofLoss = ({ label }: Pick<Checkpoint, "label">, from?: number): string =>
  `loss.csv:${label}${from === undefined ? "" : `/${from}`}:loss`;

/** The source of a fact about a checkpoint in the summary: its context, its documents. */
export const ofEntry = (c: Pick<Checkpoint, "label">, key: string): string => ofSummary(c, `checkpoint.${key}`);

/** A number with its source. */
export function number(from: string, text: string, attributes: Record<string, unknown> = {}): HTMLElement {
  return h("span", { ...attributes, "data-number": from }, text);
}
