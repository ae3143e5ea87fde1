import { step, ticks, tickText } from "../data/scale";
import { linear, px, s } from "../dom";
import { tooltip, type Line } from "../tooltip";

/** A line of numbers with its band of errors; a missing number interrupts it. */
export interface Curve {
  /** Class of the line's marks: "queries", "keys", … */
  name: string;
  x: readonly number[];
  value: ArrayLike<number>;
  se: ArrayLike<number>;
}

export interface Axis {
  /** "symlog": linear from 0 to 1, logarithmic above. */
  kind: "linear" | "log" | "symlog";
  domain: [number, number];
}

export interface CurveChart {
  label: string;
  x: Axis;
  y: Axis;
  xTitle: string;
  curves: Curve[];
  /** A position on the x axis with its name. */
  mark: { at: number; name: string } | null;
  width: number;
  height: number;
  /** The tooltip's text for the point at x. */
  describe(x: number): Line[];
}

const MOST_MARKERS = 24;

function scaled({ kind }: Axis): (value: number) => number {
  if (kind === "log") return Math.log10;
  return kind === "symlog" ? Math.log1p : (value) => value;
}

/** Round numbers: powers of ten on a logarithmic axis, also twice and five times them where there are few. */
export function axisTicks({ kind, domain: [low, high] }: Axis, count: number): number[] {
  if (kind === "linear") return ticks(low, high, count);
  const found: number[] = kind === "symlog" ? [0] : [];
  const from = kind === "symlog" ? 1 : low;
  const powers = Math.log10(high / from);
  for (let e = Math.floor(Math.log10(from)); 10 ** e <= high; ++e)
    for (const part of powers < 2 ? [1, 2, 5] : [1]) {
      const at = part * 10 ** e;
      if (at >= from * (1 - 1e-9) && at <= high * (1 + 1e-9)) found.push(at);
    }
  return found;
}

export function axisText(value: number, { kind, domain: [low, high] }: Axis, count: number): string {
  if (kind === "linear" && Math.abs(high) < 1e4) return tickText(value, step(high - low, count));
  if (value >= 1e15 || (value > 0 && value < 1e-3)) return value.toExponential(0);
  const unit = [1e12, 1e9, 1e6, 1e3].find((size) => Math.abs(value) >= size) ?? 1;
  return `${Number((value / unit).toPrecision(3))}${{ 1: "", 1e3: "k", 1e6: "M", 1e9: "G", 1e12: "T" }[unit]}`;
}

/** A line chart over distance, wavelength or position. */
export function curveChart(chart: CurveChart): SVGSVGElement {
  const { width, height } = chart;
  const yTicks = axisTicks(chart.y, 5);
  const longest = Math.max(0, ...yTicks.map((tick) => axisText(tick, chart.y, 5).length));
  const margin = { left: Math.max(34, 12 + 7 * longest), right: 12, top: 20, bottom: 42 };
  const [right, bottom] = [width - margin.right, height - margin.bottom];
  const [alongX, alongY] = [scaled(chart.x), scaled(chart.y)];
  const toX = linear(chart.x.domain.map(alongX) as [number, number], [margin.left, right]);
  const toY = linear(chart.y.domain.map(alongY) as [number, number], [bottom, margin.top]);
  const x = (value: number) => toX(alongX(value));
  // Values are clamped to the plot, because errors may reach below the lower end of a logarithmic axis.
  const y = (value: number) => toY(alongY(Math.min(Math.max(value, chart.y.domain[0]), chart.y.domain[1])));
  const root = s("svg", {
    class: "chart curve-chart",
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": chart.label,
  });
  for (const tick of yTicks) {
    const zero = tick === 0 ? " zero" : "";
    root.append(
      s("line", { class: `grid-line${zero}`, x1: margin.left, x2: right, y1: px(y(tick)), y2: px(y(tick)) }),
      s("text", { class: "tick", x: margin.left - 6, y: px(y(tick) + 4), "text-anchor": "end" }, axisText(tick, chart.y, 5)),
    );
  }
  const xCount = Math.max(3, Math.floor((right - margin.left) / 70));
  for (const tick of axisTicks(chart.x, xCount)) {
    root.append(
      s("line", { class: "grid-line", x1: px(x(tick)), x2: px(x(tick)), y1: margin.top, y2: bottom }),
      s("text", { class: "tick", x: px(x(tick)), y: bottom + 16, "text-anchor": "middle" }, axisText(tick, chart.x, xCount)),
    );
  }
  root.append(
    s("text", { class: "axis-title", x: px((margin.left + right) / 2), y: height - 8, "text-anchor": "middle" }, chart.xTitle),
  );
  if (chart.mark) root.append(markOf(x(chart.mark.at), chart.mark.name, margin.left, right, margin.top, bottom));
  for (const curve of chart.curves) root.append(drawn(curve, x, y));
  watch(root, chart, x, { left: margin.left, right, top: margin.top, bottom });
  return root;
}

