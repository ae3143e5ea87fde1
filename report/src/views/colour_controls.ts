import type { Context, Part } from "../context";
import { CLASS, colourKey, parseColour, type Aspect } from "../data/coloring";
import { quantities, quantity } from "../data/quantities";
import { h } from "../dom";
import { picker } from "../picker";
import { checkpointOptions, select } from "../widgets";

const ASPECTS: Record<Aspect, string> = { value: "as it is", error: "standard error", change: "change since …" };

/** Chooses what colours heads: a quantity; its value, error or change; and since which checkpoint. */
export function colourControls({ run, store }: Context): Part {
  const classes = { key: CLASS, name: "class", group: "", definition: "which of r_q and |r_k| follow position, on PC0" };
  const colour = picker("colour", [classes, ...quantities(run)], (key) =>
    store.update({ quantity: colourKey(quantity(run, key), parseColour(run, store.state.quantity).aspect) }),
  );
  const aspect = select(
    "shown",
    Object.entries(ASPECTS).map(([value, text]) => ({ value, text })),
    (value) =>
      store.update({ quantity: colourKey(parseColour(run, store.state.quantity).quantity, value as Aspect) }),
  );
  const since = select("since", checkpointOptions(run, run.checkpoints), (value) => store.update({ since: Number(value) }));
  return {
    element: h("div", { class: "toolbar" }, colour.element, aspect.element, since.element),
    render() {
      const asked = parseColour(run, store.state.quantity);
      colour.show([asked.quantity?.key ?? CLASS]);
      aspect.input.value = asked.aspect;
      aspect.input.options[1].disabled = !asked.quantity?.statistic.error;
      since.input.value = String(store.state.since);
      since.element.hidden = asked.aspect !== "change";
    },
  };
}
