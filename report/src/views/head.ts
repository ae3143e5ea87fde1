import { timeChart, type Series } from "../charts/time_chart";
import { componentsChart } from "../charts/components_chart";
import { unmoved, type Context, type Part } from "../context";
import { CLASSES } from "../data/classes";
import type { Statistic } from "../data/blob";
import type { Head } from "../data/run";
import { parseColour } from "../data/coloring";
import { quantities } from "../data/quantities";
import { ranked } from "../data/flags";
import { ticks } from "../data/scale";
import { number, ofHead } from "../data/source";
import { shown } from "../data/summary";
import { h } from "../dom";
import { decimals, withError } from "../format";
import { button, card, checkpointName, checkpointScroller, classTag, MANY_CHECKPOINTS, scroller } from "../widgets";
import { care } from "./care";
import { composition } from "./composition";
import { headNumbers } from "./head_numbers";
import { headSeries } from "./head_series";
import { shownColumns } from "./table_rows";

/** The button around it says the same in words. */
function decoration(drawing: SVGSVGElement): SVGSVGElement {
  drawing.removeAttribute("role");
  drawing.removeAttribute("aria-label");
  drawing.setAttribute("aria-hidden", "true");
  return drawing;
}

/** Width of a drawing whose letters keep their size on a narrow screen. */
function roomFor(most: number): number {
  return Math.max(280, Math.min(most, innerWidth - 56));
}

