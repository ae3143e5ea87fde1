import { axisTitle, thresholds } from "../charts/portrait_frame";
import { timeChart, type Series } from "../charts/time_chart";
import { unmoved, type Context, type Part } from "../context";
import { quantity, type Quantity } from "../data/quantities";
import { ticks } from "../data/scale";
import { number, ofPage } from "../data/source";
import { h } from "../dom";
import { count } from "../format";
import { passes } from "../state";
import { card } from "../widgets";

const MOST_LINES = 200;

/** The portrait's two numbers for the selected heads over training, with their mean. */
export function trajectories({ run, store }: Context): Part {
  const charts = h("div", { class: "pair" });
  const note = h("p", { class: "note" });
  const element = card("Selected heads over training", null, note, charts);

  function lines(axis: Quantity, heads: number[]): Series[] {
    const look = axis.reading.hue === "both" ? "variance" : axis.reading.hue;
    const mean: Series = {
      name: `${look} mean`,
      markers: true,
      value: (checkpoint) => {
        const values = heads.map((head) => axis.value(checkpoint, head)).filter((value) => !Number.isNaN(value));
        return values.length ? values.reduce((a, b) => a + b, 0) / values.length : NaN;
      },
    };
    const single = heads
      .slice(0, MOST_LINES)
      .map((head) => ({
        name: look,
        value: (checkpoint: number) => axis.value(checkpoint, head),
        breaks: (checkpoint: number) => axis.statistic.on_pc0 && run.axisChanged(checkpoint, head),
      }));
    return [...single, mean];
  }

  return {
    element,
    render(changed) {
      if (unmoved(changed, "x", "y", "axis", "selected", "at", "layers", "classes", "rope")) return;
      const { state } = store;
      element.hidden = state.selected.size === 0;
      if (element.hidden) return;
      const heads = [...state.selected].filter((head) => passes(run, state, head));
      const broken = [state.x, state.y].some((key) => quantity(run, key)?.statistic.on_pc0);
      note.replaceChildren(
        number(ofPage("selected"), count(heads.length, "head")),
        ...(heads.length > MOST_LINES ? [", ", number(ofPage("drawn"), `${MOST_LINES} of them drawn`)] : []),
        `; thick: their mean.${broken ? " Dashed: a step in which a head's axis changed." : ""}`,
      );
      const chart = (axis: Quantity) => {
        const [low, high] = axis.range;
        return h(
          "figure",
          {},
          h("figcaption", { "data-definition": axis.definition }, axisTitle(axis)),
          timeChart(run, {
            label: `${axis.name} of ${count(heads.length, "selected head")} over training`,
            axis: state.axis,
            domain: axis.range,
            ticks: ticks(low, high, 4),
            rules: thresholds(axis, run.low, run.high),
            series: lines(axis, heads),
            width: Math.max(280, Math.min(480, innerWidth - 56)),
            height: 260,
            at: state.at,
          }),
        );
      };
      charts.replaceChildren(
        ...[state.x, state.y].flatMap((key) => quantity(run, key) ?? []).map(chart),
      );
    },
  };
}
