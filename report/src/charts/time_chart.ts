import type { Checkpoint, Run } from "../data/run";
import { tickText } from "../data/scale";
import { linear, px, s } from "../dom";
import { timeAxis } from "./axis";

export interface Series {
  /** Class of its marks: "queries", "keys", "variance", … */
  name: string;
  value(checkpoint: number): number;
  /** Half the length of the error bar; NaN: none. */
  error?(checkpoint: number): number;
  markers?: boolean;
}

export interface TimeChart {
  label: string;
  domain: [number, number];
  ticks: number[];
  /** Thresholds, dashed. */
  rules?: number[];
  series: Series[];
  width: number;
  height: number;
  /** The checkpoint in view. */
  at?: number;
  labels?: boolean;
}

/** Lines over the checkpoints of a run, one for each context; a missing number breaks a line. */
export function timeChart(run: Run, chart: TimeChart): SVGSVGElement {
  const axis = timeAxis(run);
  const labels = chart.labels ?? true;
  const gap = chart.ticks.length > 1 ? chart.ticks[1] - chart.ticks[0] : 1;
  const longest = Math.max(0, ...chart.ticks.map((tick) => tickText(tick, gap).length));
  const margin = { left: Math.max(34, 10 + 7 * longest), right: 8, top: 8, bottom: labels ? 58 : 8 };
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
  for (const place of labels ? axis.separators : []) {
    root.append(s("line", { class: "separator", x1: px(x(place)), x2: px(x(place)), y1: margin.top, y2: bottom }));
  }
  const now = axis.slots.find((slot) => slot.checkpoint === chart.at);
  if (now)
    root.append(
      s("line", { class: "now-line", x1: px(x(now.position)), x2: px(x(now.position)), y1: margin.top, y2: bottom }),
    );
  for (const series of chart.series) root.append(drawSeries(axis.slots, run.order.lines, series, x, y));
  if (labels) {
    const every = Math.ceil((axis.slots.length * 18) / (right - margin.left));
    axis.slots.forEach((slot, i) => {
      if ((axis.slots.length - 1 - i) % every !== 0 && !slot.baseline) return;
      const place = `translate(${px(x(slot.position))} ${bottom + 14}) rotate(-38)`;
      const text = slot.label.length > 12 ? `${slot.label.slice(0, 5)}…${slot.label.slice(-5)}` : slot.label;
      root.append(
        s("text", { class: slot === now ? "tick strong" : "tick", transform: place, "text-anchor": "end" }, text),
      );
    });
  }
  return root;
}

function drawSeries(
  slots: ReturnType<typeof timeAxis>["slots"],
  lines: Checkpoint[][],
  series: Series,
  x: (position: number) => number,
  y: (value: number) => number,
): SVGGElement {
  const group = s("g", { class: `series ${series.name}` });
  let path = "";
  for (const line of lines) {
    let pen = "M";
    for (const { index, step } of line) {
      const value = series.value(index);
      if (!Number.isNaN(value)) path += `${pen}${px(x(step))} ${px(y(value))}`;
      pen = Number.isNaN(value) ? "M" : "L";
    }
  }
  for (const slot of slots) {
    const value = series.value(slot.checkpoint);
    if (Number.isNaN(value)) continue;
    const error = series.error?.(slot.checkpoint) ?? NaN;
    const place = px(x(slot.position));
    if (!Number.isNaN(error)) {
      group.append(
        s("line", { class: "error", x1: place, x2: place, y1: px(y(value - error)), y2: px(y(value + error)) }),
      );
    }
    if (series.markers) group.append(marker(series.name, x(slot.position), y(value), slot.baseline));
  }
  group.prepend(s("path", { class: "line", d: path }));
  return group;
}

/** Queries round, keys square, as in the figures. */
function marker(name: string, x: number, y: number, hollow: boolean): SVGElement {
  const look = hollow ? "marker hollow" : "marker";
  if (name === "keys") return s("rect", { class: look, x: px(x - 3.2), y: px(y - 3.2), width: 6.4, height: 6.4 });
  return s("circle", { class: look, cx: px(x), cy: px(y), r: 3.6 });
}
