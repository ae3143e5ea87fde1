import type { Run } from "../data/run";
import { linear, px, s } from "../dom";

const HEIGHT = 250;

/** Variance of each component as bars; r_q and r_k on it as marks with error bars. */
export function componentsChart(run: Run, checkpoint: number, head: number): SVGSVGElement {
  const width = Math.max(280, Math.min(480, innerWidth - 56));
  const n = run.components.length;
  const x = linear([0, n], [38, width - 8]);
  const y = linear([-1.05, 1.05], [HEIGHT - 26, 8]);
  const root = s("svg", {
    class: "chart",
    viewBox: `0 0 ${width} ${HEIGHT}`,
    role: "img",
    "aria-label": "Variance, r_q and r_k of each component",
  });
  for (const tick of [-1, -0.5, 0, 0.5, 1]) {
    root.append(
      s("line", {
        class: tick === 0 ? "grid-line zero" : "grid-line",
        x1: 38,
        x2: width - 8,
        y1: px(y(tick)),
        y2: px(y(tick)),
      }),
      s("text", { class: "tick", x: 32, y: px(y(tick) + 4), "text-anchor": "end" }, String(tick).replace("-", "−")),
    );
  }
  const bar = Math.min((x(1) - x(0)) * 0.34, 22);
  run.components.forEach((pc, i) => {
    const middle = (x(i) + x(i + 1)) / 2;
    root.append(
      s(
        "text",
        { class: "tick", x: px(middle), y: HEIGHT - 8, "text-anchor": "middle" },
        n * 34 > width ? String(pc) : `PC${pc}`,
      ),
    );
    for (const statistic of run.statistics.filter(({ shares }) => shares)) {
      const share = run.value(statistic.key, checkpoint, head, i);
      if (Number.isNaN(share)) continue;
      const group = s("g", { class: "series variance" });
      group.append(
        s("rect", {
          class: "bar",
          x: px(middle - bar),
          y: px(y(share)),
          width: px(bar),
          height: px(y(0) - y(share)),
        }),
      );
      error(group, middle - bar / 2, share, run.error(statistic, checkpoint, head, i), y);
      root.append(group);
    }
    const marks = [
      { key: "r_q", look: "queries", offset: 0.45 },
      { key: "r_k", look: "keys", offset: 1.05 },
    ];
    for (const { key, look, offset } of marks) {
      const statistic = run.statistics.find((one) => one.key === key);
      if (!statistic) continue;
      const [value, se] = [run.value(key, checkpoint, head, i), run.error(statistic, checkpoint, head, i)];
      mark(root, look, middle + bar * offset, value, se, y);
    }
  });
  return root;
}

function error(group: SVGGElement, x: number, value: number, se: number, y: (v: number) => number): void {
  if (Number.isNaN(se)) return;
  group.append(s("line", { class: "error", x1: px(x), x2: px(x), y1: px(y(value - se)), y2: px(y(value + se)) }));
}

function mark(root: SVGElement, name: string, x: number, value: number, se: number, y: (v: number) => number): void {
  if (Number.isNaN(value)) return;
  const group = s("g", { class: `series ${name}` });
  error(group, x, value, se, y);
  group.append(
    name === "keys"
      ? s("rect", { class: "marker", x: px(x - 3.2), y: px(y(value) - 3.2), width: 6.4, height: 6.4 })
      : s("circle", { class: "marker", cx: px(x), cy: px(y(value)), r: 3.6 }),
  );
  root.append(group);
}
