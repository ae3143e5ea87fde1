import type { Context } from "../context";
import type { TopHead } from "../data/blob";
import { h } from "../dom";
import { decimals, signed } from "../format";
import { button, card, scroller } from "../widgets";

const SHOWN = 10;

/** The heads that changed most, each with a sentence; null where nothing says so. */
export function topHeads({ run, summary, store }: Context): HTMLElement | null {
  const lines = summary.topHeads(SHOWN).flatMap((top) => {
    const heads = top.q_heads.flatMap((q_head) => run.head(top.layer, q_head) ?? []);
    return heads.length ? [{ top, heads }] : [];
  });
  if (!lines.length) return null;
  const at = (label: string) => run.checkpoints.find((c) => c.label === label)?.index ?? store.state.at;
  const look = (top: TopHead) => ({ view: "explore" as const, at: at(top.to), quantity: top.statistic });
  const row = ({ top, heads }: (typeof lines)[number]) => {
    const from = (key: string) => `summary.json:top_heads/${top.layer}.${top.q_head}:${key}`;
    return h(
      "tr",
      { "data-heads": heads.map(({ name }) => name).join() },
      h("th", { scope: "row" }, ...heads.map((head) => button(head.name, () => store.open(head.index, look(top)), { class: "link" }))),
      h("td", { class: "text sentence", "data-number": from("sentence") }, top.sentence),
      h("td", { "data-number": from("change") }, signed(top.change), errorOf(top.se)),
      h("td", { "data-number": from("score") }, decimals(top.score, 1)),
      h("td", { class: "text" }, top.changed ? "changed" : "within noise"),
      h("td", { class: "text" }, top.axis_changed ? h("span", { class: "axis-moved" }, "moved") : "stayed"),
    );
  };
  const titles: [string, string, string?][] = [
    ["head", "layer and query head; opens its panel"],
    ["what changed", "the change that gives the head its place", "text"],
    ["change ± SE", "the later value less the earlier one, with its standard error over documents"],
    ["score", "the change on the statistic's own scale, in units of the spread over heads, less its standard error; never below zero"],
    ["verdict", "changed: false discovery rate of at most 5 %, and at least half of the spread over heads", "text"],
    ["PC0's axis", "moved: PC0 of the last checkpoint is another axis than PC0 of the first; r_q and r_k do not compare", "text"],
  ];
  const all = new Set(lines.flatMap(({ heads }) => heads.map(({ index }) => index)));
  return card(
    "Heads to look at",
    "The heads that changed most: R² of queries, R² of keys or the share of position in logits, since random weights or since the first checkpoint, in units of the spread over heads, less one standard error. A head whose axis moved is scored by R² alone. Query heads that share the keys that changed stand in one line.",
    h("div", { class: "toolbar" }, button("Show them among all heads", () => store.update({ view: "explore", selected: all }))),
    scroller(
      "Heads to look at, with their changes",
      h(
        "table",
        { class: "numbers top-heads" },
        h("thead", {}, h("tr", {}, ...titles.map(([name, definition, look]) => h("th", { scope: "col", class: look, "data-definition": definition }, name)))),
        h("tbody", {}, ...lines.map(row)),
      ),
    ),
  );
}

const errorOf = (se: number | null) => (se ? h("span", { class: "se" }, ` ± ${decimals(se)}`) : "");
