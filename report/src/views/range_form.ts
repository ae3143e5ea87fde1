import type { Axes } from "../charts/portrait_frame";
import type { Context, Part } from "../context";
import type { Quantity } from "../data/quantities";
import { h } from "../dom";
import { passes } from "../state";
import { button } from "../widgets";

/** Selects heads in the portrait by numbers, for the keyboard and for exact limits. */
export function rangeForm({ run, store }: Context, axes: () => Axes): Part {
  const field = () => h("input", { type: "number", step: "any" });
  const side = () => ({ name: h("span", {}), from: field(), to: field() });
  const [x, y] = [side(), side()];
  const within = ({ from, to }: typeof x, value: number) => value >= Number(from.value) && value <= Number(to.value);
  const choose = () => {
    const { at } = store.state;
    const found = run.heads.filter(
      ({ index }) =>
        within(x, axes().x.value(at, index)) && within(y, axes().y.value(at, index)) && passes(run, store.state, index),
    );
    store.update({ selected: new Set(found.map((head) => head.index)) });
  };
  const row = ({ name, from, to }: typeof x) => h("span", { class: "field inline" }, name, from, "–", to);
  const element = h(
    "details",
    { class: "range-form" },
    h("summary", {}, "Select by numbers"),
    h("div", { class: "toolbar" }, row(x), row(y), button("Select", choose)),
  );
  /** The limits of all heads; for r_q, those above the threshold of the classes. */
  const fill = ({ name, from, to }: typeof x, axis: Quantity) => {
    const [low, high] = axis.statistic.low === null || axis.statistic.high === null ? axis.range : axis.domain;
    name.textContent = axis.key;
    from.setAttribute("aria-label", `${axis.key} from`);
    to.setAttribute("aria-label", `${axis.key} to`);
    from.value = String(axis.key === "r_q" ? run.high : Number(low.toPrecision(4)));
    to.value = String(Number(high.toPrecision(4)));
  };
  return {
    element,
    render() {
      fill(x, axes().x);
      fill(y, axes().y);
    },
  };
}
