import type { Context, Part } from "../context";
import { edges, offeredAxes, thinned, timeLayout, type TimeAxisName, type TimeLayout } from "../data/time";
import { number, ofPage, ofEntry } from "../data/source";
import { h, linear, px, s } from "../dom";
import { button, select } from "../widgets";

const STEP_MS = 900;
/** About the width of a letter under the slider. */
const LETTER = 6.6;
/** A shorter stretch has no name of its phase under it. */
const NAME_ROOM = 24;

/** Time: play, baselines apart, a slider over the checkpoints of the run, and by what they are laid out. */
export function scrubber({ run, store }: Context): Part {
  const steps = run.steps;
  let timer = 0;
  /** The slider's checkpoint, and where all of them are on it. */
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

  function go(to: number): void {
    stop();
    current = Math.min(Math.max(to, 0), steps.length - 1);
    slider.value = String(layout!.positions[current]);
    store.update({ at: steps[current].index });
  }

  /** To the nearest checkpoint; what moves the slider without a pointer gets at least to the next one. */
  function slide(): void {
    const { positions } = layout!;
    const value = Number(slider.value);
    const far = (i: number) => Math.abs(positions[i] - value);
    const nearest = positions.reduce((best, _, i) => (far(i) < far(best) ? i : best), 0);
    go(nearest === current && !pressed ? current + Math.sign(value - positions[current]) : nearest);
  }

  /** Keys move by checkpoints, however far apart these are. */
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

  const marks = s("path", {});
  const rug = s("svg", { class: "time-marks", viewBox: "0 0 1000 1", preserveAspectRatio: "none" }, marks);
  const numbers = h("div", { class: "time-ticks" });
  const phases = h("div", { class: "phases" });
  const scale = h("div", { class: "scale", "aria-hidden": "true" }, rug, numbers, phases);

  /** Numbers under the slider, as many as have room. */
  function showNumbers(): void {
    const { positions, ticks } = layout!;
    const share = linear([0, positions[positions.length - 1]], [0, 1]);
    const shown = thinned(ticks, (position) => share(position) * numbers.clientWidth, LETTER);
    numbers.hidden = ticks.length === 0;
    numbers.replaceChildren(
      ...shown.map(({ position, text }) => h("span", { style: `left:${px(100 * share(position))}%` }, text)),
    );
  }

  /** Names of the phases under the stretch of the slider that they cover, where it is long enough for one. */
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

  function layOut(): void {
    const { axis } = store.state;
    if (drawn === axis) return;
    drawn = axis;
    layout = timeLayout(run, axis);
    const last = layout.positions[steps.length - 1];
    slider.max = String(last);
    slider.step = axis === "labels" ? "1" : "any";
    const x = linear([0, last], [0, 1000]);
    marks.setAttribute("d", steps.length < 2 ? "" : layout.positions.map((position) => `M${px(x(position))} 0v1`).join(""));
    scale.title = layout.title;
    fit();
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
    h("div", { class: "track" }, slider, scale),
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
