import { timeChart, type Series } from "../charts/time_chart";
import { unmoved, type Context, type Part } from "../context";
import { h } from "../dom";
import { count } from "../format";
import { passes } from "../state";
import { card } from "../widgets";

const MOST_LINES = 200;

/** r_q and r_k of the selected heads over training, with their mean. */
export function trajectories({ run, store }: Context): Part {
  const charts = h("div", { class: "pair" });
  const note = h("p", { class: "note" });
  const element = card("Selected heads over training", null, note, charts);

  function lines(name: string, heads: number[], look: string): Series[] {
    const mean: Series = {
      name: `${look} mean`,
      markers: true,
      value: (checkpoint) => {
        const values = heads.map((head) => run.value(name, checkpoint, head)).filter((value) => !Number.isNaN(value));
        return values.length ? values.reduce((a, b) => a + b, 0) / values.length : NaN;
      },
    };
    const single = heads
      .slice(0, MOST_LINES)
      .map((head) => ({ name: look, value: (checkpoint: number) => run.value(name, checkpoint, head) }));
    return [...single, mean];
  }

  return {
    element,
    render(changed) {
      if (unmoved(changed, "selected", "at", "layers", "classes", "rope")) return;
      const { state } = store;
      element.hidden = state.selected.size === 0;
      if (element.hidden) return;
      const heads = [...state.selected].filter((head) => passes(run, state, head));
      note.textContent = `${count(heads.length, "head")}${heads.length > MOST_LINES ? `, ${MOST_LINES} of them drawn` : ""}; thick: their mean.`;
      const chart = (
        name: string,
        title: string,
        look: string,
        domain: [number, number],
        ticks: number[],
        rules: number[],
      ) =>
        h(
          "figure",
          {},
          h("figcaption", {}, title),
          timeChart(run, {
            label: `${title} of ${count(heads.length, "selected head")} over training`,
            domain,
            ticks,
            rules,
            series: lines(name, heads, look),
            width: Math.max(280, Math.min(480, innerWidth - 56)),
            height: 260,
            at: state.at,
          }),
        );
      charts.replaceChildren(
        chart("r_q", "r_q (queries)", "queries", [-0.05, 1.05], [0, 0.5, 1], [run.low, run.high]),
        chart(
          "r_k",
          "r_k (keys)",
          "keys",
          [-1.05, 1.05],
          [-1, -0.5, 0, 0.5, 1],
          [-run.high, -run.low, run.low, run.high],
        ),
      );
    },
  };
}
