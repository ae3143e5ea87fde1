import { px, s } from "../dom";
import type { Axes } from "./portrait_frame";

/** The regions of the classes: r_q from and to, r_k from and to. */
const ZONES: [string, number, number, number, number][] = [
  ["position-dominated", 0.7, 1.05, 0.7, 1.05],
  ["position-dominated", 0.7, 1.05, -1.05, -0.7],
  ["q-positional", 0.7, 1.05, -0.3, 0.3],
  ["k-positional", -0.05, 0.3, 0.7, 1.05],
  ["k-positional", -0.05, 0.3, -1.05, -0.7],
  ["content-focused", -0.05, 0.3, -0.3, 0.3],
];
const LETTER = 5.9; // pixels per letter at font size 11
const HEIGHT = 13;
const CLEAR = 7; // pixels between a text and the middle of a point
const INSIDE = 5; // pixels between a text and its zone's edge

/** The names of the classes; only where the axes are r_q and r_k. */
export function zones({ x, y }: Axes): SVGGElement {
  const known = x.key === "r_q" && y.key === "r_k" ? ZONES : [];
  return s("g", { class: "zones" }, ...known.map(([name]) => s("text", { class: "zone" }, name)));
}

/** Puts each name where its zone has no points, and hides it where there is no such position. */
export function positionZones(group: Element, { toX, toY }: Axes, points: { x: number; y: number }[]): void {
  group.querySelectorAll(".zones > .zone").forEach((text, i) => {
    const [name, fromX, untilX, fromY, untilY] = ZONES[i];
    const width = name.length * LETTER;
    const [left, right] = [toX(fromX) + INSIDE, toX(untilX) - INSIDE - width];
    const [top, bottom] = [toY(untilY) + INSIDE, toY(fromY) - INSIDE - HEIGHT];
    const free = (x: number, y: number) =>
      !points.some(
        (point) =>
          point.x > x - CLEAR && point.x < x + width + CLEAR && point.y > y - CLEAR && point.y < y + HEIGHT + CLEAR,
      );
    // Tries the outer edge first, from the top.
    const columns = fromX > 0 ? [right, left] : [left, right];
    let position: [number, number] | undefined;
    for (const x of columns)
      for (let y = top; y <= bottom && !position; y += HEIGHT / 2) if (free(x, y)) position = [x, y];
    text.setAttribute("visibility", position ? "visible" : "hidden");
    if (!position) return;
    const ends = position[0] === right;
    text.setAttribute("x", px(ends ? right + width : left));
    text.setAttribute("text-anchor", ends ? "end" : "start");
    text.setAttribute("y", px(position[1] + HEIGHT - 3));
  });
}
