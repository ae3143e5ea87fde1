import type { Context, Part } from "../context";
import { CLASSES } from "../data/classes";
import { coloring, type Coloring } from "../data/coloring";
import type { Head, Run } from "../data/run";
import { describeHead } from "../describe";
import { h } from "../dom";
import { decimals } from "../format";
import { passes } from "../state";
import { tooltip } from "../tooltip";
import { card } from "../widgets";
import { colourControls } from "./colour_controls";
import { gridLegend } from "./grid_legend";
import { offsetNote } from "./offset_note";

/** The rows and columns by which an arrow key moves. */
const MOVES: Record<string, [number, number]> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

/** Every head of the model, one row per layer, coloured by any quantity. */
export function grid(context: Context): Part {
  const { run, store } = context;
  const layers = [...new Set(run.heads.map((head) => head.layer))].sort((a, b) => a - b);
  const width = Math.max(...run.heads.map((head) => head.q_head)) + 1;
  const cells = new Map<number, HTMLElement>();
  let current = run.heads[0].index;

  const rows = layers.map((layer) => {
    const heads = run.heads.filter((head) => head.layer === layer);
    const nope = heads.some((head) => head.rope === false);
    const byHead = new Map(heads.map((head) => [head.q_head, head]));
    const row = h("div", { role: "row", class: "grid-row" }, rowName(layer, nope));
    for (let q = 0; q < width; ++q) row.append(cell(byHead.get(q), byHead.get(q - 1)));
    return row;
  });

  function cell(head: Head | undefined, left: Head | undefined): HTMLElement {
    // A gap marks the beginning of the next KV head's group.
    const starts = head !== undefined && left !== undefined && head.kv_head !== left.kv_head;
    const look = `cell${starts ? " group-start" : ""}`;
    if (!head) return h("span", { role: "gridcell", class: `${look} absent`, "aria-label": "not measured" });
    const made = h("span", {
      role: "gridcell",
      class: look,
      tabindex: head.index === current ? 0 : -1,
      "data-head": head.index,
    });
    cells.set(head.index, made);
    return made;
  }

  const body = h(
    "div",
    {
      class: "heads-grid",
      role: "grid",
      "aria-label": "Heads, one row per layer",
      "aria-multiselectable": "true",
      style: `--columns:${width};--rows:${layers.length}`,
    },
    ...rows,
  );
  body.addEventListener("click", (event) => {
    const head = headOf(event.target);
    if (head !== null) open(head, event.shiftKey || event.ctrlKey || event.metaKey);
  });
  body.addEventListener("pointermove", (event) => {
    const head = headOf(event.target);
    if (head === null) tooltip.hide();
    else tooltip.show(describeHead(run, store.state, head), event.clientX, event.clientY);
  });
  body.addEventListener("pointerleave", () => tooltip.hide());
  body.addEventListener("focusout", () => tooltip.hide());
  body.addEventListener("keydown", onKey);

  function onKey(event: KeyboardEvent): void {
    const head = headOf(event.target);
    if (head === null) return;
    const move = MOVES[event.key];
    if (move) {
      const next = neighbour(run.heads[head], move);
      if (next) goTo(next.index);
    } else if (event.key === "Enter") {
      open(head, event.shiftKey);
    } else if (event.key === " ") {
      open(head, true);
    } else {
      return;
    }
    event.preventDefault();
  }

  function headOf(target: EventTarget | null): number | null {
    const found = (target as Element | null)?.getAttribute?.("data-head");
    return found === null || found === undefined ? null : Number(found);
  }

  function neighbour(head: Head, [rowStep, columnStep]: [number, number]): Head | undefined {
    let layer = layers.indexOf(head.layer);
    let q = head.q_head;
    do {
      layer += rowStep;
      q += columnStep;
      const found = run.head(layers[layer], q);
      if (found) return found;
    } while (layer >= 0 && layer < layers.length && q >= 0 && q < width);
    return undefined;
  }

  function goTo(head: number): void {
    cells.get(current)?.setAttribute("tabindex", "-1");
    current = head;
    const target = cells.get(head)!;
    target.setAttribute("tabindex", "0");
    target.focus();
    const area = target.getBoundingClientRect();
    tooltip.show(describeHead(run, store.state, head), area.right, area.bottom);
  }

  function open(head: number, toggle: boolean): void {
    if (!toggle) {
      goTo(head);
      tooltip.hide();
      return store.open(head);
    }
    const selected = new Set(store.state.selected);
    if (!selected.delete(head)) selected.add(head);
    store.update({ selected });
  }

  const controls = colourControls(context);
  const legend = h("div", { class: "ramp-legend" });
  const offer = h("p", { class: "note offset-note" });
  const element = card(
    "Heads",
    "One row per layer, one column per query head. Click or Enter opens a head, Shift-click or Space selects it.",
    controls.element,
    offer,
    h("div", { class: "grid-scroll" }, body),
    legend,
    h("p", { class: "note" }, marksInWords(run, layers.length * width)),
  );

  return {
    element,
    render() {
      const { state } = store;
      const colours = coloring(run, state);
      controls.render();
      for (const [head, made] of cells) paint(context, colours, head, made);
      legend.replaceChildren(...gridLegend(run, state, colours));
      const note = offsetNote(context, run.checkpoints[state.at]);
      const kept = offer.contains(document.activeElement) ? document.activeElement!.getAttribute("data-key") : null;
      offer.replaceChildren(...note);
      if (kept) offer.querySelector<HTMLElement>(`[data-key="${kept}"]`)?.focus();
    },
  };
}

