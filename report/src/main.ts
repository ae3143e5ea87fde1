import "./style/base.css";
import "./style/controls.css";
import "./style/charts.css";
import "./style/views.css";
import "./style/picker.css";
import "./style/print.css";
import type { Context, Part } from "./context";
import { readBlob } from "./data/blob";
import { Run } from "./data/run";
import { Summary } from "./data/summary";
import { number, ofPage } from "./data/source";
import { h } from "./dom";
import { bindAddress, readFragment } from "./link";
import { Store, VIEWS, type State, type View } from "./state";
import { printLine } from "./views/print_line";
import { watchPrinting } from "./print";
import { mode, onTheme, startTheme, toggleMode } from "./theme";
import { tooltip } from "./tooltip";
import { button } from "./widgets";
import { explore } from "./views/explore";
import { filters } from "./views/filters";
import { flow } from "./views/flow";
import { overview } from "./views/overview";
import { provenance } from "./views/provenance";
import { scrubber } from "./views/scrubber";
import { table } from "./views/table";

const NAMES: Record<View, string> = {
  overview: "Overview",
  explore: "Heads",
  flow: "Flow",
  table: "Table",
  provenance: "Provenance",
};
const MAKERS: Record<View, (context: Context) => Part> = { overview, explore, flow, table, provenance };
/** Views that time, filters and selection apply to. */
const CONTROLLED: View[] = ["explore", "flow", "table"];

function start(): void {
  startTheme();
  const run = new Run(readBlob());
  const store = new Store(readFragment(run, location.hash));
  const context: Context = { run, summary: new Summary(run), store };
  const title = run.blob.title || "Training run";
  document.title = `${title} · Ropewalk report`;

  const tabs = VIEWS.map((view) =>
    h(
      "a",
      {
        href: `#view=${view}`,
        class: "tab",
        onclick: (event: Event) => {
          event.preventDefault();
          store.update({ view });
        },
      },
      NAMES[view],
    ),
  );
  const theme = button("", toggleMode, { class: "button theme" });
  const header = h(
    "header",
    { class: "page-header" },
    h(
      "div",
      { class: "brand" },
      h("span", { class: "brand-mark", "aria-hidden": "true" }),
      h("div", {}, h("p", { class: "brand-name" }, "Ropewalk"), h("h1", { title }, title)),
    ),
    h("nav", { "aria-label": "Views" }, ...tabs),
    theme,
  );
  const paper = printLine(context);
  const time = scrubber(context);
  const which = filters(context);
  const controls = h(
    "div",
    { class: "controls", role: "region", "aria-label": "Checkpoint and filters" },
    time.element,
    which.element,
  );
  // Nothing that takes the focus is scrolled to below them.
  const makeRoom = () => document.documentElement.style.setProperty("--controls", `${controls.offsetHeight}px`);
  new ResizeObserver(makeRoom).observe(controls);
  const main = h("main", { id: "main", tabindex: "-1" });
  const app = document.getElementById("app")!;
  app.replaceChildren(
    h(
      "a",
      {
        class: "skip",
        href: "#main",
        onclick: (event: Event) => {
          event.preventDefault();
          main.focus();
        },
      },
      "Skip to content",
    ),
    header,
    paper.element,
    controls,
    main,
    h(
      "footer",
      { class: "page-footer" },
      "Written by Ropewalk ",
      number(ofPage("version"), run.blob.ropewalk),
      ". Everything on this page is in this file; nothing is loaded or sent.",
    ),
  );
  tooltip.attach();
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented && store.state.view === "explore") store.close();
  });

  const made = new Map<View, Part>();
  let shown: View | null = null;
  const render = (state: State, changed?: ReadonlySet<keyof State>) => {
    const same = shown === state.view;
    let part = made.get(state.view);
    if (!part) {
      part = MAKERS[state.view](context);
      made.set(state.view, part);
      main.append(part.element);
    }
    if (shown !== state.view) {
      for (const [view, other] of made) other.element.hidden = view !== state.view;
      tabs.forEach((tab, i) =>
        VIEWS[i] === state.view ? tab.setAttribute("aria-current", "page") : tab.removeAttribute("aria-current"),
      );
      controls.hidden = !CONTROLLED.includes(state.view);
      if (shown !== null) window.scrollTo(0, 0);
      shown = state.view;
      document.documentElement.dataset["view"] = state.view;
    }
    if (!controls.hidden) {
      time.render();
      which.render();
    }
    if (!same) makeRoom();
    paper.render();
    part.render(same ? changed : undefined);
  };
  const showTheme = () => {
    theme.textContent = mode() === "dark" ? "☀ Light" : "☾ Dark";
    theme.setAttribute("aria-label", mode() === "dark" ? "Light theme" : "Dark theme");
  };
  store.listen(render);
  onTheme(showTheme);
  onTheme(() => made.get(store.state.view)?.render());
  showTheme();
  watchPrinting();
  store.reveal = store.state.focus !== null && history.state === null;
  render(store.state);
  bindAddress(run, store);
  performance.mark("ropewalk-first-view");
}

start();
