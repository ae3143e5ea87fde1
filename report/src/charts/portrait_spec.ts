import { CLASSES } from "../data/classes";
import type { Run } from "../data/run";
import { PRINTED } from "../theme";

/** The portrait of one checkpoint as a Vega-Lite specification in the style of the printed figures. */
export function portraitSpec(run: Run, checkpoint: number, heads: number[]): Record<string, unknown> {
  const printed = run.blob.figures["phase_portraits"] ?? {};
  const colours = PRINTED.classes;
  const rows = heads
    .filter((head) => run.classOf(checkpoint, head) >= 0)
    .map((head) => ({
      layer: run.heads[head].layer,
      q_head: run.heads[head].q_head,
      r_q: run.value("r_q", checkpoint, head),
      r_k: run.value("r_k", checkpoint, head),
      class: CLASSES[run.classOf(checkpoint, head)],
      position: run.heads[head].rope === false ? "NoPE" : "RoPE",
    }));
  const scale = (domain: number[]) => ({ domain, nice: false, zero: false });
  const x = { type: "quantitative", scale: scale([-0.05, 1.05]), axis: { title: "r_q (queries)", grid: false } };
  const y = { type: "quantitative", scale: scale([-1.05, 1.05]), axis: { title: "r_k (keys)", grid: false } };
  const dashed = { type: "rule", strokeDash: [4, 3], color: "#8b949e" };
  const { low, high } = run;
  return {
    $schema: printed["$schema"],
    config: printed["config"],
    title: {
      text: `${run.blob.title ? `${run.blob.title} · ` : ""}${run.checkpoints[checkpoint].label}`,
      subtitle: `${rows.length} heads by r_q and r_k on PC0`,
    },
    width: 460,
    height: 460,
    view: { stroke: "#8b949e" },
    layer: [
      { data: { values: [{ at: low }, { at: high }] }, mark: dashed, encoding: { x: { ...x, field: "at" } } },
      {
        data: { values: [-high, -low, low, high].map((at) => ({ at })) },
        mark: dashed,
        encoding: { y: { ...y, field: "at" } },
      },
      {
        data: { values: rows },
        mark: { type: "point", filled: true, size: 45, opacity: 0.75, clip: true },
        encoding: {
          x: { ...x, field: "r_q" },
          y: { ...y, field: "r_k" },
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
