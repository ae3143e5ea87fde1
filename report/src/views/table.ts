import type { Context, Part } from "../context";
import { parseSearch } from "../data/search";
import { fileName, saveText } from "../download";
import { h } from "../dom";
import { number, ofPage } from "../data/source";
import { count } from "../format";
import { picker, pickerButton } from "../picker";
import { isPrinting, onPrint } from "../print";
import { button, card, classTag, scroller, select } from "../widgets";
import { csv, FIXED, shownColumns, tableColumns, tableRows, type Column, type Row } from "./table_rows";

const PAGE = 50;
const MOST_PRINTED = 2000;
const isText = ({ key }: Column) => ["checkpoint", "class", "flag"].includes(key);

/** The table of heads: sorted, searched, and saved as CSV. */
export function table({ run, store }: Context): Part {
  let columns: Column[] = [];
  let page = 0;
  let rows: Row[] = [];
  const input = h("input", {
    type: "search",
    placeholder: "3.2, r_q > 0.7, nope mixed …",
    title: "Heads (3.2, L3H2, layer 3), numbers (r_q > 0.7, 0.3 < r_k <= 0.7), words (nope, mixed), or",
    "aria-label": "Search",
    oninput: () => store.update({ search: input.value }),
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
  const problem = h("p", { class: "notice", role: "status", hidden: true });
  const save = button(
    "Download CSV",
    () => {
      const { everyCheckpoint, at } = store.state;
      const name = fileName(run.blob.title || "ropewalk", everyCheckpoint ? "heads" : run.checkpoints[at].label);
      saveText(`${name}.csv`, csv(run, rows), "text/csv");
    },
    { "data-definition": "These rows in the format of qk.csv, with all components; figures and report can read the file" },
  );
  const take = button("Select heads", () =>
    store.update({ view: "explore", selected: new Set(rows.map((row) => row.head)) }),
  );
  const all = tableColumns(run).filter(({ key }) => !FIXED.includes(key));
  const chosenKeys = () => shownColumns(run, store.state).map(({ key }) => key);
  const which = picker(
    "columns",
    all,
    (key) => {
      const now = chosenKeys();
      store.update({ columns: now.includes(key) ? now.filter((one) => one !== key) : [...now, key] });
    },
    {
      text: (n) => `${n} of ${all.length + FIXED.length}`,
      extra: [
        pickerButton("Usual", () => store.update({ columns: null })),
        pickerButton("All", () => store.update({ columns: all.map(({ key }) => key) })),
      ],
    },
  );
  const header = (column: Column) => {
    const sorter = button(
      column.name,
      () => {
        const { sort, descending } = store.state;
        store.update({ sort: column.key, descending: sort === column.key ? !descending : false });
      },
      { class: "sorter", "data-definition": column.definition },
    );
    return h("th", { scope: "col", class: isText(column) ? "text" : "", "data-column": column.key }, sorter);
  };
  const head = h("tr", {});
  const body = h("tbody", {});
  const turn = (by: number) => () => {
    page += by;
    show();
  };
  const previous = button("← Previous", turn(-1));
  const next = button("Next →", turn(1));
  const pageText = h("span", { class: "muted" });

  function show(): void {
    const pages = Math.max(Math.ceil(rows.length / PAGE), 1);
    page = Math.min(Math.max(page, 0), pages - 1);
    const { focus, component: pc } = store.state;
    const part = isPrinting() ? rows.slice(0, MOST_PRINTED) : rows.slice(page * PAGE, (page + 1) * PAGE);
    cut.replaceChildren(number(ofPage("rows"), `The first ${MOST_PRINTED.toLocaleString("en")} of ${count(rows.length, "row")}.`));
    cut.hidden = rows.length <= MOST_PRINTED;
    const made = part.map((row) => {
      const cells = columns.map((column) => {
        if (column.key === "class")
          return h("td", { class: "text" }, classTag(run.classOf(row.checkpoint, row.head)));
        const text = column.text(run, row, pc);
        const from = column.from?.(run, row, pc);
        if (column.key !== "q_head") return h("td", { class: isText(column) ? `text ${column.key}` : null, "data-number": from }, text);
        const name = `Open layer ${run.heads[row.head].layer}, head ${text}`;
        return h(
          "td",
          { "data-number": from },
          button(text, () => store.open(row.head, { view: "explore", at: row.checkpoint }), {
            class: "link",
            "aria-label": name,
          }),
        );
      });
      return h("tr", { class: row.head === focus ? "now" : "", "data-head": run.heads[row.head].name }, ...cells);
    });
    body.replaceChildren(...made);
    pageText.replaceChildren(number(ofPage("table"), `page ${page + 1} of ${pages}`));
    previous.disabled = page === 0;
    next.disabled = page === pages - 1;
  }

  const grid = h("table", { class: "numbers heads-table" }, h("thead", {}, head), body);
  const cut = h("p", { class: "note print-only" });
  const element = card(
    "Table",
    "Filters and selection above apply; values ± standard error over documents.",
    h(
      "div",
      { class: "toolbar" },
      h("label", { class: "field" }, h("span", {}, "search"), input),
      component.element,
      scope.element,
      which.element,
      h("span", { class: "spring" }),
      status,
      take,
      save,
    ),
    problem,
    scroller("Heads", grid),
    cut,
    h("div", { class: "toolbar pager" }, previous, pageText, next),
  );
  const whole = () => {
    if (store.state.view === "table") show();
  };
  onPrint(whole, whole);
  return {
    element,
    render() {
      const { state } = store;
      if (input.value !== state.search) input.value = state.search;
      component.input.value = String(state.component);
      scope.input.value = state.everyCheckpoint ? "all" : "";
      const wanted = shownColumns(run, state);
      if (wanted.map(({ key }) => key).join() !== columns.map(({ key }) => key).join()) {
        columns = wanted;
        head.replaceChildren(...columns.map(header));
      }
      which.show(columns.map(({ key }) => key));
      columns.forEach((column, i) =>
        head.children[i].setAttribute(
          "aria-sort",
          column.key !== state.sort ? "none" : state.descending ? "descending" : "ascending",
        ),
      );
      const search = parseSearch(run, state.search);
      problem.textContent = search.problem ?? "";
      problem.hidden = search.problem === null;
      rows = tableRows(run, state, search);
      take.disabled = rows.length === 0;
      page = 0;
      status.replaceChildren(number(ofPage("rows"), count(rows.length, "row")));
      show();
    },
  };
}
