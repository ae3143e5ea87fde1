import type { Context, Part } from "../context";
import { fileName, saveText } from "../download";
import { h } from "../dom";
import { count } from "../format";
import { button, card, classTag, scroller, select } from "../widgets";
import { csv, tableColumns, tableRows, type Row } from "./table_rows";

const PAGE = 50;

/** The table of heads: sorted, searched, and saved as CSV. */
export function table({ run, store }: Context): Part {
  const columns = tableColumns(run);
  let page = 0;
  let rows: Row[] = [];
  const search = h("input", {
    type: "search",
    placeholder: "layer 12, nope, mixed …",
    "aria-label": "Search",
    oninput: () => store.update({ search: search.value }),
  });
  const component = select(
    "component",
    run.components.map((pc, i) => ({ value: String(i), text: `PC${pc}` })),
    (value) => store.update({ component: Number(value) }),
  );
  const scope = select(
    "rows",
    [
      { value: "", text: "this checkpoint" },
      { value: "all", text: "every checkpoint" },
    ],
    (value) => store.update({ everyCheckpoint: value === "all" }),
  );
  const status = h("span", { class: "muted", role: "status" });
  const save = button("Download CSV", () => {
    const name = fileName(
      run.blob.title || "ropewalk",
      store.state.everyCheckpoint ? "heads" : run.checkpoints[store.state.at].label,
      `pc${run.components[store.state.component]}`,
    );
    saveText(`${name}.csv`, csv(run, rows, store.state.component), "text/csv");
  });
  const headers = columns.map((column) => {
    const sorter = button(
      column.name,
      () => {
        const { sort, descending } = store.state;
        store.update({ sort: column.key, descending: sort === column.key ? !descending : false });
      },
      { class: "sorter" },
    );
    return h("th", { scope: "col" }, sorter);
  });
  const body = h("tbody", {});
  const turn = (by: number) => () => {
    page += by;
    show();
  };
  const previous = button("← Previous", turn(-1));
  const next = button("Next →", turn(1));
  const place = h("span", { class: "muted" });

  function show(): void {
    const pages = Math.max(Math.ceil(rows.length / PAGE), 1);
    page = Math.min(Math.max(page, 0), pages - 1);
    const { focus, component: pc } = store.state;
    const made = rows.slice(page * PAGE, (page + 1) * PAGE).map((row) => {
      const cells = columns.map((column) => {
        if (column.key === "class") return h("td", {}, classTag(run.classOf(row.checkpoint, row.head)));
        const text = column.text(run, row, pc);
        if (column.key !== "q_head") return h("td", {}, text);
        const name = `Open layer ${run.heads[row.head].layer}, head ${text}`;
        return h(
          "td",
          {},
          button(text, () => store.update({ view: "explore", focus: row.head, at: row.checkpoint }), {
            class: "link",
            "aria-label": name,
          }),
        );
      });
      return h("tr", { class: row.head === focus ? "now" : "", "data-head": run.heads[row.head].name }, ...cells);
    });
    body.replaceChildren(...made);
    place.textContent = `page ${page + 1} of ${pages}`;
    previous.disabled = page === 0;
    next.disabled = page === pages - 1;
  }

  const grid = h("table", { class: "numbers heads-table" }, h("thead", {}, h("tr", {}, ...headers)), body);
  const element = card(
    "Table",
    "Filters and selection above apply; values ± standard error over documents.",
    h(
      "div",
      { class: "toolbar" },
      h("label", { class: "field" }, h("span", {}, "search"), search),
      component.element,
      scope.element,
      h("span", { class: "spring" }),
      status,
      save,
    ),
    scroller("Heads", grid),
    h("div", { class: "toolbar pager" }, previous, place, next),
  );
  return {
    element,
    render() {
      const { state } = store;
      if (search.value !== state.search) search.value = state.search;
      component.input.value = String(state.component);
      scope.input.value = state.everyCheckpoint ? "all" : "";
      columns.forEach((column, i) =>
        headers[i].setAttribute(
          "aria-sort",
          column.key !== state.sort ? "none" : state.descending ? "descending" : "ascending",
        ),
      );
      rows = tableRows(run, state);
      page = 0;
      status.textContent = count(rows.length, "row");
      show();
    },
  };
}