function rowName(layer: number, nope: boolean): HTMLElement {
  return h(
    "span",
    { role: "rowheader", class: "row-name", "aria-label": nope ? `Layer ${layer}, without RoPE` : `Layer ${layer}` },
    nope ? h("i", { class: "nope-mark" }, "◇") : null,
    String(layer),
  );
}

/** The meaning of the grid's signs, where it has any; `cells` is the number of cells that fit. */
function marksInWords(run: Run, cells: number): string {
  const groups = new Set(run.heads.map((head) => head.kv_head)).size > 1;
  return [
    run.heads.some((head) => head.rope === false) ? "◇ layer without RoPE" : "",
    groups ? "gaps: groups that share a KV head" : "",
    run.heads.length < cells ? "empty: not measured" : "",
  ]
    .filter((text) => text)
    .join(" · ");
}

/** The state of a head's cell at the current checkpoint. */
function standing({ run, store }: Context, colours: Coloring, head: number): "absent" | "incomparable" | "missing" | "" {
  if (!run.measured(store.state.at, head)) return "absent";
  if (!colours.comparable(head)) return "incomparable";
  return colours.colour(head) === null ? "missing" : "";
}

/** The CSS classes of a head's cell. */
function cellLook(context: Context, colours: Coloring, head: number, starts: boolean): string {
  const { run, store } = context;
  const { state } = store;
  return [
    "cell",
    starts ? "group-start" : "",
    standing(context, colours, head),
    passes(run, state, head) ? "" : "out",
    state.selected.has(head) ? "selected" : "",
    state.focus === head ? "focused" : "",
  ]
    .filter((name) => name)
    .join(" ");
}

const SAID = { absent: "not measured", incomparable: "not comparable", missing: "missing" };

/** The text of a head's cell. */
function cellLabel(context: Context, colours: Coloring, head: number): string {
  const { layer, q_head } = context.run.heads[head];
  const stands = standing(context, colours, head);
  const value = colours.value(head);
  const number = () => (colours.isClass ? (CLASSES[value] ?? "no class") : `${colours.name} ${decimals(value, colours.digits)}`);
  return `Layer ${layer}, head ${q_head}: ${stands ? SAID[stands] : number()}`;
}

/** Shows a head in its cell; unchanged attributes are not touched. */
function paint(context: Context, colours: Coloring, head: number, cell: HTMLElement): void {
  const { run, store } = context;
  const colour = run.measured(store.state.at, head) ? colours.colour(head) : null;
  const look = cellLook(context, colours, head, cell.classList.contains("group-start"));
  if (cell.className !== look) cell.className = look;
  const background = colour ?? "";
  if (cell.style.getPropertyValue("--c") !== background) cell.style.setProperty("--c", background);
  const selected = String(store.state.selected.has(head));
  if (cell.getAttribute("aria-selected") !== selected) cell.setAttribute("aria-selected", selected);
  const label = cellLabel(context, colours, head);
  if (cell.getAttribute("aria-label") !== label) cell.setAttribute("aria-label", label);
}
