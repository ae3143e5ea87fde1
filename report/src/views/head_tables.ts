import { componentsChart } from "../charts/components_chart";
import type { Context } from "../context";
import type { Statistic } from "../data/blob";
import { CLASSES } from "../data/classes";
import { ranked } from "../data/flags";
import { quantities } from "../data/quantities";
import type { Head } from "../data/run";
import { ofHead } from "../data/source";
import { shown } from "../data/summary";
import { h } from "../dom";
import { errorUnit, withError } from "../format";
import { button, checkpointName, checkpointScroller, classTag, MANY_CHECKPOINTS, scroller } from "../widgets";
import { shownColumns } from "./table_rows";

/** The class of a head at each checkpoint, as buttons that go to the checkpoint. */
export function classHistory({ run, store }: Context, head: Head): HTMLElement {
  const steps = run.checkpoints.map((c) => {
    const classIndex = run.measured(c.index, head.index) ? run.classOf(c.index, head.index) : -1;
    const text = `${c.label}: ${classIndex < 0 ? "no class" : CLASSES[classIndex]}`;
    const made = button("", () => store.update({ at: c.index }), {
      class: `history-step${c.index === store.state.at ? " now" : ""}${classIndex < 0 ? " none" : ""}${c.baseline ? " baseline" : ""}`,
      "data-key": `step ${c.index}`,
      "aria-label": text,
      title: text,
      style: classIndex < 0 ? "" : `--c:var(--class-${classIndex})`,
    });
    return h("li", {}, made);
  });
  return h("ol", { class: `history${run.checkpoints.length > MANY_CHECKPOINTS ? " many" : ""}`, "aria-label": "Class at each checkpoint" }, ...steps);
}

/** The numbers of a head at each checkpoint. */
export function numbersOverTraining({ run, store }: Context, head: Head): HTMLElement {
  // The columns that the reader chose for the table.
  const chosen = new Set(shownColumns(run, store.state).map(({ key }) => key));
  const every = [...shown(run.statistics), ...run.statistics.filter(({ per }) => per === "head")];
  const columns = every.filter(({ key }) => chosen.has(key));
  const digits = new Map(quantities(run).map((one) => [one.statistic.key, one.digits]));
  const rows = run.checkpoints.map((c) => {
    const pair = (statistic: Statistic) =>
      h(
        "td",
        { "data-number": ofHead(run, statistic, c.index, head.index) },
        withError(
          run.value(statistic.key, c.index, head.index),
          run.error(statistic, c.index, head.index),
          digits.get(statistic.key),
          errorUnit(statistic),
        ),
      );
    const flags = ranked(run, run.flags(c.index, head.index)).map(({ name }) => name);
    return h(
      "tr",
      { class: c.index === store.state.at ? "now" : "", "data-checkpoint": c.label },
      h("th", { scope: "row" }, ...checkpointName(run, c), c.baseline ? h("span", { class: "muted" }, " baseline") : null),
      h("td", { class: "text" }, run.measured(c.index, head.index) ? classTag(run.classOf(c.index, head.index)) : "not measured"),
      h("td", { class: "text flag" }, flags.join(", ")),
      ...columns.map(pair),
    );
  });
  const titles = columns.map(({ title, shares, definition }) =>
    h("th", { scope: "col", "data-definition": definition }, shares ? `PC0 ${title}` : title),
  );
  const plain = (name: string, look: string | null = null) => h("th", { scope: "col", class: look }, name);
  return checkpointScroller(
    "Numbers of this head at each checkpoint",
    run.checkpoints.length,
    h(
      "table",
      { class: "numbers head-numbers" },
      h("thead", {}, h("tr", {}, plain(run.models ? "model" : "checkpoint"), plain("class", "text"), plain("flags", "text"), ...titles)),
      h("tbody", {}, ...rows),
    ),
  );
}

/** The components of a head at the current checkpoint, as a drawing and as a table. */
export function components({ run, store }: Context, head: Head): HTMLElement {
  const { at } = store.state;
  const columns = run.statistics.filter(({ per }) => per === "component");
  const rows = run.components.map((pc, i) => {
    const pair = (statistic: Statistic) =>
      h(
        "td",
        { "data-number": ofHead(run, statistic, at, head.index, i) },
        withError(run.value(statistic.key, at, head.index, i), run.error(statistic, at, head.index, i)),
      );
    return h("tr", {}, h("th", { scope: "row" }, `PC${pc}`), ...columns.map(pair));
  });
  const table = h(
    "table",
    { class: "numbers component-numbers" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("td", {}),
        ...columns.map(({ title, definition }) => h("th", { scope: "col", "data-definition": definition }, title)),
      ),
    ),
    h("tbody", {}, ...rows),
  );
  return h(
    "div",
    { class: "pair" },
    componentsChart(run, at, head.index),
    scroller("Numbers of each component", table),
  );
}
