import type { Context } from "../context";
import type { Head } from "../data/run";
import { h } from "../dom";
import { number, ofHead } from "../data/source";
import { withError } from "../format";
import { card, checkpointName, checkpointScroller } from "../widgets";

/** The parts of PC0's variance; their sum is 1. */
const PARTS = [
  { key: "pc0_offset", name: "queries and keys lie apart", look: "offset" },
  { key: "pc0_pos_q", name: "position of queries", look: "queries" },
  { key: "pc0_pos_k", name: "position of keys", look: "keys" },
  { key: "pc0_content", name: "content", look: "content" },
];

/** The parts of PC0 at every checkpoint; null where the table does not have them. */
export function composition({ run, store }: Context, head: Head): HTMLElement | null {
  const parts = PARTS.flatMap((part) => {
    const statistic = run.statistics.find(({ key }) => key === part.key);
    return statistic ? { ...part, statistic } : [];
  });
  if (parts.length < PARTS.length) return null;
  const { at } = store.state;
  const rows = run.checkpoints.map((c) => {
    const values = parts.map(({ key }) => run.value(key, c.index, head.index));
    const text = parts.map(({ name }, i) => `${name} ${(100 * values[i]).toFixed(0)} %`).join(", ");
    const known = values.every((value) => !Number.isNaN(value));
    return h(
      "li",
      { class: c.index === at ? "now" : "" },
      h("span", { class: "composition-label" }, ...checkpointName(run, c)),
      h(
        "span",
        { class: `composition-bar${known ? "" : " none"}`, role: "img", "aria-label": known ? text : "not known" },
        ...(known ? parts : []).map(({ look }, i) =>
          h("i", { class: `part ${look}`, style: `flex-grow:${Math.max(values[i], 0)}` }),
        ),
      ),
    );
  });
  const legend = parts.map(({ key, name, look, statistic }) =>
    h(
      "li",
      { "data-definition": statistic.definition, "data-part": key },
      h("i", { class: `swatch part ${look}` }),
      name,
      number(ofHead(run, statistic, at, head.index), withError(run.value(key, at, head.index), run.error(statistic, at, head.index))),
    ),
  );
  return card(
    "What PC0 is made of",
    `Shares of PC0's variance at each ${run.models ? "model" : "checkpoint"}; the numbers are those of ${run.checkpoints[at].label}.`,
    h("ul", { class: "legend composition-legend" }, ...legend),
    checkpointScroller("What PC0 is made of, by checkpoint", run.checkpoints.length, h("ol", { class: "composition" }, ...rows)),
  );
}