/** One head: its way through training, its curves and rotary pairs, its components, its class history, and heads that share its keys. */
export function headDetail(context: Context): Part {
  const { run, store } = context;
  const element = h("div", { class: "head-detail", role: "region", "aria-labelledby": "head-title" });

  const alongSomething = headSeries(context);
  const along = run.models ? "by model" : "over training";
  const series = (head: number, markers: boolean): Series[] => [
    {
      name: "queries",
      markers,
      value: (c) => run.value("r_q", c, head),
      error: (c) => (markers ? run.value("r_q_se", c, head) : NaN),
      breaks: (c) => run.axisChanged(c, head),
      limits: [-1, 1],
    },
    {
      name: "keys",
      markers,
      value: (c) => run.value("r_k", c, head),
      error: (c) => (markers ? run.value("r_k_se", c, head) : NaN),
      breaks: (c) => run.axisChanged(c, head),
      limits: [-1, 1],
    },
  ];
  const trajectory = (head: Head, width: number, height: number, small: boolean) =>
    timeChart(run, {
      label: `r_q and r_k of layer ${head.layer}, head ${head.q_head} ${along}`,
      axis: store.state.axis,
      domain: [-1.05, 1.05],
      ticks: small ? [-1, 0, 1] : [-1, -0.5, 0, 0.5, 1],
      rules: [-run.high, -run.low, run.low, run.high],
      series: series(head.index, !small),
      width,
      height,
      at: store.state.at,
      labels: !small,
    });

  function history(head: Head): HTMLElement {
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

  function numbers(head: Head): HTMLElement {
    // Those that the reader chose for the table.
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

  /** The number that colours the grid, over training, where the first chart does not show it. */
  function coloured(head: Head): HTMLElement | null {
    const { quantity: found } = parseColour(run, store.state.quantity);
    if (!found || ["r_q", "r_k"].includes(found.statistic.key)) return null;
    const look = found.reading.hue === "both" ? "variance" : found.reading.hue;
    return h(
      "figure",
      { class: "coloured" },
      h("figcaption", { "data-definition": found.definition }, found.name),
      timeChart(run, {
        label: `${found.name} of layer ${head.layer}, head ${head.q_head} ${along}`,
        axis: store.state.axis,
        domain: found.range,
        ticks: ticks(...found.range, 4),
        series: [
          {
            name: look,
            markers: true,
            value: (c) => found.value(c, head.index),
            error: (c) => found.error(c, head.index),
            breaks: (c) => found.statistic.on_pc0 && run.axisChanged(c, head.index),
            limits: [found.statistic.low ?? -Infinity, found.statistic.high ?? Infinity],
          },
        ],
        width: roomFor(960),
        height: 220,
        at: store.state.at,
      }),
    );
  }

  function components(head: Head): HTMLElement {
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

  function siblings(head: Head): HTMLElement | null {
    const group = run.siblings(head);
    if (group.length < 2) return null;
    const tiles = group.map((other) => {
      const classIndex = run.classOf(store.state.at, other.index);
      const tile = h(
        "button",
        {
          type: "button",
          class: `sibling${other === head ? " now" : ""}`,
          "aria-pressed": String(other === head),
          "data-key": `sibling ${other.index}`,
          onclick: () => store.update({ focus: other.index }),
        },
        h("span", { class: "sibling-name" }, `head ${other.q_head}`),
        classTag(classIndex),
        decoration(trajectory(other, 240, 130, true)),
        h(
          "span",
          { class: "muted" },
          ...["r_q", "r_k"].flatMap((key, i) => {
            const from = ofHead(run, { key, table: "components" }, store.state.at, other.index);
            return [`${i ? " · " : ""}${key} `, number(from, decimals(run.value(key, store.state.at, other.index)))];
          }),
        ),
      );
      return tile;
    });
    return card(
      "Siblings",
      `Query heads of layer ${head.layer} that read KV head ${head.kv_head}: the same keys, other queries.`,
      h("div", { class: "siblings" }, ...tiles),
    );
  }

  return {
    element,
    render(changed) {
      if (unmoved(changed, "focus", "at", "axis", "quantity", "columns")) return;
      const { focus, at } = store.state;
      element.hidden = focus === null;
      if (focus === null) return element.replaceChildren();
      const head = run.heads[focus];
      const classIndex = run.measured(at, focus) ? run.classOf(at, focus) : -1;
      const facts = [
        head.rope === null ? "" : head.rope ? "RoPE" : "layer without RoPE",
        head.kv_head === null ? "" : `KV head ${head.kv_head}`,
      ].filter((t) => t);
      const heading = h(
        "div",
        { class: "head-heading" },
        h("h2", { id: "head-title", tabindex: "-1" }, `Layer ${head.layer}, head ${head.q_head}`),
        classTag(classIndex),
        h("span", { class: "muted" }, facts.join(" · ")),
        h("span", { class: "spring" }),
        button("Close", () => store.close(), { title: "Esc" }),
      );
      const here = run.checkpoints[at].label;
      const legend = h(
        "p",
        { class: "note series-legend" },
        h("i", { class: "dot queries" }),
        "r_q",
        h("i", { class: "square keys" }),
        "r_k",
        h("span", {}, "· bars: ±1 standard error over documents"),
        run.steps.some(({ index }) => run.axisChanged(index, focus))
          ? h("span", { class: "named" }, "·", h("i", { class: "line-key broken" }), "hollow, dashed: the axis changed, no sign goes across")
          : null,
      );
      const sibling = siblings(head);
      // A link in the panel that is pressed must keep the focus when the panel is drawn anew.
      const kept = element.contains(document.activeElement)
        ? (document.activeElement as HTMLElement).getAttribute("data-key")
        : null;
      element.replaceChildren(
        heading,
        ...[care(context, head)].flatMap((part) => part ?? []),
        card(
          run.models ? "By model" : "Over training",
          null,
          legend,
          trajectory(head, roomFor(960), 320, false),
          coloured(head),
          history(head),
          numbers(head),
        ),
        ...alongSomething(head),
        ...[composition(context, head)].flatMap((part) => part ?? []),
        card("Numbers", `Everything that was measured of this head at ${here}.`, headNumbers(context, head)),
        card(
          "Components",
          `At ${here}: variance of each component and how far queries and keys follow position along it.`,
          components(head),
        ),
        ...(sibling ? [sibling] : []),
      );
      if (kept)
        for (const made of element.querySelectorAll("button")) if (made.getAttribute("data-key") === kept) made.focus();
      if (store.reveal) {
        store.reveal = false;
        element.scrollIntoView();
        element.querySelector<HTMLElement>("#head-title")!.focus({ preventScroll: true });
      }
    },
  };
}
