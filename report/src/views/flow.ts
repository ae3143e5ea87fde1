import { alluvial } from "../charts/alluvial";
import type { Context, Part } from "../context";
import { CLASSES } from "../data/classes";
import { number } from "../data/source";
import { h } from "../dom";
import { count } from "../format";
import { passes } from "../state";
import { button, card, checkpointOptions, classTag, scroller, select } from "../widgets";

/** How heads move between the classes. */
export function flow({ run, store }: Context): Part {
  const picture = scroller("Flow of classes, drawn");
  const matrix = h("div", {});
  const list = h("div", { class: "head-list" });
  const from = select("from", checkpointOptions(run, run.steps), (value) =>
    store.update({ flowFrom: Number(value), flowCell: null }),
  );
  const to = select("to", checkpointOptions(run, run.steps), (value) =>
    store.update({ flowTo: Number(value), flowCell: null }),
  );
  const single = run.steps.length < 2 || run.models;
  const element = h(
    "div",
    { class: "flow" },
    card(
      "Flow of classes",
      single
        ? run.models
          ? "Columns are models. Models do not share heads, so nothing flows between them."
          : "One checkpoint: nothing flows yet."
        : `Columns are checkpoints, bands are heads that keep or change their class. Click a band to list its heads.${run.order.several ? " Each context is a run of its own: no band leads from one to another." : ""}`,
      picture,
    ),
    single
      ? null
      : card(
          "Moves between two checkpoints",
          "Rows: class before. Columns: class after. The number of heads; press one for the list.",
          h("div", { class: "toolbar" }, from.element, to.element),
          matrix,
          list,
        ),
  );

  const members = () =>
    run.heads
      .map((head) => head.index)
      .filter((head) => {
        const { layers, rope } = store.state;
        return passes(run, { ...store.state, classes: new Set(CLASSES.keys()), layers, rope }, head);
      });
  const moved = (before: number, after: number, a: number, b: number) =>
    members().filter((head) => run.classOf(before, head) === a && run.classOf(after, head) === b);

  function showMatrix(): void {
    const { flowFrom, flowTo, flowCell } = store.state;
    const from = (move: string) => `count:qk.csv:${run.checkpoints[flowFrom].label} → ${run.checkpoints[flowTo].label}:${move}`;
    const header = h(
      "tr",
      {},
      h("td", {}),
      ...CLASSES.map((_, i) => h("th", { scope: "col" }, classTag(i))),
      h("th", { scope: "col" }, "all"),
    );
    const rows = CLASSES.map((name, a) => {
      const counts = CLASSES.map((_, b) => moved(flowFrom, flowTo, a, b).length);
      const cells = counts.map((n, b) => {
        const on = flowCell !== null && flowCell[0] === a && flowCell[1] === b;
        const made = button(String(n), () => store.update({ flowCell: on ? null : [a, b] }), {
          class: `move${a === b ? " stay" : ""}${n === 0 ? " zero" : ""}`,
          "aria-pressed": String(on),
          disabled: n === 0,
          "aria-label": `${count(n, "head")} from ${name} to ${CLASSES[b]}`,
        });
        return h("td", { "data-number": from(`${name} → ${CLASSES[b]}`) }, made);
      });
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, classTag(a)),
        ...cells,
        h("td", { class: "total", "data-number": from(`${name} → all`) }, String(counts.reduce((x, y) => x + y, 0))),
      );
    });
    const kept = document.activeElement?.getAttribute("aria-label");
    const inside = matrix.contains(document.activeElement);
    matrix.replaceChildren(
      scroller(
        "Transition matrix",
        h("table", { class: "numbers matrix" }, h("thead", {}, header), h("tbody", {}, ...rows)),
      ),
    );
    if (inside && kept)
      for (const made of matrix.querySelectorAll("button")) if (made.getAttribute("aria-label") === kept) made.focus();
  }

  function showList(): void {
    const { flowFrom, flowTo, flowCell } = store.state;
    if (!flowCell) return list.replaceChildren(h("p", { class: "note" }, "Press a number above to list its heads."));
    const heads = moved(flowFrom, flowTo, ...flowCell);
    const open = (head: number) => store.open(head, { view: "explore", at: flowTo });
    list.replaceChildren(
      h(
        "div",
        { class: "toolbar" },
        h(
          "strong",
          {},
          number(
            `count:qk.csv:${run.checkpoints[flowFrom].label} → ${run.checkpoints[flowTo].label}:${CLASSES[flowCell[0]]} → ${CLASSES[flowCell[1]]}`,
            count(heads.length, "head"),
          ),
          `: ${CLASSES[flowCell[0]]} → ${CLASSES[flowCell[1]]}`,
        ),
        button("Select them", () => store.update({ view: "explore", selected: new Set(heads), at: flowTo })),
      ),
      h(
        "ul",
        { class: "chips" },
        ...heads.map((head) =>
          h(
            "li",
            {},
            button(run.heads[head].name, () => open(head), { class: "chip" }),
          ),
        ),
      ),
    );
  }

  return {
    element,
    render() {
      const { state } = store;
      from.input.value = String(state.flowFrom);
      to.input.value = String(state.flowTo);
      picture.replaceChildren(
        alluvial(run, members(), state, (a, b, cell) => store.update({ flowFrom: a, flowTo: b, flowCell: cell })),
      );
      if (single) return;
      showMatrix();
      showList();
    },
  };
}
