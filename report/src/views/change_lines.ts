import type { Context } from "../context";
import type { Change, Difference, HeadChange } from "../data/blob";
import { CLASSES } from "../data/classes";
import { number } from "../data/source";
import { change, changedHeads, means, type Mean } from "../data/summary";
import { h } from "../dom";
import { count, DASH, errorText, signed } from "../format";
import { button } from "../widgets";

/** A line of "What changed": its name, the heads that it is about, and its cell for each step. */
export interface Line {
  name: string;
  note?: string;
  key: string;
  cell(difference: Difference): HTMLElement;
}

const ofDifference = ({ from, to }: Difference, key: string) => `summary.json:${from} → ${to}:${key}`;
const nothing = () => h("td", { class: "muted" }, DASH);

function verdictOf({ real, flag, value, stayed }: Change, published?: Change): string {
  if (flag === "other_context") return "other context";
  // In that case neither row of a signed mean is real, however large it is.
  const other = stayed ?? published;
  if (real === false && other?.value === null) return "no axis stayed";
  if (real === false && (value ?? 0) * (other?.value ?? 0) < 0) return "the rows disagree";
  return real === null || real === undefined ? "" : real ? "real" : "within noise";
}

/** A change with its verdict; `heads`: the heads that it is about, if not all; `published`: the change over all heads. */
function cell(from: string, found: Change, percent: boolean, heads: HTMLElement | null = null, published?: Change): HTMLElement {
  if (found.value === null) return nothing();
  const [scale, digits] = percent ? [100, 1] : [1, 3];
  const se = found.se ? ` ± ${errorText(scale * found.se, digits)}` : "";
  const verdict = verdictOf(found, published);
  const look = verdict === "real" ? (found.value > 0 ? "real up" : "real down") : "noise";
  return h(
    "td",
    { class: `change ${look}` },
    h(
      "span",
      { "data-number": from, "data-unit": percent ? "%" : null },
      h("span", { class: "value" }, signed(scale * found.value, digits)),
      h("span", { class: "se" }, `${se}${percent ? " %" : ""}`),
    ),
    h("span", { class: "verdict" }, verdict, ...(heads ? [verdict ? ", " : "", heads] : [])),
  );
}

/** A mean whose sign depends on an axis: over all heads, as published, and over those whose axis stayed. */
function signedLines({ run, summary }: Context, { key, name }: Mean): Line[] {
  const parts = (difference: Difference): { published: Change | null; stayed: Change | null } => {
    const found = change(difference, key);
    if (found.stayed) return { published: found, stayed: found.stayed };
    // Summaries of former versions have only one of the two.
    return found.heads === undefined ? { published: found, stayed: null } : { published: null, stayed: found };
  };
  const total = ({ to }: Difference) => {
    const found = run.checkpoints.find(({ label }) => label === to);
    return Number((found && summary.entry(found)["heads"]) ?? run.heads.length);
  };
  return [
    {
      name,
      note: "all heads, as published",
      key,
      cell: (difference) => {
        const { published } = parts(difference);
        return published ? cell(ofDifference(difference, key), published, false) : nothing();
      },
    },
    {
      name,
      note: "heads whose axis stayed, signs carried",
      key: `${key}.stayed`,
      cell: (difference) => {
        const { stayed, published } = parts(difference);
        if (!stayed) return nothing();
        const from = ofDifference(difference, change(difference, key).stayed ? `${key}.stayed` : key);
        const over = `${stayed.heads} of ${count(total(difference), "head")}`;
        return cell(from, stayed, false, stayed.heads === undefined ? null : number(`${from}.heads`, over), published ?? undefined);
      },
    },
  ];
}

/** Lines of means: those without a sign first. */
export function meanLines(context: Context): Line[] {
  const all = means(context.run);
  const hasSign = ({ statistic, reading }: Mean) => statistic.carried !== null && !reading.absolute;
  const [first] = CLASSES;
  const none: Change = { value: null, se: null, real: null };
  const loss: Line = {
    name: "loss",
    note: "nats per token",
    key: "loss",
    cell: (d) => cell(ofDifference(d, "loss"), change(d, "loss"), false),
  };
  return [
    ...(context.summary.differences().some((d) => "loss" in d) ? [loss] : []),
    ...all
      .filter((mean) => !hasSign(mean))
      .map(({ key, name }) => ({
        name,
        key,
        cell: (d: Difference) => cell(ofDifference(d, key), change(d, key), false),
      })),
    {
      name: `${first} heads`,
      key: "taxonomy",
      cell: (d) => cell(ofDifference(d, `taxonomy.${first}`), d.taxonomy?.[first] ?? none, true),
    },
    ...all.filter(hasSign).flatMap((mean) => signedLines(context, mean)),
  ];
}

/** How many heads changed; a click on a number shows them. */
export function headLines({ run, summary, store }: Context): Line[] {
  const all = summary.differences();
  const opener = (difference: Difference, heads: Pick<HeadChange, "layer" | "q_head">[], key: string, colour: string) => {
    const from = ofDifference(difference, key);
    if (!heads.length) return h("td", { class: "muted", "data-number": from }, "0");
    const indexOf = (wanted: string, otherwise: number) => run.checkpoints.find(({ label }) => label === wanted)?.index ?? otherwise;
    const show = () =>
      store.update({
        view: "explore",
        selected: new Set(heads.flatMap((head) => run.head(head.layer, head.q_head)?.index ?? [])),
        at: indexOf(difference.to, store.state.at),
        since: indexOf(difference.from, store.state.since),
        quantity: colour,
      });
    const label = `Show ${count(heads.length, "head")}, ${key}, from ${difference.from} to ${difference.to}`;
    return h("td", { "data-number": from }, button(String(heads.length), show, { class: "link", "aria-label": label }));
  };
  const listed = run.statistics
    .filter(({ changes: some, key }) => some && all.some((d) => Array.isArray(d[`heads_${key}`])))
    .sort((a, b) => Number(a.on_pc0) - Number(b.on_pc0));
  const lines: Line[] = listed.map((statistic) => ({
    name: statistic.title,
    note: "heads that changed",
    key: `heads_${statistic.key}`,
    cell: (d) => {
      const found = changedHeads(d, statistic);
      return found ? opener(d, found, `heads_${statistic.key}`, `change_${statistic.key}`) : nothing();
    },
  }));
  if (all.some((d) => Array.isArray(d["axes"])))
    lines.push({
      name: "PC0's axis",
      note: "heads in which it is another one",
      key: "axes",
      cell: (d) => opener(d, (d["axes"] as HeadChange[] | undefined) ?? [], "axes", "class"),
    });
  return lines;
}
