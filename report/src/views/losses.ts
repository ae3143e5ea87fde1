import type { Context } from "../context";
import type { Checkpoint } from "../data/run";
import { ofLoss } from "../data/source";
import { h } from "../dom";
import { withError } from "../format";
import { card, checkpointScroller } from "../widgets";

/** The loss of every checkpoint by the position of the predicting token; null where none was measured. */
export function lossByPosition({ run }: Context): HTMLElement | null {
  if (!run.losses) return null;
  const ends = new Map(run.checkpoints.flatMap(({ loss }) => loss?.bins.map(({ from, to }) => [from, to] as const) ?? []));
  const bins = [...ends].sort(([a], [b]) => a - b);
  const name = ([from, to]: readonly [number, number]) => (to - from === 1 ? `${from}` : `${from}–${to - 1}`);
  const row = (c: Checkpoint) =>
    h(
      "tr",
      { class: c.baseline ? "baseline" : "", "data-checkpoint": c.label },
      h("th", { scope: "row" }, c.label),
      ...bins.map(([from]) => {
        const found = c.loss?.bins.find((bin) => bin.from === from);
        return h("td", found ? { "data-number": ofLoss(c, from) } : {}, withError(found?.value, found?.se));
      }),
    );
  const table = h(
    "table",
    { class: "numbers losses" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, run.models ? "model" : "checkpoint"), ...bins.map((bin) => h("th", { scope: "col", "data-scale": "" }, name(bin))))),
    h("tbody", {}, ...[...run.baselines, ...run.steps].map(row)),
  );
  return card(
    "Loss by position",
    "Loss of the next token ± standard error over documents, nats per token, by the position of the token that predicts.",
    checkpointScroller("Loss of every checkpoint by position", run.checkpoints.length, table),
  );
}
