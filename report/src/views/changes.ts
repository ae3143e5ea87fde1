import type { Context } from "../context";
import type { Difference } from "../data/blob";
import type { Checkpoint, Run } from "../data/run";
import { number, ofEntry } from "../data/source";
import { h } from "../dom";
import { DASH } from "../format";
import { isPrinting, onPrint } from "../print";
import { button, card, scroller, type Note } from "../widgets";
import { headLines, meanLines, type Line } from "./change_lines";

/** Steps side by side on a printed page. */
const PRINTED_STEPS = 4;
/** Up to so many steps are shown even if no phase begins among them. */
const FEW_STEPS = 8;

const checkpointOf = (run: Run, label: string) => run.checkpoints.find((c) => c.label === label);
const phaseOf = (run: Run, label: string) => checkpointOf(run, label)?.phase ?? "";

/** A name that no line breaks. */
const label = (text: string) => h("span", { class: "unbroken", title: text }, text);

/** Of the column of a step: its checkpoints, and where they differ in phase or context. */
function heading({ run }: Context, { from, to }: Difference, whole: boolean): HTMLElement {
  const [before, after] = [phaseOf(run, from), phaseOf(run, to)];
  const both = [from, to].flatMap((label) => checkpointOf(run, label) ?? []);
  const contexts = both.map((c) => run.order.context(c)).filter((tokens) => tokens);
  const context = (c: Checkpoint) => number(ofEntry(c, "context"), String(run.order.context(c)));
  return h(
    "th",
    { scope: "col", class: before !== after ? "crossing" : "", "data-from": from, "data-to": to },
    h("span", {}, h("span", { class: "with-arrow" }, label(from), " →"), " ", label(to)),
    whole ? h("span", { class: "phase-change" }, "the whole run") : null,
    before !== after && !whole ? h("span", { class: "phase-change" }, `${before || DASH} → ${after || DASH}`) : null,
    contexts.length === 2 && contexts[0] !== contexts[1]
      ? h("span", { class: "phase-change" }, "context ", context(both[0]), " → ", context(both[1]))
      : null,
  );
}

/** What changed between checkpoints, and whether it is more than an effect of the choice of documents. */
export function changes(context: Context): HTMLElement | null {
  const { run, summary } = context;
  const all = summary.differences();
  if (all.length === 0) return null;
  const whole = summary.wholeRun();
  const first = whole ? [whole] : [];
  const crossing = all.filter((d) => phaseOf(run, d.from) !== phaseOf(run, d.to) || d.kind === "context");
  const short = [...first, ...crossing];
  let every = short.length === 0 || (crossing.length === 0 && all.length <= FEW_STEPS);
  const groups = [meanLines(context), headLines(context)];
  const tableOf = (steps: Difference[]) => {
    const row = ({ name, note, key, cell }: Line) =>
      h(
        "tr",
        { "data-line": key },
        h("th", { scope: "row" }, name, note ? h("span", { class: "phase-change" }, note) : null),
        ...steps.map(cell),
      );
    const head = h("tr", {}, h("th", { scope: "col" }, "change of"), ...steps.map((step) => heading(context, step, step === whole)));
    const bodies = groups.map((lines) => h("tbody", {}, ...lines.map(row)));
    return h("table", { class: "numbers changes" }, h("thead", {}, head), ...bodies);
  };
  const holder = h("div", {});
  const show = () => {
    const steps = every ? [...first, ...all] : short;
    const width = isPrinting() ? PRINTED_STEPS : steps.length;
    const tables: HTMLElement[] = [];
    for (let from = 0; from < steps.length; from += width) tables.push(tableOf(steps.slice(from, from + width)));
    holder.replaceChildren(...tables);
    toggle.textContent = !every ? "Every step" : crossing.length ? "Only between phases" : "Only the whole run";
  };
  const turn = () => {
    every = !every;
    show();
  };
  const toggle = button("", turn, { class: "button small" });
  onPrint(show, show);
  show();
  return card(
    "What changed",
    rules(context, [...first, ...all]),
    short.length && all.length > crossing.length ? h("div", { class: "toolbar" }, toggle) : null,
    scroller("What changed between checkpoints", holder),
  );
}

/** The meaning of "real" and "changed", with the limits in the summary. */
function rules({ run, summary: { changed } }: Context, all: Difference[]): Note {
  const parts = [
    "Change of each mean ± standard error; real where its 95 % interval over documents excludes zero, and the two rows of a signed mean agree in sign.",
    all.every((d) => d.paired === 1) ? " Both checkpoints of a step read the same documents." : "",
    run.order.mixed ? " Class and r depend on the context: where it grows, the context may be the reason for a change." : "",
  ];
  const limits = changed
    ? [
        " A head changed where its false discovery rate is at most ",
        number("summary.json::changed.max_q", `${Number((100 * changed.max_q).toPrecision(3))} %`),
        " and its change at least ",
        number("summary.json::changed.min_change", String(changed.min_change)),
        " of the spread over heads.",
      ]
    : [];
  return [parts.join(""), ...limits, " Click a number of heads to see them."];
}
