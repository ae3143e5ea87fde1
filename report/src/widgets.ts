import { CLASSES } from "./data/classes";
import type { Checkpoint, Run } from "./data/run";
import { number, ofEntry } from "./data/source";
import { h } from "./dom";

export function button(
  text: string,
  onclick: (event: MouseEvent) => void,
  attributes: Record<string, unknown> = {},
): HTMLButtonElement {
  return h("button", { type: "button", class: "button", onclick, ...attributes }, text);
}

/** A label and a select; `read` receives the index of the chosen option. */
export function select(
  label: string,
  options: { value: string; text: string }[],
  onchange: (value: string) => void,
): { element: HTMLLabelElement; input: HTMLSelectElement } {
  const input = h(
    "select",
    { "aria-label": label, onchange: () => onchange(input.value) },
    ...options.map(({ value, text }) => h("option", { value }, text)),
  );
  return { element: h("label", { class: "field" }, h("span", {}, label), input), input };
}

export function checkpointOptions(run: Run, checkpoints: Checkpoint[]): { value: string; text: string }[] {
  const text = (c: Checkpoint) => [c.label, run.order.mark(c), c.baseline ? "(baseline)" : ""];
  return checkpoints.map((c) => ({ value: String(c.index), text: text(c).filter((part) => part).join(" ") }));
}

/** The label of a checkpoint, with its context where the run has several. */
export function checkpointName(run: Run, c: Checkpoint): (string | Node)[] {
  const mark = run.order.mark(c);
  return [c.label, ...(mark ? [" ", number(ofEntry(c, "context"), mark, { class: "muted" })] : [])];
}

/** A coloured mark and the class's name. */
export function classTag(classIndex: number): HTMLElement {
  if (classIndex < 0) return h("span", { class: "class-tag none" }, "no class");
  return h(
    "span",
    { class: "class-tag" },
    h("i", { class: "swatch", style: `background:var(--class-${classIndex})` }),
    CLASSES[classIndex],
  );
}

/** A column of a table whose rows become cards on a narrow page, where each cell has its name. */
export interface Column {
  name: string;
  definition?: string;
  look?: string;
}

export const columnHeads = (columns: Column[]): HTMLElement =>
  h("thead", {}, h("tr", {}, ...columns.map(({ name, definition, look }) => h("th", { scope: "col", class: look, "data-definition": definition }, name))));

export function row(attributes: Record<string, unknown>, columns: Column[], ...cells: HTMLElement[]): HTMLElement {
  cells.forEach((cell, i) => (cell.dataset.name = columns[i].name));
  return h("tr", attributes, ...cells);
}

/** A note below a title: a text, or parts of it. */
export type Note = string | (string | Node)[];

export function card(title: string, note: Note | null, ...children: (Node | null)[]): HTMLElement {
  const heading = h(
    "div",
    { class: "card-heading" },
    h("h2", {}, title),
    note ? h("p", { class: "note" }, ...(typeof note === "string" ? [note] : note)) : null,
  );
  return h("section", { class: "card", "aria-label": title }, heading, ...children);
}

/** More checkpoints than this are shown without gaps, or in a list that scrolls. */
export const MANY_CHECKPOINTS = 60;

/** One row per checkpoint. A long list is as high as the window at most, with the current checkpoint in the middle. */
export function checkpointScroller(label: string, checkpoints: number, child: HTMLElement): HTMLElement {
  const element = scroller(label, child);
  if (checkpoints <= MANY_CHECKPOINTS) return element;
  element.classList.add("tall");
  const once = new ResizeObserver(() => {
    if (!element.clientHeight) return;
    once.disconnect();
    const now = child.querySelector<HTMLElement>(".now");
    if (now) element.scrollTop = now.offsetTop - element.clientHeight / 2;
  });
  once.observe(element);
  return element;
}

/** A table that may be wider than the page: it scrolls on its own, also by keyboard. */
export function scroller(label: string, ...children: Node[]): HTMLElement {
  const element = h("div", { class: "scroller", role: "region", "aria-label": label }, ...children);
  const tell = () => {
    const rest = element.scrollWidth - element.clientWidth;
    const more = [element.scrollLeft > 1 ? "left" : "", element.scrollLeft < rest - 1 ? "right" : ""];
    const text = more.join(" ").trim();
    // The element gets keyboard focus only where it can be scrolled.
    if (rest > 1 || element.scrollHeight > element.clientHeight + 1) element.setAttribute("tabindex", "0");
    else element.removeAttribute("tabindex");
    if (element.dataset["more"] !== text) element.dataset["more"] = text;
  };
  element.addEventListener("scroll", tell, { passive: true });
  const watcher = new ResizeObserver(tell);
  watcher.observe(element);
  for (const child of children) watcher.observe(child as Element);
  return element;
}