/** A vertical line; its name is above the plot, where no curve is. */
function markOf(at: number, name: string, left: number, right: number, top: number, bottom: number): SVGGElement {
  const anchor = at - left < 40 ? "start" : right - at < 40 ? "end" : "middle";
  return s(
    "g",
    { class: "chart-mark" },
    s("line", { x1: px(at), x2: px(at), y1: top, y2: bottom }),
    s("text", { x: px(at), y: top - 6, "text-anchor": anchor }, name),
  );
}

function drawn(curve: Curve, x: (value: number) => number, y: (value: number) => number): SVGGElement {
  const there = curve.x.flatMap((at, i) => (Number.isFinite(curve.value[i]) && Number.isFinite(x(at)) ? [i] : []));
  const runs: number[][] = [];
  for (const i of there) {
    const last = runs[runs.length - 1];
    if (last && last[last.length - 1] === i - 1) last.push(i);
    else runs.push([i]);
  }
  const at = (i: number, value: number) => `${px(x(curve.x[i]))} ${px(y(value))}`;
  const error = (i: number) => (Number.isNaN(curve.se[i]) ? 0 : curve.se[i]);
  const band = runs
    .filter((run) => run.some((i) => error(i) > 0))
    .map((run) => {
      const above = run.map((i) => at(i, curve.value[i] + error(i)));
      const below = run.map((i) => at(i, curve.value[i] - error(i))).reverse();
      return `M${[...above, ...below].join("L")}Z`;
    });
  const group = s("g", { class: `series ${curve.name}` });
  if (band.length) group.append(s("path", { class: "band", d: band.join("") }));
  group.append(s("path", { class: "line", d: runs.map((run) => `M${run.map((i) => at(i, curve.value[i])).join("L")}`).join("") }));
  const marked = there.length <= MOST_MARKERS ? there : runs.filter((run) => run.length === 1).flat();
  for (const i of marked) {
    const [cx, cy] = [x(curve.x[i]), y(curve.value[i])];
    group.append(
      curve.name === "keys"
        ? s("rect", { class: "marker", x: px(cx - 2.4), y: px(cy - 2.4), width: 4.8, height: 4.8 })
        : s("circle", { class: "marker", cx: px(cx), cy: px(cy), r: 2.6 }),
    );
  }
  return group;
}

/** Shows the numbers of the point nearest to the pointer. */
function watch(
  root: SVGSVGElement,
  chart: CurveChart,
  x: (value: number) => number,
  area: { left: number; right: number; top: number; bottom: number },
): void {
  const xs = [...new Set(chart.curves.flatMap((curve) => [...curve.x]))].filter((at) => Number.isFinite(x(at)));
  if (!xs.length) return;
  const guide = s("line", { class: "guide", y1: area.top, y2: area.bottom, visibility: "hidden" });
  root.append(guide);
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * chart.width;
    const nearest = xs.reduce((best, one) => (Math.abs(x(one) - at) < Math.abs(x(best) - at) ? one : best));
    guide.setAttribute("x1", px(x(nearest)));
    guide.setAttribute("x2", px(x(nearest)));
    guide.setAttribute("visibility", "visible");
    tooltip.show(chart.describe(nearest), event.clientX, event.clientY);
  });
  root.addEventListener("pointerleave", () => {
    guide.setAttribute("visibility", "hidden");
    tooltip.hide();
  });
}
