import { parseColour, type Coloring } from "../data/coloring";
import type { Quantity } from "../data/quantities";
import type { Run } from "../data/run";
import { number, ofPage } from "../data/source";
import { h } from "../dom";
import { count, decimals } from "../format";
import type { State } from "../state";

/** The colour ramp of the grid with its ends; null for classes, which the portrait's legend names. */
export function gridLegend(run: Run, state: State, colours: Coloring): HTMLElement[] {
  if (colours.isClass) return [];
  const [low, high] = colours.domain;
  const digits = Math.max(high - low <= 0.5 ? 2 : 1, Math.min(9, 1 - Math.floor(Math.log10(high - low))));
  const { range } = parseColour(run, state.quantity).quantity!;
  const limited = colours.aspect === "value" && low <= range[0] + 0.1 * (high - low) && high >= range[1] - 0.1 * (high - low);
  const lost = run.heads.filter(({ index }) => run.measured(state.at, index) && !colours.comparable(index)).length;
  const edge = limited ? ["", ""] : ["≤ ", "≥ "];
  return [
    h("span", { "data-scale": "" }, (low !== 0 ? edge[0] : "") + decimals(low, digits)),
    h("i", { class: "ramp", style: `background:linear-gradient(90deg,${colours.ramp.join(",")})` }),
    h("span", { "data-scale": "" }, edge[1] + decimals(high, digits)),
    h("span", { class: "muted" }, colours.name),
    ...(lost ? [incomparable(lost, colours.of!)] : []),
  ];
}

/** Explains the cells without a colour. */
function incomparable(heads: number, { statistic }: Quantity): HTMLElement {
  const why = statistic.on_pc0 ? "PC0 is another axis" : "a number per token, at another context";
  return h(
    "span",
    { class: "incomparable-key" },
    h("i", { class: "cell incomparable" }),
    "not comparable: ",
    number(ofPage("incomparable"), count(heads, "head")),
    `, ${why}`,
  );
}
