import { CLASSES } from "./data/classes";
import { parseColour } from "./data/coloring";
import { quantity } from "./data/quantities";
import { ranked } from "./data/flags";
import type { Run } from "./data/run";
import { number, ofHead } from "./data/source";
import { shown } from "./data/summary";
import { DASH, errorUnit, withError } from "./format";
import type { State } from "./state";
import type { Line } from "./tooltip";

/** A head at the current checkpoint in a few lines: its components' numbers, the number that colours it, and its flags. */
export function describeHead(run: Run, state: State, head: number): Line[] {
  const { layer, q_head, rope, kv_head } = run.heads[head];
  const { at: checkpoint } = state;
  const title = `Layer ${layer}, head ${q_head}`;
  if (!run.measured(checkpoint, head)) return [title, `not measured at ${run.checkpoints[checkpoint].label}`];
  const classIndex = run.classOf(checkpoint, head);
  const about = [rope === null ? "" : rope ? "RoPE" : "NoPE", kv_head === null ? "" : `KV head ${kv_head}`].filter(
    (t) => t,
  );
  const usual = shown(run.statistics);
  const others = [parseColour(run, state.quantity).quantity, quantity(run, state.x), quantity(run, state.y)].filter(
    (one, i, all) => one && !usual.includes(one.statistic) && all.indexOf(one) === i,
  );
  const flags = ranked(run, run.flags(checkpoint, head)).map(({ name }) => name);
  return [
    title,
    ...(about.length ? [about.join(" · ")] : []),
    ...usual.map((statistic) => {
      const value = run.value(statistic.key, checkpoint, head);
      const error = statistic.changes ? run.error(statistic, checkpoint, head) : NaN;
      const name = statistic.shares ? `PC0 ${statistic.title}` : statistic.title;
      return [`${name} `, number(ofHead(run, statistic, checkpoint, head), withError(value, error))];
    }),
    ...others.map((one) => [
      `${one!.name} `,
      number(
        ofHead(run, one!.statistic, checkpoint, head),
        withError(one!.value(checkpoint, head), one!.error(checkpoint, head), one!.digits, errorUnit(one!.statistic)),
        one!.reading.absolute ? { "data-absolute": "" } : {},
      ),
    ]),
    classIndex < 0 ? `class ${DASH}` : CLASSES[classIndex],
    ...(flags.length ? [`flags: ${flags.join(", ")}`] : []),
  ];
}
