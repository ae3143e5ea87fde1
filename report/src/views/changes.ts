import type { Context } from "../context";
import type { Change, Difference, HeadChange } from "../data/blob";
import { CLASSES } from "../data/classes";
import { change, changedHeads, means } from "../data/summary";
import { h } from "../dom";
import { DASH, errorText, signed } from "../format";
import { button, card, scroller } from "../widgets";

/** What changed between checkpoints, and whether it is more than chance of which documents were read. */
export function changes({ run, summary, store }: Context): HTMLElement | null {
  const all = summary.differences();
  if (all.length === 0) return null;
  const phaseOf = new Map(run.checkpoints.map((c) => [c.label, c.phase]));
  const crossing = all.filter((d) => phaseOf.get(d.from) !== phaseOf.get(d.to));
  const numbers = means(run);
  const listed = run.statistics.filter(({ changes: some }) => some);
  let every = crossing.length === 0;

  const cell = (found: Change, asPercent: boolean) => {
    if (found.value === null) return h("td", { class: "muted" }, DASH);
    const value = asPercent ? signed(100 * found.value, 1) : signed(found.value);
    const se = found.se === null ? "" : ` ± ${asPercent ? errorText(100 * found.se, 1) : errorText(found.se)}`;
    const verdict = found.real === null || found.real === undefined ? "" : found.real ? "real" : "within noise";
    const look = verdict === "real" ? (found.value > 0 ? "real up" : "real down") : "noise";
    return h(
      "td",
      { class: `change ${look}`, title: verdict },
      h("span", { class: "value" }, value),
      h("span", { class: "se" }, `${se}${asPercent ? " %" : ""}`),
      h("span", { class: "verdict" }, verdict),
    );
  };
  const heads = (difference: Difference, list: HeadChange[] | undefined, name: string) => {
    if (!list) return h("td", { class: "muted" }, DASH);
    if (list.length === 0) return h("td", { class: "muted" }, "0");
    const open = () => {
      const found = list.flatMap((head) => run.head(head.layer, head.q_head)?.index ?? []);
      const at = run.checkpoints.find((c) => c.label === difference.to)?.index ?? store.state.at;
      const since = run.checkpoints.find((c) => c.label === difference.from)?.index ?? store.state.since;
      store.update({ view: "explore", selected: new Set(found), at, since, quantity: `change_${name}` });
    };
    return h(
      "td",
      {},
      button(String(list.length), open, {
        class: "link",
        "aria-label": `Show ${list.length} heads whose ${name} changed from ${difference.from} to ${difference.to}`,
      }),
    );
  };
  const row = (difference: Difference) => {
    const [before, after] = [phaseOf.get(difference.from) ?? "", phaseOf.get(difference.to) ?? ""];
    return h(
      "tr",
      { class: before !== after ? "crossing" : "", "data-from": difference.from, "data-to": difference.to },
      h(
        "th",
        { scope: "row" },
        h("span", {}, `${difference.from} → ${difference.to}`),
        before !== after ? h("span", { class: "phase-change" }, `${before || DASH} → ${after || DASH}`) : null,
      ),
      ...numbers.map(({ key }) => cell(change(difference, key), false)),
      cell(difference.taxonomy?.[CLASSES[0]] ?? { value: null, se: null, real: null }, true),
      ...listed.map((statistic) => heads(difference, changedHeads(difference, statistic), statistic.key)),
    );
  };
  const body = h("tbody", {});
  const toggle = button(
    "",
    () => {
      every = !every;
      show();
    },
    { class: "button small" },
  );
  const show = () => {
    body.replaceChildren(...(every ? all : crossing).map(row));
    toggle.textContent = every ? "Only between phases" : "Every step";
  };
  show();
  const names = [
    ...numbers.map(({ name }) => name),
    CLASSES[0],
    ...listed.map(({ title }) => `heads, ${title}`),
  ];
  const table = h(
    "table",
    { class: "numbers changes" },
    h(
      "thead",
      {},
      h("tr", {}, h("th", { scope: "col" }, "from → to"), ...names.map((name) => h("th", { scope: "col" }, name))),
    ),
    body,
  );
  const paired = all.every((d) => d.paired === 1) ? " Both checkpoints of a pair read the same documents." : "";
  const rule = summary.changed;
  const how = rule
    ? `, at a false discovery rate of ${Number((100 * rule.max_q).toPrecision(3))} % and by at least ${rule.min_change}`
    : "";
  const made = card(
    "What changed",
    `Change ± standard error; real where it exceeds its 95 % interval over documents.${paired} Signs of r are carried along the run. The last columns count single heads that changed${how}.`,
    crossing.length ? h("div", { class: "toolbar" }, toggle) : null,
    scroller("What changed between checkpoints", table),
  );
  return made;
}
