import { px } from "../dom";

interface Point {
  x: number;
  y: number;
  /** Whether the checkpoint cannot be compared with the one before. */
  breaks: boolean;
}

/** Paths of heads through the portrait: lines, a ring at the beginning of each, and arrows that show the direction. */
export interface Trail {
  line: string;
  /** Steps to a checkpoint that cannot be compared with the one before. */
  broken: string;
  starts: string;
  arrows: string;
}

const ARROW = 4.2;
/** A step shorter than this has no arrow. */
const SHORT = 13;

function arrow(from: Pick<Point, "x" | "y">, to: Pick<Point, "x" | "y">): string {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
  // The tip is a little beyond the middle, away from the marks of the heads.
  const tip = { x: (from.x + to.x) / 2 + (ux * ARROW) / 2, y: (from.y + to.y) / 2 + (uy * ARROW) / 2 };
  const side = (turn: number) =>
    `${px(tip.x - ARROW * (ux * 1.2 - turn * uy * 0.75))} ${px(tip.y - ARROW * (uy * 1.2 + turn * ux * 0.75))}`;
  return `M${side(1)}L${px(tip.x)} ${px(tip.y)}L${side(-1)}Z`;
}

/** `every`: arrows on all steps; else only on the last one. */
export function trails(ways: Point[][], every: boolean): Trail {
  const out: Trail = { line: "", broken: "", starts: "", arrows: "" };
  for (const way of ways) {
    if (way.length < 2) continue;
    way.forEach(({ x, y, breaks }, i) => {
      const before = way[i - 1];
      out.line += `${before && !breaks ? "L" : "M"}${px(x)} ${px(y)}`;
      if (before && breaks) out.broken += `M${px(before.x)} ${px(before.y)}L${px(x)} ${px(y)}`;
    });
    const [first] = way;
    out.starts += `M${px(first.x - 2.6)} ${px(first.y)}a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0Z`;
    for (let i = every ? 1 : way.length - 1; i < way.length; ++i) {
      const [from, to] = [way[i - 1], way[i]];
      if (Math.hypot(to.x - from.x, to.y - from.y) >= SHORT) out.arrows += arrow(from, to);
    }
  }
  return out;
}
