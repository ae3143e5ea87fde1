import { CLASSES } from "./data/classes";
import type { Run } from "./data/run";
import { decimals, DASH, withError } from "./format";

/** A head at a checkpoint in a few lines. */
export function describeHead(run: Run, checkpoint: number, head: number): string[] {
  const { layer, q_head, rope, kv_head } = run.heads[head];
  const title = `Layer ${layer}, head ${q_head}`;
  if (!run.measured(checkpoint, head)) return [title, `not measured at ${run.checkpoints[checkpoint].label}`];
  const place = run.classOf(checkpoint, head);
  const about = [rope === null ? "" : rope ? "RoPE" : "NoPE", kv_head === null ? "" : `KV head ${kv_head}`].filter(
    (t) => t,
  );
  const flag = run.flag(checkpoint, head);
  return [
    title,
    ...(about.length ? [about.join(" · ")] : []),
    `r_q ${withError(run.value("r_q", checkpoint, head), run.value("r_q_se", checkpoint, head))}`,
    `r_k ${withError(run.value("r_k", checkpoint, head), run.value("r_k_se", checkpoint, head))}`,
    `PC0 variance ${decimals(run.value("explained_variance", checkpoint, head))}`,
    place < 0 ? `class ${DASH}` : CLASSES[place],
    ...(flag ? [`flag: ${flag.replaceAll(";", ", ")}`] : []),
  ];
}
