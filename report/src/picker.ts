import { ofPage } from "./data/source";
import { h } from "./dom";
import { button } from "./widgets";

export interface Choice {
  key: string;
  name: string;
  group: string;
  definition: string;
}

export interface Picker {
  element: HTMLElement;
  /** Shows the choice: one key, or in a picker of several any number. */
  show(chosen: readonly string[]): void;
}

let made = 0;

/** A picker of several: the text of its button, and the elements below the list. */
export interface Several {
  text: (chosen: number) => string;
  extra: HTMLElement[];
}

/** The options of a list, in groups. */
function optionList(id: string, label: string, choices: Choice[], several: boolean) {
  const options = choices.map((choice, i) =>
    h(
      "li",
      { role: "option", id: `${id}-${i}`, class: "picker-option", "data-key": choice.key, "data-index": i },
      h("span", {}, choice.name),
      choice.name === choice.key ? null : h("code", {}, choice.key),
    ),
  );
  const groups = [...new Set(choices.map(({ group }) => group))].map((group) => {
    const members = options.filter((_, i) => choices[i].group === group);
    const title = h("div", { class: "picker-group", "aria-hidden": "true" }, group);
    return { members, element: h("ul", { role: "group", "aria-label": group || label }, group ? title : null, ...members) };
  });
  const list = h(
    "div",
    {
      id: `${id}-list`,
      class: "picker-list",
      role: "listbox",
      "aria-label": label,
      ...(several ? { "aria-multiselectable": "true" } : {}),
    },
    ...groups.map(({ element }) => element),
  );
  return { options, groups, list };
}

/** The elements of a picker, without their behaviour. */
function elements(label: string, choices: Choice[], several: Several | undefined) {
  const id = `picker-${++made}`;
  const value = h("span", { class: "picker-value", "data-number": several ? ofPage("columns") : null });
  const opener = h(
    "button",
    { type: "button", class: "button picker-button", "aria-haspopup": "listbox", "aria-expanded": "false" },
    value,
  );
  const search = h("input", {
    type: "search",
    role: "combobox",
    "aria-label": `Search: ${label}`,
    "aria-expanded": "true",
    "aria-controls": `${id}-list`,
    "aria-autocomplete": "list",
    placeholder: "Search",
    autocomplete: "off",
  });
  const { options, groups, list } = optionList(id, label, choices, several !== undefined);
  const none = h("p", { class: "note picker-none", hidden: true }, "No statistic has this name.");
  const definition = h("p", { class: "picker-definition note", role: "status" });
  const extra = several ? h("div", { class: "toolbar" }, ...several.extra) : null;
  const box = h("div", { class: "picker-box", hidden: true }, search, list, none, definition, extra);
  const element = h("div", { class: "field picker" }, h("span", { "aria-hidden": "true" }, label), opener, box);
  return { value, opener, search, options, groups, list, none, definition, box, element };
}

/**
 * A button that opens a list in groups with a search; the definition of the current option is below it. `several`: a
 * press adds or removes one, and the list stays open.
 */
export function picker(
  label: string,
  choices: Choice[],
  pick: (key: string) => void,
  several?: Several,
): Picker {
  const { value, opener, search, options, groups, list, none, definition, box, element } = elements(label, choices, several);
  let chosen: readonly string[] = [];
  let active = 0;

  const visible = () => options.flatMap((option, i) => (option.hidden ? [] : i));

  function point(to: number, scroll = true): void {
    options[active]?.classList.remove("active");
    active = to;
    const option = options[active];
    if (!option || option.hidden) {
      search.removeAttribute("aria-activedescendant");
      definition.textContent = "";
      return;
    }
    option.classList.add("active");
    search.setAttribute("aria-activedescendant", option.id);
    definition.textContent = choices[active].definition;
    if (scroll) option.scrollIntoView({ block: "nearest" });
  }

  function filter(): void {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word);
    options.forEach((option, i) => {
      const { key, name, group, definition: meaning } = choices[i];
      const text = `${key} ${name} ${group} ${meaning}`.toLowerCase();
      option.hidden = !words.every((word) => text.includes(word));
    });
    for (const group of groups) group.element.hidden = group.members.every((option) => option.hidden);
    none.hidden = visible().length > 0;
    if (words.length || options[active]?.hidden) point(visible()[0] ?? 0);
  }

  function open(): void {
    box.hidden = false;
    opener.setAttribute("aria-expanded", "true");
    search.value = "";
    filter();
    // The height that remains for the list in the window, above the definition and the buttons.
    const below = innerHeight - list.getBoundingClientRect().top - (several ? 120 : 80);
    const fixed = getComputedStyle(box).position === "fixed";
    list.style.maxHeight = `${fixed ? innerHeight / 2 : Math.min(Math.max(below, 150), 340)}px`;
    point(Math.max(choices.findIndex(({ key }) => key === chosen[0]), 0));
    search.focus({ preventScroll: true });
  }

  function close(back: boolean): void {
    if (box.hidden) return;
    box.hidden = true;
    opener.setAttribute("aria-expanded", "false");
    if (back) opener.focus();
  }

  function take(index: number): void {
    if (!choices[index] || options[index].hidden) return;
    pick(choices[index].key);
    if (!several) close(true);
  }

  opener.addEventListener("click", () => (box.hidden ? open() : close(true)));
  search.addEventListener("input", filter);
  function onKey(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      event.preventDefault();
      return close(true);
    }
    if (event.target !== search) return;
    const indexes = visible();
    const here = indexes.indexOf(active);
    const goals: Record<string, number> = { ArrowDown: here + 1, ArrowUp: here - 1, PageDown: here + 8, PageUp: here - 8 };
    if (event.key in goals) {
      const goal = indexes[Math.min(Math.max(goals[event.key], 0), indexes.length - 1)];
      if (goal !== undefined) point(goal);
    } else if (event.key === "Enter") {
      take(active);
    } else {
      return;
    }
    event.preventDefault();
  }

  box.addEventListener("keydown", onKey);
  const indexOf = (target: EventTarget | null) => {
    const found = (target as Element | null)?.closest?.("[data-index]")?.getAttribute("data-index");
    return found === null || found === undefined ? -1 : Number(found);
  };
  list.addEventListener("pointermove", (event) => {
    const index = indexOf(event.target);
    if (index >= 0 && index !== active) point(index, false);
  });
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus in the search field
  list.addEventListener("click", (event) => take(indexOf(event.target)));
  element.addEventListener("focusout", (event) => {
    if (!element.contains(event.relatedTarget as Node | null)) close(false);
  });

  return {
    element,
    show(wanted) {
      chosen = wanted;
      const only = choices.find(({ key }) => key === wanted[0]);
      const text = several ? several.text(wanted.length) : (only?.name ?? "–");
      if (value.textContent !== text) value.textContent = text;
      opener.setAttribute("aria-label", `${label}: ${text}`);
      if (!several && only?.definition) opener.setAttribute("data-definition", only.definition);
      else opener.removeAttribute("data-definition");
      options.forEach((option, i) => option.setAttribute("aria-selected", String(wanted.includes(choices[i].key))));
    },
  };
}

/** A button below the list of a picker of several. */
export function pickerButton(text: string, act: () => void): HTMLButtonElement {
  return button(text, act, { class: "button small" });
}
