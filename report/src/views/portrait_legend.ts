import type { Context } from "../context";
import { CLASSES } from "../data/classes";
import { number, ofPage } from "../data/source";
import { h } from "../dom";
import { count } from "../format";

/** Explains colours and signs of the portrait. `show` receives whether colours are classes, and heads whose axis changed. */
export function portraitLegend({ run }: Context): { element: HTMLElement; show(classes: boolean, moved: number): void } {
  const classKeys = CLASSES.map((name, i) =>
    h("li", {}, h("i", { class: "swatch", style: `background:var(--class-${i})` }), name),
  );
  const movedCount = h("span", {});
  const movedKey = h(
    "li",
    {},
    h("i", { class: "moved-key" }),
    "the axis changed here, the trail to it is dotted: ",
    movedCount,
  );
  const nope = run.heads.some((head) => head.rope === false) ? h("li", {}, h("i", { class: "diamond" }), "NoPE layer") : null;
  return {
    element: h("ul", { class: "legend" }, ...classKeys, nope, movedKey),
    show(classes, moved) {
      classKeys.forEach((key) => (key.hidden = !classes));
      movedKey.hidden = moved === 0;
      movedCount.replaceChildren(number(ofPage("moved"), count(moved, "head")));
    },
  };
}
