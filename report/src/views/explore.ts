import type { Context, Part } from "../context";
import { h } from "../dom";
import { grid } from "./grid";
import { headDetail } from "./head";
import { portrait } from "./portrait";
import { trajectories } from "./trajectories";

/** The portrait, the grid and the selected heads. */
export function explore(context: Context): Part {
  // From top to bottom, because the last one may scroll into view.
  const parts = [portrait(context), grid(context), trajectories(context), headDetail(context)];
  const [left, right, selected, detail] = parts.map((part) => part.element);
  const element = h("div", { class: "explore" }, h("div", { class: "side-by-side" }, left, right), selected, detail);
  return { element, render: (changed) => parts.forEach((part) => part.render(changed)) };
}
