import type { Context } from "../context";
import { doubts, ranked, type Doubt } from "../data/flags";
import type { Checkpoint, Head, Run } from "../data/run";
import { number } from "../data/source";
import { h, linear, px, s } from "../dom";
import { DASH } from "../format";
import { button, card, columnHeads, row, scroller, type Column } from "../widgets";

/** More checkpoints than this are counted instead of listed. */
const MOST_NAMED = 6;

/** Warnings about a head, as sentences; null: there are none. */
export function care({ run, store }: Context, head: Head): HTMLElement | null {
  const { at } = store.state;
  const here = new Set(run.flags(at, head.index));
  const elsewhere = new Map<string, Checkpoint[]>();
  for (const c of run.steps)
    for (const { name, kind } of ranked(run, run.flags(c.index, head.index))) {
      if (c.index === at || kind === "about") continue;
      if (!elsewhere.has(name)) elsewhere.set(name, []);
      elsewhere.get(name)!.push(c);
    }
  const others = (name: string) => {
    const all = elsewhere.get(name) ?? [];
    if (!all.length) return [];
    const links = all.slice(0, MOST_NAMED).flatMap((c, i) => [
      i ? ", " : "",
      button(c.label, () => store.update({ at: c.index }), { class: "link", "data-key": `care ${name} ${c.index}` }),
    ]);
    const from = `count:heads.csv:${head.layer}.${head.q_head}:${name}`;
    const rest = all.length > MOST_NAMED ? [" and elsewhere, at ", number(from, String(all.length + Number(here.has(name)))), " in all"] : [];
    return [h("span", { class: "muted" }, here.has(name) ? " Also at " : " At ", ...links, ...rest, ".")];
  };
  const flags = ranked(run, [...here, ...elsewhere.keys()]);
  if (!flags.some(({ kind }) => kind !== "about")) return null;
  const items = flags.map(({ name, title, sentence }) =>
    h(
      "li",
      { class: here.has(name) ? "here" : "", "data-flag": name },
      h("strong", {}, title.charAt(0).toUpperCase() + title.slice(1)),
      h("code", {}, name),
      h("span", {}, ` ${sentence}`),
      ...others(name),
    ),
  );
  const made = card("Read with care", null, h("ul", { class: "care" }, ...items));
  made.classList.add("care-card");
  return made;
}

/** The number of heads with a flag, per checkpoint. */
function bars(run: Run, counts: number[]): SVGSVGElement {
  const [width, height] = [120, 26];
  const x = linear([0, counts.length], [0, width]);
  const y = linear([0, run.heads.length], [0, height - 1]);
  const made = counts.map((count, i) =>
    s(
      "rect",
      { x: px(x(i)), width: px(x(1) - x(0) - (x(1) - x(0) > 3 ? 1 : 0)), y: px(height - 1 - y(count)), height: px(y(count) + 1) },
      s("title", {}, `${run.steps[i].label}: ${count} of ${run.heads.length} heads`),
    ),
  );
  const most = counts.indexOf(Math.max(...counts));
  return s(
    "svg",
    { class: "care-bars", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Heads over the run; most at ${run.steps[most].label}: ${counts[most]} of ${run.heads.length}` },
    ...made,
  );
}

/** Warnings about the whole run: each doubt with its heads and its meaning. */
export function careTable({ run, store }: Context, last: Checkpoint): HTMLElement | null {
  const found = doubts(run, last.index);
  if (!found.length) return null;
  const link = (heads: number[], from: string, what: string) =>
    h(
      "td",
      { "data-number": from },
      heads.length
        ? button(String(heads.length), () => store.update({ view: "explore", selected: new Set(heads), at: last.index }), {
            class: "link",
            "aria-label": `Show ${heads.length} heads: ${what}`,
          })
        : "0",
    );
  const several = run.steps.length > 1;
  const columns: Column[] = [
    { name: "what" },
    { name: `heads at ${last.label}` },
    ...(several ? [{ name: "over the run" }, { name: "anywhere in the run" }] : []),
    { name: "what it means", look: "text" },
  ];
  const rowOf = ({ flag: { name, title, sentence }, heads, everHeads, counts }: Doubt) =>
    row(
      { "data-flag": name },
      columns,
      h("th", { scope: "row" }, title, h("code", {}, name)),
      link(heads, `count:heads.csv:${last.label}:${name}`, `${title}, at ${last.label}`),
      ...(several ? [h("td", {}, bars(run, counts)), link(everHeads, `count:heads.csv:*:${name}`, `${title}, somewhere in the run`)] : []),
      h("td", { class: "text sentence" }, sentence || DASH),
    );
  return card(
    "Read with care",
    "Heads whose numbers need care. Click a number to see the heads.",
    scroller(
      "Doubts about heads",
      h("table", { class: "numbers stacked care-table" }, columnHeads(columns), h("tbody", {}, ...found.map(rowOf))),
    ),
  );
}
