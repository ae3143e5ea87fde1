import type { Context, Part } from "../context";
import { CLASSES } from "../data/classes";
import { number, ofPage } from "../data/source";
import { h } from "../dom";
import { count } from "../format";
import { chosen, initialState, passes, type RopeFilter } from "../state";
import { button } from "../widgets";

/** Filters heads by layers, classes, RoPE or NoPE; shows the selection. */
export function filters({ run, store }: Context): Part {
  const bound = (label: string, end: 0 | 1) => {
    const input = h("input", {
      type: "number",
      min: 0,
      max: run.lastLayer,
      "aria-label": label,
      onchange: () => {
        const value = Math.min(Math.max(Math.round(Number(input.value)) || 0, 0), run.lastLayer);
        const [low, high] = store.state.layers;
        input.value = String(value);
        store.update({ layers: end === 0 ? [value, Math.max(value, high)] : [Math.min(low, value), value] });
      },
    });
    return input;
  };
  const low = bound("First layer", 0);
  const high = bound("Last layer", 1);
  const classes = CLASSES.map((name, i) => {
    const chip = button(
      "",
      () => {
        const wanted = new Set(store.state.classes);
        if (!wanted.delete(i)) wanted.add(i);
        store.update({ classes: wanted });
      },
      { class: "chip" },
    );
    chip.append(
      h("i", { class: "swatch", style: `background:var(--class-${i})` }),
      name,
      h("span", { class: "number" }),
    );
    return chip;
  });
  const known = run.heads.some((head) => head.rope === false);
  const rope = (["all", "rope", "nope"] as RopeFilter[]).map((key) =>
    button({ all: "all", rope: "RoPE", nope: "NoPE" }[key], () => store.update({ rope: key }), { class: "chip" }),
  );
  const status = h("span", { class: "muted", role: "status" });
  const clear = button("Clear selection", () => store.update({ selected: new Set(), focus: null }), {
    class: "button small",
  });
  const reset = button(
    "Reset filters",
    () => {
      const { layers, classes: every, rope: any } = initialState(run);
      store.update({ layers, classes: every, rope: any });
    },
    { class: "button small" },
  );
  const element = h(
    "div",
    { class: "filters", role: "group", "aria-label": "Filters" },
    h("span", { class: "field inline" }, h("span", {}, "layers"), low, "–", high),
    h("span", { class: "chips", role: "group", "aria-label": "Classes" }, ...classes),
    known ? h("span", { class: "chips", role: "group", "aria-label": "RoPE" }, ...rope) : null,
    // The line keeps its height while it is empty, so that nothing moves under the pointer.
    h("span", { class: "outcome" }, status, clear, reset),
  );
  return {
    element,
    render() {
      const { state } = store;
      // The field in which the reader types is not overwritten.
      if (document.activeElement !== low) low.value = String(state.layers[0]);
      if (document.activeElement !== high) high.value = String(state.layers[1]);
      const counts = CLASSES.map(() => 0);
      let passing = 0;
      for (const head of run.heads) {
        const classIndex = run.classOf(state.at, head.index);
        if (classIndex >= 0) ++counts[classIndex];
        if (passes(run, state, head.index)) ++passing;
      }
      classes.forEach((chip, i) => {
        chip.setAttribute("aria-pressed", String(state.classes.has(i)));
        chip.lastElementChild!.replaceChildren(number(`count:qk.csv:${run.checkpoints[state.at].label}:class=${CLASSES[i]}`, String(counts[i])));
      });
      rope.forEach((chip, i) => chip.setAttribute("aria-pressed", String(["all", "rope", "nope"][i] === state.rope)));
      status.replaceChildren(
        number(ofPage("passing"), `${count(passing, "head")} of ${run.heads.length}`),
        ...(state.selected.size ? [", ", number(ofPage("selected"), `${chosen(run, state).length} selected`)] : []),
      );
      clear.disabled = state.selected.size === 0 && state.focus === null;
      reset.disabled = passing === run.heads.length;
    },
  };
}
