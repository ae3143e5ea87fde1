import type { Run } from "../data/run";
import { tickText } from "../data/scale";
import { thinned, type TimeAxisName } from "../data/time";
import { linear, px, s } from "../dom";
import { timeAxis, type Slot, type TimeAxis } from "./axis";

/** About the width of a letter in a tick label. */
const LETTER = 6.8;
/** Space between slanted labels. */
const LABEL_ROOM = 18;
/** Checkpoints closer than this have small markers. */
const MARKER_ROOM = 8;

export interface Series {
  /** Class of the line's marks: "queries", "keys", "variance", … */
  name: string;
  value(checkpoint: number): number;
  /** Half the length of the error bar; NaN: none. */
  error?(checkpoint: number): number;
  markers?: boolean;
  /** Whether a checkpoint cannot be compared with the one before: the line to it is interrupted, and its mark is hollow. */
  breaks?(checkpoint: number): boolean;
  /** Limits of the values, at which error bars end. */
  limits?: [number, number];
}

export interface TimeChart {
  label: string;
  /** How checkpoints are arranged. */
  axis: TimeAxisName;
  domain: [number, number];
  ticks: number[];
  /** Thresholds, drawn as dashed lines. */
  rules?: number[];
  series: Series[];
  width: number;
  height: number;
  /** The current checkpoint. */
  at?: number;
  labels?: boolean;
}

/** Lines over the checkpoints of a run, one per context; a missing number interrupts a line. */
export function timeChart(run: Run, chart: TimeChart): SVGSVGElement {
  const axis = timeAxis(run, chart.axis);
  const labels = chart.labels ?? true;
  const gap = chart.ticks.length > 1 ? chart.ticks[1] - chart.ticks[0] : 1;
  const longest = Math.max(0, ...chart.ticks.map((tick) => tickText(tick, gap).length));
  const margin = {
    left: Math.max(34, 10 + 7 * longest),
    right: 8,
    top: labels && axis.title ? 24 : 8,
    bottom: labels ? 58 : 8,
  };
  const x = linear([axis.from, axis.to], [margin.left, chart.width - margin.right]);
  const y = linear(chart.domain, [chart.height - margin.bottom, margin.top]);
  const root = s("svg", {
    class: "chart",
    viewBox: `0 0 ${chart.width} ${chart.height}`,
    role: "img",
    "aria-label": chart.label,
  });
  const right = chart.width - margin.right;
  for (const tick of chart.ticks) {
    root.append(
      s("line", { class: "grid-line", x1: margin.left, x2: right, y1: px(y(tick)), y2: px(y(tick)) }),
      s(
        "text",
        { class: "tick", x: margin.left - 6, y: px(y(tick) + 4), "text-anchor": "end" },
        tickText(tick, gap),
      ),
    );
  }
  for (const rule of chart.rules ?? []) {
    root.append(s("line", { class: "threshold", x1: margin.left, x2: right, y1: px(y(rule)), y2: px(y(rule)) }));
  }
  const bottom = chart.height - margin.bottom;
  for (const position of labels ? axis.separators : []) {
    root.append(s("line", { class: "separator", x1: px(x(position)), x2: px(x(position)), y1: margin.top, y2: bottom }));
  }
  const now = axis.slots.find((slot) => slot.checkpoint === chart.at);
  if (now)
    root.append(
      s("line", { class: "now-line", x1: px(x(now.position)), x2: px(x(now.position)), y1: margin.top, y2: bottom }),
    );
  for (const series of chart.series) root.append(drawSeries(run, axis, series, x, y));
  if (labels) root.append(...names(axis, now, x, [margin.left, right], [margin.top, bottom]));
  return root;
}

const short = (label: string) => (label.length > 12 ? `${label.slice(0, 5)}…${label.slice(-5)}` : label);

