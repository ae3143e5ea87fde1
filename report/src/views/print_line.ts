import type { Context, Part } from "../context";
import { CLASSES } from "../data/classes";
import { h } from "../dom";
import { count } from "../format";
import { initialState } from "../state";

/** States the settings of the controls on a printed page, because the controls themselves are not printed. */
export function printLine({ run, store }: Context): Part {
  const element = h("p", { class: "print-only print-line" });
  return {
    element,
    render() {
      const { state } = store;
      const start = initialState(run);
      const here = run.checkpoints[state.at];
      const [low, high] = state.layers;
      const left = [...state.classes].sort((a, b) => a - b).map((classIndex) => CLASSES[classIndex]);
      const controlled = ["explore", "flow", "table"].includes(state.view);
      const every = state.view === "table" && state.everyCheckpoint;
      const parts = [
        ...(controlled && !every ? [`Checkpoint ${here.label}`, here.baseline ? "baseline" : here.phase] : []),
        every ? "Every checkpoint" : "",
        controlled && state.layers.join() !== start.layers.join() ? `layers ${low} to ${high}` : "",
        controlled && left.length < CLASSES.length ? `classes: ${left.join(", ") || "none"}` : "",
        controlled && state.rope !== "all" ? `${{ rope: "RoPE", nope: "NoPE" }[state.rope]} only` : "",
        controlled && state.selected.size ? `${count(state.selected.size, "head")} selected` : "",
        state.view === "table" ? `PC${run.components[state.component]}` : "",
        state.view === "table" && state.search ? `search: ${state.search}` : "",
      ];
      element.textContent = parts.filter((part) => part).join(" · ");
    },
  };
}
