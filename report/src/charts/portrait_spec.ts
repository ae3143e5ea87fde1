import { CLASSES } from "../data/classes";
import type { Quantity } from "../data/quantities";
import type { Run } from "../data/run";
import { PRINTED } from "../theme";
import { axisTitle, thresholds, type Axes } from "./portrait_frame";

const onPc0 = ({ x, y }: Axes) => [x, y].every(({ statistic }) => statistic.per === "component");

/** The portrait of one checkpoint as a Vega-Lite specification in the style of the printed figures. */
export function portraitSpec(run: Run, checkpoint: number, heads: number[], axes: Axes): Record<string, unknown> {
  const printed = run.blob.figures["phase_portraits"] ?? {};
  const colours = PRINTED.classes;
  const rows = heads
    .filter((head) => !Number.isNaN(axes.x.value(checkpoint, head) + axes.y.value(checkpoint, head)))
    .map((head) => ({
      layer: run.heads[head].layer,
      q_head: run.heads[head].q_head,
      [axes.x.key]: axes.x.value(checkpoint, head),
      [axes.y.key]: axes.y.value(checkpoint, head),
      class: CLASSES[run.classOf(checkpoint, head)] ?? "no class",
      position: run.heads[head].rope === false ? "NoPE" : "RoPE",
    }));
  const scale = (domain: number[]) => ({ domain, nice: false, zero: false });
  const x = { type: "quantitative", scale: scale(axes.x.range), axis: { title: axisTitle(axes.x), grid: false } };
  const y = { type: "quantitative", scale: scale(axes.y.range), axis: { title: axisTitle(axes.y), grid: false } };
  const rules = (axis: Quantity) => thresholds(axis, run.low, run.high).map((at) => ({ at }));
  const dashed = { type: "rule", strokeDash: [4, 3], color: "#8b949e" };
  return {
    $schema: printed["$schema"],
    config: printed["config"],
    title: {
      text: `${run.blob.title ? `${run.blob.title} · ` : ""}${run.checkpoints[checkpoint].label}`,
      subtitle: `${rows.length} heads by ${axisTitle(axes.x)} and ${axisTitle(axes.y)}${onPc0(axes) ? " on PC0" : ""}`,
    },
    width: 460,
    height: 460,
    view: { stroke: "#8b949e" },
    layer: [
      { data: { values: rules(axes.x) }, mark: dashed, encoding: { x: { ...x, field: "at" } } },
      {
        data: { values: rules(axes.y) },
        mark: dashed,
        encoding: { y: { ...y, field: "at" } },
      },
      {
        data: { values: rows },
        mark: { type: "point", filled: true, size: 45, opacity: 0.75 },
        encoding: {
          x: { ...x, field: axes.x.key },
          y: { ...y, field: axes.y.key },
          color: {
            field: "class",
            type: "nominal",
            scale: { domain: [...CLASSES], range: colours },
            legend: { title: null, orient: "top", columns: 3 },
          },
          shape: {
            field: "position",
            type: "nominal",
            scale: { domain: ["RoPE", "NoPE"], range: ["circle", "diamond"] },
            legend: { title: null, orient: "top" },
          },
        },
      },
    ],
  };
}
