import type { Context } from "../context";
import type { Statistic } from "../data/blob";
import { groupOf, quantities } from "../data/quantities";
import type { Head } from "../data/run";
import { ofHead } from "../data/source";
import { h } from "../dom";
import { DASH, decimals, errorText, errorUnit } from "../format";
import { scroller } from "../widgets";

/** Every statistic of a head at the current checkpoint, in groups, each with its standard error and its 95 % interval. */
export function headNumbers({ run, summary, store }: Context, head: Head): HTMLElement {
  const { at } = store.state;
  const t95 = summary.entry(run.checkpoints[at])["t95"];
  const digits = new Map(quantities(run).map((one) => [one.statistic.key, one.digits]));
  const row = (statistic: Statistic) => {
    const value = run.value(statistic.key, at, head.index);
    const se = run.error(statistic, at, head.index);
    const fractionDigits = digits.get(statistic.key) ?? 3;
    const reach = typeof t95 === "number" ? t95 * se : NaN;
    // The error of a step function is in octaves, of which no interval of the value is made.
    const known = !Number.isNaN(value) && reach > 0 && !statistic.step;
    const unit = errorUnit(statistic);
    const from = ofHead(run, statistic, at, head.index);
    const { low, high } = statistic;
    const ends = [Math.max(value - reach, low ?? -Infinity), Math.min(value + reach, high ?? Infinity)];
    return h(
      "tr",
      { "data-statistic": statistic.key },
      h(
        "th",
        { scope: "row", "data-definition": statistic.definition },
        statistic.title,
        statistic.title === statistic.key ? null : h("code", {}, statistic.key),
      ),
      h("td", { "data-number": from }, decimals(value, fractionDigits)),
      h("td", { "data-number": statistic.error ? `${from.slice(0, -statistic.key.length)}${statistic.error}` : null }, Number.isNaN(value) || !se ? DASH : unit ? `${errorText(se, 2)} ${unit}` : errorText(se, fractionDigits)),
      h("td", { "data-number": `interval:${from}` }, known ? `${decimals(ends[0], fractionDigits)} to ${decimals(ends[1], fractionDigits)}` : DASH),
    );
  };
  const groups = [...new Set(run.statistics.map((one) => groupOf(one)))].map((group) => {
    const names = [group, "value", "± se", "95 % interval"];
    return scroller(
      `Numbers: ${group}`,
      h(
        "table",
        { class: "numbers all-numbers" },
        h("thead", {}, h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, ...run.statistics.filter((one) => groupOf(one) === group).map(row)),
      ),
    );
  });
  return h("div", { class: "number-groups" }, ...groups);
}
