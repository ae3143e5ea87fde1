import type { Context } from "../context";
import { quantity } from "../data/quantities";
import type { Checkpoint } from "../data/run";
import { number } from "../data/source";
import { decimals, errorText } from "../format";
import { button } from "../widgets";

/** Above this share, PC0 separates queries from keys rather than early from late tokens. */
const HALF = 0.5;
const WITHOUT_AXIS = ["r2cv_q", "r2cv_k"];

/** Where more than half of PC0 is offset, offers numbers that need no axis; else null. */
export function offsetNote({ run, summary, store }: Context, c: Checkpoint): (string | Node)[] {
  const statistic = run.statistics.find(({ key }) => key === "pc0_offset");
  const better = WITHOUT_AXIS.flatMap((key) => quantity(run, key) ?? []);
  const { value, se } = statistic ? summary.leaf("mean_pc0_offset", c) : { value: null, se: null };
  if (value === null || value <= HALF || !better.length) return [];
  const text = `${decimals(100 * value, 0)}${se ? ` ± ${errorText(100 * se, 0)}` : ""} %`;
  return [
    `PC0 is mostly offset at ${c.label} (`,
    number(summary.from("mean_pc0_offset", c), text, { "data-unit": "%" }),
    "): it mostly separates queries from keys. Colour the heads by a number that needs no axis: ",
    ...better.flatMap(({ key, statistic: { title } }, i) => [
      i ? " " : "",
      button(title.replace(", cross-validated", ""), () => store.update({ view: "explore", quantity: key, at: c.index }), {
        class: "button small",
        "data-key": `offset ${key}`,
      }),
    ]),
  ];
}