/** The texts along the axis: numbers, or labels of checkpoints that do not touch; the current checkpoint always has its label. */
function names(
  axis: TimeAxis,
  now: Slot | undefined,
  x: (position: number) => number,
  [left, right]: [number, number],
  [top, bottom]: [number, number],
): SVGElement[] {
  const askew = (slot: Slot) => {
    const transform = `translate(${px(x(slot.position))} ${bottom + 14}) rotate(-38)`;
    const look = slot === now ? "tick strong" : "tick";
    return s("text", { class: look, transform, "text-anchor": "end" }, short(slot.label));
  };
  const baselines = axis.slots.filter(({ baseline }) => baseline);
  if (axis.title) {
    const out: SVGElement[] = baselines.map(askew);
    for (const { position, text } of thinned(axis.ticks, x, LETTER)) {
      const at = px(x(position));
      out.push(
        s("line", { class: "tick-line", x1: at, x2: at, y1: bottom, y2: bottom + 5 }),
        s("text", { class: "tick", x: at, y: bottom + 18, "text-anchor": "middle" }, text),
      );
    }
    const middle = (x(0) + right) / 2;
    out.push(s("text", { class: "tick axis-title", x: px(middle), y: bottom + 40, "text-anchor": "middle" }, axis.title));
    if (now && !now.baseline) {
      const half = (short(now.label).length * (LETTER + 0.6)) / 2;
      const at = Math.min(Math.max(x(now.position), left + half), right - half);
      out.push(s("text", { class: "tick strong", x: px(at), y: top - 8, "text-anchor": "middle" }, short(now.label)));
    }
    return out;
  }
  const every = Math.ceil((axis.slots.length * LABEL_ROOM) / (right - left));
  const last = axis.slots.length - 1;
  const wanted = [...(now ? [now] : []), ...baselines, ...axis.slots.filter((_, i) => (last - i) % every === 0)];
  const kept: Slot[] = [];
  for (const slot of wanted) {
    const room = Math.min(LABEL_ROOM, (x(1) - x(0)) * every);
    if (kept.every((other) => Math.abs(x(other.position) - x(slot.position)) >= room - 0.01)) kept.push(slot);
  }
  return kept.map(askew);
}

function drawSeries(
  run: Run,
  { slots, positions }: TimeAxis,
  series: Series,
  x: (position: number) => number,
  y: (value: number) => number,
): SVGGElement {
  const group = s("g", { class: `series ${series.name}` });
  let [path, broken] = ["", ""];
  for (const line of run.order.lines) {
    let before = "";
    for (const { index, step } of line) {
      const value = series.value(index);
      const here = Number.isNaN(value) ? "" : `${px(x(positions[step]))} ${px(y(value))}`;
      const breaks = series.breaks?.(index) ?? false;
      if (here) path += `${before && !breaks ? "L" : "M"}${here}`;
      if (here && before && breaks) broken += `M${before}L${here}`;
      before = here;
    }
  }
  const close = positions.some((position, i) => i > 0 && x(position) - x(positions[i - 1]) < MARKER_ROOM);
  for (const slot of slots) {
    const value = series.value(slot.checkpoint);
    if (Number.isNaN(value)) continue;
    const error = series.error?.(slot.checkpoint) ?? NaN;
    const position = px(x(slot.position));
    if (!Number.isNaN(error)) {
      const [low, high] = series.limits ?? [-Infinity, Infinity];
      const [from, to] = [Math.max(value - error, low), Math.min(value + error, high)];
      group.append(s("line", { class: "error", x1: position, x2: position, y1: px(y(from)), y2: px(y(to)) }));
    }
    const hollow = slot.baseline || (series.breaks?.(slot.checkpoint) ?? false);
    if (series.markers) group.append(marker(series.name, x(slot.position), y(value), close ? 0.5 : 1, hollow));
  }
  group.classList.toggle("close", close);
  if (broken) group.prepend(s("path", { class: "line broken", d: broken }));
  group.prepend(s("path", { class: "line", d: path }));
  return group;
}

/** Queries round, keys square, as in the figures. */
function marker(name: string, x: number, y: number, size: number, hollow: boolean): SVGElement {
  const look = hollow ? "marker hollow" : "marker";
  if (name !== "keys") return s("circle", { class: look, cx: px(x), cy: px(y), r: 3.6 * size });
  const half = 3.2 * size;
  return s("rect", { class: look, x: px(x - half), y: px(y - half), width: 2 * half, height: 2 * half });
}
