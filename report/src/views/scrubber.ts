import type { Context, Part } from "../context";
import { h } from "../dom";
import { button } from "../widgets";

const STEP_MS = 900;

/** Time: play, a slider over the checkpoints of the run, and baselines beside it. */
export function scrubber({ run, store }: Context): Part {
  const steps = run.steps;
  let timer = 0;
  const playing = () => timer !== 0;
  const play = button("▶", () => (playing() ? stop() : start()), { class: "button play", "aria-label": "Play" });
  const slider = h("input", {
    type: "range",
    min: 0,
    max: Math.max(steps.length - 1, 0),
    step: 1,
    "aria-label": "Checkpoint",
    disabled: steps.length < 2,
    oninput: () => {
      stop();
      store.update({ at: steps[Number(slider.value)].index });
    },
  });
  play.disabled = steps.length < 2;
  const label = h("strong", { class: "now" });
  const phase = h("span", { class: "muted" });
  const baselines = run.baselines.map((baseline) =>
    button(
      baseline.label,
      () => {
        stop();
        store.update({ at: store.state.at === baseline.index ? steps[steps.length - 1].index : baseline.index });
      },
      { class: "chip", title: "Freshly initialised weights: a baseline beside the run, not a step of it" },
    ),
  );

  function start(): void {
    if (steps.length < 2) return;
    const at = run.checkpoints[store.state.at].step;
    store.playing = true;
    store.update({ at: steps[at < 0 || at === steps.length - 1 ? 0 : at + 1].index });
    timer = window.setInterval(() => {
      const step = run.checkpoints[store.state.at].step;
      if (step < 0 || step >= steps.length - 1) stop();
      else store.update({ at: steps[step + 1].index });
    }, STEP_MS);
    showPlay();
  }

  function stop(): void {
    clearInterval(timer);
    timer = 0;
    showPlay();
  }

  function showPlay(): void {
    store.playing = playing();
    play.textContent = playing() ? "❚❚" : "▶";
    play.setAttribute("aria-label", playing() ? "Pause" : "Play");
  }

  // Names of the phases under the stretch of the slider that they cover.
  const spans: { name: string; from: number; to: number }[] = [];
  for (const step of steps) {
    const last = spans[spans.length - 1];
    const name = run.order.phase(step);
    if (last && last.name === name) last.to = step.step;
    else spans.push({ name, from: step.step, to: step.step });
  }
  const named = spans.length > 1 || (spans[0]?.name ?? "") !== "";
  const phases = h(
    "div",
    { class: "phases", "aria-hidden": "true" },
    ...(named ? spans : []).map(({ name, from, to }) =>
      h("span", { style: `flex:${to - from + 1}`, title: name }, name || "–"),
    ),
  );

  const element = h(
    "div",
    { class: "scrubber" },
    play,
    h("div", { class: "track" }, slider, phases),
    h("div", { class: "where" }, label, phase),
    baselines.length ? h("div", { class: "baselines" }, h("span", { class: "muted" }, "baseline"), ...baselines) : null,
  );
  return {
    element,
    render() {
      const here = run.checkpoints[store.state.at];
      if (!here.baseline) slider.value = String(here.step);
      element.classList.toggle("at-baseline", here.baseline);
      label.textContent = here.label;
      phase.textContent = here.baseline
        ? "baseline"
        : [run.order.phase(here), `${here.step + 1} of ${steps.length}`].filter((text) => text).join(" · ");
      slider.setAttribute("aria-valuetext", `${here.label}${here.baseline ? ", baseline" : ""}`);
      baselines.forEach((chip, i) =>
        chip.setAttribute("aria-pressed", String(run.baselines[i].index === store.state.at)),
      );
    },
  };
}
