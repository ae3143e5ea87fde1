import type { Context } from "../context";
import type { Head } from "../data/run";
import { number, ofHead } from "../data/source";
import { h } from "../dom";
import { decimals } from "../format";
import { card, classTag } from "../widgets";
import { trajectory } from "./head_trajectory";

/** Hides a drawing from screen readers, because the button around it has the same text. */
function decoration(drawing: SVGSVGElement): SVGSVGElement {
  drawing.removeAttribute("role");
  drawing.removeAttribute("aria-label");
  drawing.setAttribute("aria-hidden", "true");
  return drawing;
}

/** Heads that share the keys of this one; null: there are none. */
export function siblings(context: Context, head: Head): HTMLElement | null {
  const { run, store } = context;
  const group = run.siblings(head);
  if (group.length < 2) return null;
  const tiles = group.map((other) => {
    const classIndex = run.classOf(store.state.at, other.index);
    const tile = h(
      "button",
      {
        type: "button",
        class: `sibling${other === head ? " now" : ""}`,
        "aria-pressed": String(other === head),
        "data-key": `sibling ${other.index}`,
        onclick: () => store.update({ focus: other.index }),
      },
      h("span", { class: "sibling-name" }, `head ${other.q_head}`),
      classTag(classIndex),
      decoration(trajectory(context, other, 240, 130, true)),
      h(
        "span",
        { class: "muted" },
        ...["r_q", "r_k"].flatMap((key, i) => {
          const from = ofHead(run, { key, table: "components" }, store.state.at, other.index);
          return [`${i ? " · " : ""}${key} `, number(from, decimals(run.value(key, store.state.at, other.index)))];
        }),
      ),
    );
    return tile;
  });
  return card(
    "Siblings",
    `Query heads of layer ${head.layer} that read KV head ${head.kv_head}: they share keys, but not queries.`,
    h("div", { class: "siblings" }, ...tiles),
  );
}
