import { timeChart, type Series } from "../charts/time_chart";
import type { Context } from "../context";
import { parseColour } from "../data/coloring";
import type { Head, Run } from "../data/run";
import { ticks } from "../data/scale";
import { h } from "../dom";

/** The width of a drawing whose letters keep their size on a narrow screen. */
export function roomFor(most: number): number {
  return Math.max(280, Math.min(most, innerWidth - 56));
}

/** The axis of a head's drawings, in words. */
const along = (run: Run) => (run.models ? "by model" : "over training");

const positions = (run: Run, head: number, markers: boolean): Series[] => [
  {
    name: "queries",
    markers,
    value: (c) => run.value("r_q", c, head),
    error: (c) => (markers ? run.value("r_q_se", c, head) : NaN),
    breaks: (c) => run.axisChanged(c, head),
    limits: [-1, 1],
  },
  {
    name: "keys",
    markers,
    value: (c) => run.value("r_k", c, head),
    error: (c) => (markers ? run.value("r_k_se", c, head) : NaN),
    breaks: (c) => run.axisChanged(c, head),
    limits: [-1, 1],
  },
];

/** r_q and r_k of a head over training; `small`: without errors and labels. */
export function trajectory({ run, store }: Context, head: Head, width: number, height: number, small: boolean): SVGSVGElement {
  return timeChart(run, {
    label: `r_q and r_k of layer ${head.layer}, head ${head.q_head} ${along(run)}`,
    axis: store.state.axis,
    domain: [-1.05, 1.05],
    ticks: small ? [-1, 0, 1] : [-1, -0.5, 0, 0.5, 1],
    rules: [-run.high, -run.low, run.low, run.high],
    series: positions(run, head.index, !small),
    width,
    height,
    at: store.state.at,
    labels: !small,
  });
}

/** The number that colours the grid, over training, unless the first chart shows it. */
export function coloured({ run, store }: Context, head: Head): HTMLElement | null {
  const { quantity: found } = parseColour(run, store.state.quantity);
  if (!found || ["r_q", "r_k"].includes(found.statistic.key)) return null;
  const look = found.reading.hue === "both" ? "variance" : found.reading.hue;
  return h(
    "figure",
    { class: "coloured" },
    h("figcaption", { "data-definition": found.definition }, found.name),
    timeChart(run, {
      label: `${found.name} of layer ${head.layer}, head ${head.q_head} ${along(run)}`,
      axis: store.state.axis,
      domain: found.range,
      ticks: ticks(...found.range, 4),
      series: [
        {
          name: look,
          markers: true,
          value: (c) => found.value(c, head.index),
          // The error of a step function is in octaves, not in the units of this axis.
          error: (c) => (found.statistic.step ? NaN : found.error(c, head.index)),
          breaks: (c) => found.statistic.on_pc0 && run.axisChanged(c, head.index),
          limits: [found.statistic.low ?? -Infinity, found.statistic.high ?? Infinity],
        },
      ],
      width: roomFor(960),
      height: 220,
      at: store.state.at,
    }),
  );
}
