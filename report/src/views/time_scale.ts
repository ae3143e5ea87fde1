import type { Run } from "../data/run";
import { edges, thinned, type TimeLayout } from "../data/time";
import { h, linear, px, s } from "../dom";

/** About the width of a letter under the slider. */
const LETTER = 6.6;
/** Shorter stretches do not show the name of their phase. */
const NAME_ROOM = 24;

/** The scale under the time slider: a mark for each checkpoint, round numbers, and names of phases. */
export function timeScale(run: Run): { element: HTMLElement; show(layout: TimeLayout): void } {
  const steps = run.steps;
  let layout: TimeLayout | undefined;
  const marks = s("path", {});
  const rug = s("svg", { class: "time-marks", viewBox: "0 0 1000 1", preserveAspectRatio: "none" }, marks);
  const numbers = h("div", { class: "time-ticks" });
  const phases = h("div", { class: "phases" });
  const scale = h("div", { class: "scale", "aria-hidden": "true" }, rug, numbers, phases);

  /** Shows as many numbers under the slider as fit. */
  function showNumbers(): void {
    const { positions, ticks } = layout!;
    const share = linear([0, positions[positions.length - 1]], [0, 1]);
    const shown = thinned(ticks, (position) => share(position) * numbers.clientWidth, LETTER);
    numbers.hidden = ticks.length === 0;
    numbers.replaceChildren(
      ...shown.map(({ position, text }) => h("span", { style: `left:${px(100 * share(position))}%` }, text)),
    );
  }

  /** Shows the names of phases under their stretches of the slider, where these are long enough. */
  function showPhases(): void {
    const spans: { name: string; from: number; to: number }[] = [];
    const between = edges(layout!);
    for (const c of steps) {
      const last = spans[spans.length - 1];
      const name = run.order.phase(c);
      if (last && last.name === name) last.to = between[c.step + 1];
      else spans.push({ name, from: between[c.step], to: between[c.step + 1] });
    }
    const named = spans.length > 1 || (spans[0]?.name ?? "") !== "";
    const pixels = scale.clientWidth / (between[steps.length] - between[0] || 1);
    phases.classList.toggle("in-a-row", layout!.title === "");
    phases.replaceChildren(
      ...(named ? spans : []).map(({ name, from, to }) =>
        h("span", { style: `flex:${to - from || 1}`, title: name }, (to - from) * pixels < NAME_ROOM ? "" : name || "–"),
      ),
    );
  }

  function fit(): void {
    showNumbers();
    showPhases();
  }
  new ResizeObserver(() => layout && fit()).observe(scale);

  return {
    element: scale,
    show(wanted) {
      layout = wanted;
      const x = linear([0, layout.positions[steps.length - 1]], [0, 1000]);
      marks.setAttribute("d", steps.length < 2 ? "" : layout.positions.map((position) => `M${px(x(position))} 0v1`).join(""));
      scale.title = layout.title;
      fit();
    },
  };
}
