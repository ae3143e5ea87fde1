import type { Context, Part } from "../context";
import { offeredAxes, timeLayout, type TimeAxisName, type TimeLayout } from "../data/time";
import { number, ofPage, ofEntry } from "../data/source";
import { h } from "../dom";
import { button, select } from "../widgets";
import { timeScale } from "./time_scale";

const STEP_MS = 900;

/** Time: the play button, baselines, a slider over the checkpoints of the run, and the choice of their axis. */
export function scrubber({ run, store }: Context): Part {
  const steps = run.steps;
  let timer = 0;
  /** The slider's checkpoint, and the positions of all checkpoints on it. */
  let current = steps.length - 1;
  let layout: TimeLayout | undefined;
  let drawn: TimeAxisName | undefined;
  let pressed = false;
  const playing = () => timer !== 0;
  const play = button("▶", () => (playing() ? stop() : start()), { class: "button play", "aria-label": "Play" });
  const slider = h("input", {
    type: "range",
    min: 0,
    "aria-label": "Checkpoint",
    disabled: steps.length < 2,
    oninput: slide,
    onkeydown: step,
    onpointerdown: () => (pressed = true),
  });
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => (pressed = false));
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
      { class: "chip", title: "Freshly initialised weights: a baseline, not a step of the run" },
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

  function go(to: number): void {
    stop();
    current = Math.min(Math.max(to, 0), steps.length - 1);
    slider.value = String(layout!.positions[current]);
    store.update({ at: steps[current].index });
  }

  /** Moves to the nearest checkpoint; without a pointer, at least to the next one. */
  function slide(): void {
    const { positions } = layout!;
    const value = Number(slider.value);
    const far = (i: number) => Math.abs(positions[i] - value);
    const nearest = positions.reduce((best, _, i) => (far(i) < far(best) ? i : best), 0);
    go(nearest === current && !pressed ? current + Math.sign(value - positions[current]) : nearest);
  }

  /** Keys move from checkpoint to checkpoint, whatever the distance between them. */
  function step(event: KeyboardEvent): void {
    const leap = Math.max(Math.round(steps.length / 10), 1);
    const moves: Record<string, number> = {
      ArrowRight: 1,
      ArrowUp: 1,
      ArrowLeft: -1,
      ArrowDown: -1,
      PageUp: leap,
      PageDown: -leap,
      Home: -steps.length,
      End: steps.length,
    };
    if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    go(current + moves[event.key]);
  }

  const scale = timeScale(run);

  function layOut(): void {
    const { axis } = store.state;
    if (drawn === axis) return;
    drawn = axis;
    layout = timeLayout(run, axis);
    slider.max = String(layout.positions[steps.length - 1]);
    slider.step = axis === "labels" ? "1" : "any";
    scale.show(layout);
  }

  const axes = offeredAxes(run);
  const chooser = select(
    "axis",
    axes.map((value) => ({ value, text: value.replace("-", " ") })),
    (value) => store.update({ axis: value as TimeAxisName }),
  );
  const element = h(
    "div",
    { class: "scrubber" },
    play,
    baselines.length ? h("div", { class: "baselines" }, h("span", { class: "muted" }, "baseline"), ...baselines) : null,
    h("div", { class: "track" }, slider, scale.element),
    h("div", { class: "where" }, label, phase),
    axes.length > 1 ? chooser.element : null,
  );
  return {
    element,
    render() {
      const here = run.checkpoints[store.state.at];
      layOut();
      chooser.input.value = store.state.axis;
      if (!here.baseline) current = here.step;
      slider.value = String(layout!.positions[current]);
      element.classList.toggle("at-baseline", here.baseline);
      label.textContent = here.label;
      label.title = here.label;
      const name = run.order.phase(here);
      phase.replaceChildren(
        ...(here.baseline
          ? ["baseline"]
          : [
              name ? `${name} · ` : "",
              number(ofPage("step"), `${here.step + 1} of ${steps.length}`),
              ...(run.order.mark(here) ? [" · ", number(ofEntry(here, "context"), `${run.order.context(here)} tokens`)] : []),
            ]),
      );
      slider.setAttribute("aria-valuetext", `${here.label}${here.baseline ? ", baseline" : ""}`);
      baselines.forEach((chip, i) =>
        chip.setAttribute("aria-pressed", String(run.baselines[i].index === store.state.at)),
      );
    },
  };
}
