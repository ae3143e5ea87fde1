import type { Context, Part } from "../context";
import { CLASSES } from "../data/classes";
import { CLASS, colourKey, coloring, parseColour, type Aspect } from "../data/coloring";
import { quantities, quantity, type Quantity } from "../data/quantities";
import type { Head } from "../data/run";
import { describeHead } from "../describe";
import { h } from "../dom";
import { number, ofPage } from "../data/source";
import { count, decimals } from "../format";
import { picker } from "../picker";
import { passes } from "../state";
import { tooltip } from "../tooltip";
import { card, checkpointOptions, select } from "../widgets";
import { offsetNote } from "./offset_note";

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
    // A gap where the next KV head's group begins.
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
  body.addEventListener("keydown", (event) => {
    const head = headOf(event.target);
    if (head === null) return;
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
    };
    const move = moves[event.key];
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
  });

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

  const aspects: Record<Aspect, string> = { value: "as it is", error: "standard error", change: "change since …" };
  const classes = { key: CLASS, name: "class", group: "", definition: "which of r_q and |r_k| follow position, on PC0" };
  const colour = picker("colour", [classes, ...quantities(run)], (key) =>
    store.update({ quantity: colourKey(quantity(run, key), parseColour(run, store.state.quantity).aspect) }),
  );
  const aspect = select(
    "shown",
    Object.entries(aspects).map(([value, text]) => ({ value, text })),
    (value) =>
      store.update({ quantity: colourKey(parseColour(run, store.state.quantity).quantity, value as Aspect) }),
  );
  const since = select("since", checkpointOptions(run, run.checkpoints), (value) => store.update({ since: Number(value) }));
  const legend = h("div", { class: "ramp-legend" });
  const offer = h("p", { class: "note offset-note" });
  const groups = new Set(run.heads.map((head) => head.kv_head)).size > 1;
  const marks = [
    run.heads.some((head) => head.rope === false) ? "◇ layer without RoPE" : "",
    groups ? "gaps: groups that share a KV head" : "",
    run.heads.length < layers.length * width ? "empty: not measured" : "",
  ].filter((text) => text);
  const element = card(
    "Heads",
    "One row per layer, one column per query head. Click or Enter opens a head, Shift-click or Space selects it.",
    h("div", { class: "toolbar" }, colour.element, aspect.element, since.element),
    offer,
    h("div", { class: "grid-scroll" }, body),
    legend,
    h("p", { class: "note" }, marks.join(" · ")),
  );

  function showLegend(): void {
    const colours = coloring(run, store.state);
    if (colours.isClass) {
      legend.replaceChildren(); // the portrait's names them
      return;
    }
    const [low, high] = colours.domain;
    const digits = Math.max(high - low <= 0.5 ? 2 : 1, Math.min(9, 1 - Math.floor(Math.log10(high - low))));
    const open = parseColour(run, store.state.quantity).quantity!;
    const limited = colours.aspect === "value" && low <= open.range[0] + 0.1 * (high - low) && high >= open.range[1] - 0.1 * (high - low);
    const lost = run.heads.filter(({ index }) => run.measured(store.state.at, index) && !colours.comparable(index)).length;
    const edge = limited ? ["", ""] : ["≤ ", "≥ "];
    legend.replaceChildren(
      h("span", { "data-scale": "" }, (low !== 0 ? edge[0] : "") + decimals(low, digits)),
      h("i", { class: "ramp", style: `background:linear-gradient(90deg,${colours.ramp.join(",")})` }),
      h("span", { "data-scale": "" }, edge[1] + decimals(high, digits)),
      h("span", { class: "muted" }, colours.name),
      ...(lost ? [incomparable(lost, colours.of!)] : []),
    );
  }

  /** What the cells without a colour are, and why. */
  function incomparable(heads: number, { statistic }: Quantity): HTMLElement {
    const why = statistic.on_pc0 ? "PC0 is another axis" : "a number per token, of another context";
    return h(
      "span",
      { class: "incomparable-key" },
      h("i", { class: "cell incomparable" }),
      "not comparable: ",
      number(ofPage("incomparable"), count(heads, "head")),
      `, ${why}`,
    );
  }

  return {
    element,
    render() {
      const { state } = store;
      const colours = coloring(run, state);
      const asked = parseColour(run, state.quantity);
      colour.show([asked.quantity?.key ?? CLASS]);
      aspect.input.value = asked.aspect;
      aspect.input.options[1].disabled = !asked.quantity?.statistic.error;
      since.input.value = String(state.since);
      since.element.hidden = asked.aspect !== "change";
      for (const [head, made] of cells) {
        const measured = run.measured(state.at, head);
        const colour = measured ? colours.colour(head) : null;
        const selected = state.selected.has(head);
        const look = [
          "cell",
          made.classList.contains("group-start") ? "group-start" : "",
          !measured ? "absent" : !colours.comparable(head) ? "incomparable" : colour === null ? "missing" : "",
          passes(run, state, head) ? "" : "out",
          selected ? "selected" : "",
          state.focus === head ? "focused" : "",
        ]
          .filter((name) => name)
          .join(" ");
        if (made.className !== look) made.className = look;
        const background = colour ?? "";
        if (made.style.getPropertyValue("--c") !== background) made.style.setProperty("--c", background);
        if (made.getAttribute("aria-selected") !== String(selected))
          made.setAttribute("aria-selected", String(selected));
        const value = colours.value(head);
        const text = !measured
          ? "not measured"
          : !colours.comparable(head)
            ? "not comparable"
            : colour === null
              ? "missing"
              : colours.isClass
              ? (CLASSES[value] ?? "no class")
              : `${colours.name} ${decimals(value, colours.digits)}`;
        const label = `Layer ${run.heads[head].layer}, head ${run.heads[head].q_head}: ${text}`;
        if (made.getAttribute("aria-label") !== label) made.setAttribute("aria-label", label);
      }
      showLegend();
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
