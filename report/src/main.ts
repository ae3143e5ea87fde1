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
/** Views to which time, filters and selection apply. */
const CONTROLLED: View[] = ["explore", "flow", "table"];

function tab(view: View, store: Store): HTMLElement {
  const onclick = (event: Event) => {
    event.preventDefault();
    store.update({ view });
  };
  return h("a", { href: `#view=${view}`, class: "tab", onclick }, NAMES[view]);
}

function pageHeader(title: string, tabs: HTMLElement[], theme: HTMLElement): HTMLElement {
  return h(
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
}

function skipLink(main: HTMLElement): HTMLElement {
  const onclick = (event: Event) => {
    event.preventDefault();
    main.focus();
  };
  return h("a", { class: "skip", href: "#main", onclick }, "Skip to content");
}

function pageFooter(version: string): HTMLElement {
  return h(
    "footer",
    { class: "page-footer" },
    "Written by Ropewalk ",
    number(ofPage("version"), version),
    ". Everything on this page is in this file; nothing is loaded or sent.",
  );
}

function themeButton(): HTMLElement {
  const made = button("", toggleMode, { class: "button theme" });
  const show = () => {
    made.textContent = mode() === "dark" ? "☀ Light" : "☾ Dark";
    made.setAttribute("aria-label", mode() === "dark" ? "Light theme" : "Dark theme");
  };
  onTheme(show);
  show();
  return made;
}

/** Time and filters, above the views to which they apply. */
class Controls {
  readonly element: HTMLElement;
  private readonly parts: Part[];

  constructor(context: Context) {
    this.parts = [scrubber(context), filters(context)];
    this.element = h(
      "div",
      { class: "controls", role: "region", "aria-label": "Checkpoint and filters" },
      ...this.parts.map(({ element }) => element),
    );
    new ResizeObserver(() => this.makeRoom()).observe(this.element);
  }

  /** Sets the scroll margin, so that elements with the focus are not hidden below the controls. */
  makeRoom(): void {
    document.documentElement.style.setProperty("--controls", `${this.element.offsetHeight}px`);
  }

  render(): void {
    if (this.element.hidden) return;
    for (const part of this.parts) part.render();
  }
}

/** The views, each made when it is first shown. */
class Views {
  private readonly made = new Map<View, Part>();
  private shown: View | null = null;

  constructor(
    private readonly context: Context,
    private readonly main: HTMLElement,
    private readonly tabs: HTMLElement[],
    private readonly controls: Controls,
  ) {}

  /** Returns whether this view was shown before. */
  show(view: View): boolean {
    if (!this.made.has(view)) {
      const part = MAKERS[view](this.context);
      this.made.set(view, part);
      this.main.append(part.element);
    }
    if (this.shown === view) return true;
    for (const [other, { element }] of this.made) element.hidden = other !== view;
    this.tabs.forEach((one, i) =>
      VIEWS[i] === view ? one.setAttribute("aria-current", "page") : one.removeAttribute("aria-current"),
    );
    this.controls.element.hidden = !CONTROLLED.includes(view);
    if (this.shown !== null) window.scrollTo(0, 0);
    this.shown = view;
    document.documentElement.dataset["view"] = view;
    return false;
  }

  render(changed?: ReadonlySet<keyof State>): void {
    if (this.shown !== null) this.made.get(this.shown)?.render(changed);
  }
}

function start(): void {
  startTheme();
  const run = new Run(readBlob());
  const store = new Store(readFragment(run, location.hash));
  const context: Context = { run, summary: new Summary(run), store };
  const title = run.blob.title || "Training run";
  document.title = `${title} · Ropewalk report`;

  const tabs = VIEWS.map((view) => tab(view, store));
  const header = pageHeader(title, tabs, themeButton());
  const paper = printLine(context);
  const controls = new Controls(context);
  const main = h("main", { id: "main", tabindex: "-1" });
  document
    .getElementById("app")!
    .replaceChildren(skipLink(main), header, paper.element, controls.element, main, pageFooter(run.blob.ropewalk));
  tooltip.attach();
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented && store.state.view === "explore") store.close();
  });

  const views = new Views(context, main, tabs, controls);
  const render = (state: State, changed?: ReadonlySet<keyof State>) => {
    const same = views.show(state.view);
    controls.render();
    if (!same) controls.makeRoom();
    paper.render();
    views.render(same ? changed : undefined);
  };
  store.listen(render);
  onTheme(() => views.render());
  watchPrinting();
  store.reveal = store.state.focus !== null && history.state === null;
  render(store.state);
  bindAddress(run, store);
  performance.mark("ropewalk-first-view");
}

start();
