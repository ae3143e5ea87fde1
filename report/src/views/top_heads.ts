import type { Context } from "../context";
import type { Effect, TopHead } from "../data/blob";
import type { Checkpoint, Head } from "../data/run";
import { number } from "../data/source";
import { h } from "../dom";
import { DASH, decimals, errorText, signed } from "../format";
import { button, card, columnHeads, row, scroller, type Column } from "../widgets";

const SHOWN = 10;

/** The heads that changed most, each with a sentence; null where the summary has no such list. */
export function topHeads(context: Context): HTMLElement | null {
  const { run, summary, store } = context;
  const lines = summary.topHeads(SHOWN).flatMap((top) => {
    const heads = top.q_heads.flatMap((q_head) => run.head(top.layer, q_head) ?? []);
    return heads.length ? [{ top, heads }] : [];
  });
  if (!lines.length) return null;
  const checkpoint = (label: string) => run.checkpoints.find((c) => c.label === label);
  const look = (top: TopHead) => ({ view: "explore" as const, at: checkpoint(top.to)?.index ?? store.state.at, quantity: top.statistic });
  const columns: Column[] = [
    { name: "head", definition: "layer and query head; opens its panel" },
    { name: "what changed", definition: "the change that decides the head's rank: the later value less the earlier one, with its standard error over documents", look: "text" },
    { name: "in spreads", definition: "the change on the statistic's own scale, in units of the spread over heads, with its standard error over documents" },
    { name: "score", definition: "the size of this change less its standard error; never below zero. Heads are ordered by it" },
    { name: "verdict", definition: "changed: false discovery rate of at most 5 %, and at least half of the spread over heads", look: "text" },
    { name: "PC0's axis", definition: "moved: PC0 of the last checkpoint is another axis than PC0 of the first, so r_q and r_k of the two do not compare; came back: it is the same axis again, though it was another one in between", look: "text" },
  ];
  const effects = new Map(lines.map(({ top }) => [top, effectsOf(context, top)]));
  const edited = [...effects.values()].some((found) => found.length);
  if (edited) columns.splice(4, 0, { name: "loss", definition: "the increase of the loss, nats per token, when the smallest measured set with this head is edited in this way; next to it, the mean for random sets", look: "text" });
  const rowOf = ({ top, heads }: (typeof lines)[number]) => {
    const from = (key: string) => `summary.json:top_heads/${top.layer}.${top.q_head}:${key}`;
    return row(
      { "data-heads": heads.map(({ name }) => name).join() },
      columns,
      h("th", { scope: "row" }, ...heads.map((head) => button(head.name, () => store.open(head.index, look(top)), { class: "link" }))),
      h("td", { class: "text sentence", "data-number": from("sentence") }, top.sentence),
      h("td", { "data-number": from("effect") }, signed(top.effect, 2), errorOf(top)),
      h("td", { "data-number": from("score") }, decimals(top.score, 2)),
      ...(edited ? [h("td", { class: "text effects" }, ...lossOf(effects.get(top)!))] : []),
      h("td", { class: "text" }, verdict(context, top)),
      h("td", { class: "text" }, ...axis(context, top, heads, checkpoint(top.to))),
    );
  };
  const all = new Set(lines.flatMap(({ heads }) => heads.map(({ index }) => index)));
  return card(
    "Heads to look at",
    `The heads that changed most: R² of queries, R² of keys or the share of position in logits, since random weights or since the first checkpoint, in units of the spread over heads. The score is this change less one standard error; the order of heads whose scores differ by less than their errors is uncertain. A head whose axis moved is scored by R² alone. Query heads that share the changed keys are in one line.${contextNote(context)}`,
    h("div", { class: "toolbar" }, button("Show them among all heads", () => store.update({ view: "explore", selected: all }))),
    scroller(
      "Heads to look at, with their changes",
      h("table", { class: "numbers stacked top-heads" }, columnHeads(columns), h("tbody", {}, ...lines.map(rowOf))),
    ),
  );
}

/** The cost of edits of the smallest set that contains all these heads, at the checkpoint to which they changed. */
function effectsOf({ run }: Context, { layer, q_heads, to }: TopHead): Effect[] {
  const has = ({ heads }: Effect) => q_heads.every((wanted) => heads.some(([at, head]) => at === layer && head === wanted));
  const all = (run.blob.effects ?? []).filter((one) => one.checkpoint === to && has(one));
  const [smallest] = [...all].sort((a, b) => a.heads.length - b.heads.length);
  return all.filter(({ set }) => set === smallest.set);
}

/** Always shown with random sets, because every edit of heads costs something. */
function lossOf(effects: Effect[]): (string | Node)[] {
  const lines = effects.map((one) => {
    const from = (column: string) => `ablate.csv:${one.checkpoint}/${one.set}/${one.edit}:${column}`;
    const se = one.se ? h("span", { class: "se" }, ` ± ${errorText(one.se)}`) : "";
    const many = one.heads.length > 1 ? [" (", number(from("heads"), `${one.heads.length} heads`), ")"] : [];
    return h(
      "div",
      {},
      h("span", { "data-number": from("dloss") }, signed(one.dloss), se),
      h("span", { class: "axis-when muted" }, number(from("edit"), one.edit), " of ", number(from("set"), one.set), ...many, "; random sets ", number(from("control"), signed(one.control))),
    );
  });
  return lines.length ? lines : [DASH];
}

const errorOf = ({ effect, effect_se: se }: TopHead) => (se && effect !== null ? h("span", { class: "se" }, ` ± ${errorText(se, 2)}`) : "");

/** The reason why a change does not count: chance, or its size. */
function verdict({ summary: { changed } }: Context, top: TopHead): string {
  if (top.changed) return "changed";
  return changed && top.effect !== null && Math.abs(top.effect) < changed.min_change ? "too small" : "within noise";
}

/** Whether PC0 moved since the first checkpoint, and when it last did: it may come back, and it may move a little at a time. */
function axis({ run }: Context, top: TopHead, heads: Head[], to: Checkpoint | undefined): (string | Node)[] {
  const way = to ? run.order.wayTo(to).slice(1) : [];
  const last = way.filter((c) => heads.some(({ index }) => run.axisChanged(c.index, index))).at(-1);
  if (!top.axis_changed && !last) return ["stayed"];
  const [what, when] = top.axis_changed ? ["moved", last ? `last at ${last.label}` : "little by little"] : ["came back", `last moved at ${last?.label}`];
  return [h("span", { class: "axis-moved" }, what), h("span", { class: "axis-when muted" }, when)];
}

/** Says which checkpoints are compared where contexts differ. */
function contextNote({ run }: Context): string {
  if (run.order.several) return " Only checkpoints at the context of the last one are compared.";
  return run.order.mixed ? " These checkpoints were read at different contexts, on which R² depends: part of a change may come from the context." : "";
}
