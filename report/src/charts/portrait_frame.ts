import type { Quantity } from "../data/quantities";
import { step, ticks, tickText } from "../data/scale";
import { linear, px, s } from "../dom";
import { zones } from "./zones";

export const SIZE = 560;
const LEFT = 52;
const BOTTOM = 40;
const RIGHT = SIZE - 8;
const FLOOR = SIZE - BOTTOM;

export interface Axes {
  x: Quantity;
  y: Quantity;
  toX(value: number): number;
  toY(value: number): number;
}

/** Axes that are the same at every checkpoint. */
export function axes(x: Quantity, y: Quantity): Axes {
  return { x, y, toX: linear(x.range, [LEFT, RIGHT]), toY: linear(y.range, [FLOOR, 8]) };
}

/** Thresholds of the classes on an axis. */
export function thresholds({ statistic, reading }: Quantity, low: number, high: number): number[] {
  if (statistic.key === "r_q" || (statistic.key === "r_k" && reading.absolute)) return [low, high];
  return statistic.key === "r_k" ? [-high, -low, low, high] : [];
}

/** "r_q (queries)" */
export function axisTitle({ name, reading }: Quantity): string {
  const of = { queries: "queries", keys: "keys", both: "" }[reading.hue];
  const short = name.replace(/, signed$/, "");
  return of && !short.includes(of) ? `${short} (${of})` : short;
}

function axisTicks(axis: Quantity, low: number, high: number): { at: number; text: string }[] {
  const rules = thresholds(axis, low, high);
  if (rules.length) {
    const ends = axis.range[0] < -0.5 ? [-1, 0, 1] : [0, 1];
    return [...rules, ...ends].map((at) => ({ at, text: at.toFixed(1).replace("-", "−") }));
  }
  const [from, to] = axis.range;
  return ticks(from, to, 5).map((at) => ({ at, text: tickText(at, step(to - from, 5)) }));
}

export function frame({ x, y, toX, toY }: Axes, low: number, high: number): SVGGElement {
  const group = s("g", { class: "frame" });
  group.append(s("rect", { class: "panel", x: LEFT, y: 8, width: RIGHT - LEFT, height: FLOOR - 8 }));
  group.append(zones({ x, y, toX, toY }));
  for (const at of thresholds(x, low, high))
    group.append(s("line", { class: "threshold", x1: px(toX(at)), x2: px(toX(at)), y1: 8, y2: FLOOR }));
  for (const at of thresholds(y, low, high))
    group.append(s("line", { class: "threshold", x1: LEFT, x2: RIGHT, y1: px(toY(at)), y2: px(toY(at)) }));
  for (const { at, text } of axisTicks(x, low, high))
    group.append(s("text", { class: "tick", x: px(toX(at)), y: FLOOR + 16, "text-anchor": "middle" }, text));
  for (const { at, text } of axisTicks(y, low, high))
    group.append(s("text", { class: "tick", x: LEFT - 6, y: px(toY(at) + 4), "text-anchor": "end" }, text));
  group.append(
    s(
      "text",
      { class: "axis-title", x: (LEFT + RIGHT) / 2, y: SIZE - 6, "text-anchor": "middle", "data-axis": "x" },
      axisTitle(x),
      s("title", {}, x.definition),
    ),
    s(
      "text",
      {
        class: "axis-title",
        transform: `translate(11 ${FLOOR / 2}) rotate(-90)`,
        "text-anchor": "middle",
        "data-axis": "y",
      },
      axisTitle(y),
      s("title", {}, y.definition),
    ),
  );
  return group;
}
