import { CLASSES } from "../data/classes";
import type { Run } from "../data/run";
import { px, s } from "../dom";
import { count } from "../format";
import type { State } from "../state";

const HEIGHT = 380;
const TOP = 26;
const BOTTOM = 66;
const GAP = 7;
const BAR = 16;

/**
 * Classes as stacked columns, one per checkpoint; ribbons between neighbouring columns are heads. A run with several
 * contexts has one line of columns per context, without ribbons between the lines.
 */
export function alluvial(
  run: Run,
  heads: number[],
  state: State,
  pick: (from: number, to: number, cell: [number, number]) => void,
): SVGSVGElement {
  const steps = run.order.lines.flat();
  /** Whether a column is the first of its line. */
  const begins = run.order.lines.flatMap((line) => line.map((_, i) => i === 0));
  const pitch = Math.max(96, Math.min(180, 1080 / Math.max(steps.length - 1, 1)));
  const width = 60 + pitch * Math.max(steps.length - 1, 1) + 60;
  const most = Math.max(1, ...steps.map((c) => heads.filter((head) => run.classOf(c.index, head) >= 0).length));
  const unit = (HEIGHT - TOP - BOTTOM - GAP * (CLASSES.length - 1)) / most;
  const x = (step: number) => 60 + step * pitch;
  const root = s("svg", {
    class: "chart alluvial",
    viewBox: `0 0 ${px(width)} ${HEIGHT}`,
    role: "img",
    // The drawing is at least wide enough to be readable; a narrower window scrolls it.
    style: `min-width:${px(Math.max(Math.min(width, 760), 0.75 * width))}px`,
    "aria-label": `How ${count(heads.length, "head")} move between classes over ${count(steps.length, "checkpoint")}; the table below has the numbers`,
  });
  const ribbons = s("g", {});
  const bars = s("g", {});
  root.append(ribbons, bars);

  // The number of heads in each class, and where its bar begins.
  const columns = steps.map((c) => {
    const groups = CLASSES.map((_, i) => heads.filter((head) => run.classOf(c.index, head) === i));
    let y = TOP;
    return groups.map((group) => {
      const position = { group, y };
      if (group.length) y += group.length * unit + GAP;
      return position;
    });
  });
  columns.forEach((column, step) => {
    column.forEach(({ group, y }, i) => {
      if (group.length === 0) return;
      const text = `${steps[step].label}: ${count(group.length, "head")} ${CLASSES[i]}`;
      bars.append(
        s(
          "rect",
          {
            class: "flow-bar",
            x: px(x(step) - BAR / 2),
            y: px(y),
            width: BAR,
            height: px(Math.max(group.length * unit, 1)),
            style: `fill:var(--class-${i})`,
          },
          s("title", {}, text),
        ),
      );
      if (group.length * unit > 13)
        bars.append(
          s(
            "text",
            {
              class: "flow-count",
              "data-number": `count:qk.csv:${steps[step].label}:class=${CLASSES[i]}`,
              x: px(x(step) + (begins[step] ? -BAR / 2 - 5 : BAR / 2 + 5)),
              y: px(y + (group.length * unit) / 2 + 4),
              "text-anchor": begins[step] ? "end" : "start",
            },
            String(group.length),
          ),
        );
    });
    const label = steps[step].label;
    const short = label.length > 14 ? `${label.slice(0, 6)}…${label.slice(-6)}` : label;
    bars.append(
      s(
        "text",
        {
          class: "tick",
          transform: `translate(${px(x(step))} ${HEIGHT - BOTTOM + 22}) rotate(-30)`,
          "text-anchor": "end",
        },
        short,
      ),
    );
    const phase = run.order.phase(steps[step]);
    if (begins[step] || phase !== run.order.phase(steps[step - 1])) {
      // Text in the last column ends at the edge of the drawing, so that it is not cut off.
      const last = step > 0 && step === steps.length - 1;
      const anchor = last ? { x: px(width - 2), "text-anchor": "end" } : { x: px(x(step) - BAR / 2) };
      bars.append(s("text", { class: "tick phase", y: 14, ...anchor }, phase));
    }
  });
  for (let step = 0; step + 1 < steps.length; ++step) {
    if (begins[step + 1]) continue;
    const left = columns[step].map(({ y }) => y);
    const right = columns[step + 1].map(({ y }) => y);
    const before = steps[step].index;
    const after = steps[step + 1].index;
    for (let a = 0; a < CLASSES.length; ++a) {
      for (let b = 0; b < CLASSES.length; ++b) {
        const n = columns[step][a].group.filter((head) => run.classOf(after, head) === b).length;
        if (n === 0) continue;
        const on =
          state.flowFrom === before && state.flowTo === after && state.flowCell?.[0] === a && state.flowCell[1] === b;
        const ribbon = s(
          "path",
          {
            class: `ribbon${a === b ? " stay" : ""}${on ? " on" : ""}`,
            style: `fill:var(--class-${a})`,
            d: band(x(step) + BAR / 2, left[a], x(step + 1) - BAR / 2, right[b], n * unit),
            onclick: () => pick(before, after, [a, b]),
          },
          s(
            "title",
            {},
            `${steps[step].label} → ${steps[step + 1].label}: ${count(n, "head")}, ${CLASSES[a]} → ${CLASSES[b]}`,
          ),
        );
        ribbons.append(ribbon);
        left[a] += n * unit;
        right[b] += n * unit;
      }
    }
  }
  return root;
}

function band(x0: number, y0: number, x1: number, y1: number, height: number): string {
  const middle = (x0 + x1) / 2;
  return `M${px(x0)} ${px(y0)}C${px(middle)} ${px(y0)} ${px(middle)} ${px(y1)} ${px(x1)} ${px(y1)}V${px(y1 + height)}C${px(middle)} ${px(y1 + height)} ${px(middle)} ${px(y0 + height)} ${px(x0)} ${px(y0 + height)}Z`;
}
