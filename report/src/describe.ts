import { CLASSES } from "./data/classes";
import type { Run } from "./data/run";
import { shown } from "./data/summary";
import { DASH, withError } from "./format";

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
    ...shown(run.statistics).map((statistic) => {
      const value = run.value(statistic.key, checkpoint, head);
      const error = statistic.changes ? run.error(statistic, checkpoint, head) : NaN;
      return `${statistic.shares ? `PC0 ${statistic.title}` : statistic.title} ${withError(value, error)}`;
    }),
    place < 0 ? `class ${DASH}` : CLASSES[place],
    ...(flag ? [`flag: ${flag.replaceAll(";", ", ")}`] : []),
  ];
}
