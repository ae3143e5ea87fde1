import { CLASSES } from "./data/classes";
import { quantity } from "./data/quantities";
import type { Run } from "./data/run";
import { offeredAxes } from "./data/time";
import { initialState, VIEWS, type RopeFilter, type State, type Store, type Trails, type View } from "./state";

// The fragment of the address: only what differs from the page's initial state.

function headKey(run: Run, head: number): string {
  return `${run.heads[head].layer}.${run.heads[head].q_head}`;
}

export function writeFragment(run: Run, state: State): string {
  const start = initialState(run);
  const out = new URLSearchParams();
  const label = (index: number) => run.checkpoints[index].label;
  out.set("view", state.view);
  if (state.at !== start.at) out.set("at", label(state.at));
  if (state.since !== start.since) out.set("since", label(state.since));
  if (state.axis !== start.axis) out.set("axis", state.axis);
  if (state.quantity !== start.quantity) out.set("colour", state.quantity);
  if (state.x !== start.x) out.set("x", state.x);
  if (state.y !== start.y) out.set("y", state.y);
  if (state.trails !== start.trails) out.set("trails", state.trails);
  if (state.focus !== null) out.set("head", headKey(run, state.focus));
  if (state.selected.size)
    out.set(
      "heads",
      [...state.selected]
        .sort((a, b) => a - b)
        .map((head) => headKey(run, head))
        .join("_"),
    );
  if (state.layers.join() !== start.layers.join()) out.set("layers", state.layers.join("-"));
  if (state.classes.size !== CLASSES.length) out.set("classes", [...state.classes].map((c) => CLASSES[c]).join("_"));
  if (state.rope !== start.rope) out.set("rope", state.rope);
  if (state.flowFrom !== start.flowFrom) out.set("from", label(state.flowFrom));
  if (state.flowTo !== start.flowTo) out.set("to", label(state.flowTo));
  if (state.flowCell) out.set("moved", state.flowCell.map((c) => CLASSES[c]).join("_"));
  if (state.sort !== start.sort) out.set("sort", state.sort);
  if (state.descending) out.set("order", "descending");
  if (state.search) out.set("search", state.search);
  if (state.component !== start.component) out.set("pc", String(run.components[state.component]));
  if (state.everyCheckpoint) out.set("rows", "every-checkpoint");
  if (state.columns) out.set("columns", state.columns.join("."));
  return out.toString();
}

function oneOf<T extends string>(value: string | null, allowed: readonly T[], otherwise: T): T {
  return allowed.includes(value as T) ? (value as T) : otherwise;
}

/** Everything that this run does not know gets its initial value. */
export function readFragment(run: Run, fragment: string): State {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const start = initialState(run);
  const checkpoint = (key: string, otherwise: number) =>
    run.checkpoints.find((c) => c.label === given.get(key))?.index ?? otherwise;
  const step = (key: string, otherwise: number) => {
    const found = run.checkpoints[checkpoint(key, otherwise)];
    return found.baseline ? otherwise : found.index;
  };
  const head = (key: string) => run.head(...(key.split(".").map(Number) as [number, number]));
  const layers = (given.get("layers") ?? "").split("-").map(Number);
  const classes = (given.get("classes") ?? "")
    .split("_")
    .map((name) => CLASSES.indexOf(name as (typeof CLASSES)[number]));
  const cell = (given.get("moved") ?? "").split("_").map((name) => CLASSES.indexOf(name as (typeof CLASSES)[number]));
  const component = run.components.indexOf(Number(given.get("pc") ?? NaN));
  const valid = (list: number[]) => list.length === 2 && list.every((n) => Number.isInteger(n) && n >= 0);
  return {
    view: oneOf<View>(given.get("view"), VIEWS, start.view),
    at: checkpoint("at", start.at),
    since: checkpoint("since", start.since),
    axis: oneOf(given.get("axis"), offeredAxes(run), start.axis),
    quantity: given.get("colour") ?? start.quantity,
    x: quantity(run, given.get("x") ?? "")?.key ?? start.x,
    y: quantity(run, given.get("y") ?? "")?.key ?? start.y,
    trails: oneOf<Trails>(given.get("trails"), ["none", "selected", "all"], start.trails),
    focus: head(given.get("head") ?? "")?.index ?? null,
    selected: new Set((given.get("heads") ?? "").split("_").flatMap((key) => head(key)?.index ?? [])),
    layers:
      valid(layers) && layers[0] <= layers[1]
        ? [Math.min(layers[0], run.lastLayer), Math.min(layers[1], run.lastLayer)]
        : start.layers,
    classes: given.has("classes") ? new Set(classes.filter((c) => c >= 0)) : start.classes,
    rope: oneOf<RopeFilter>(given.get("rope"), ["all", "rope", "nope"], start.rope),
    flowFrom: step("from", start.flowFrom),
    flowTo: step("to", start.flowTo),
    flowCell: valid(cell) ? [cell[0], cell[1]] : null,
    sort: given.get("sort") ?? start.sort,
    descending: given.get("order") === "descending",
    search: given.get("search") ?? "",
    component: component >= 0 ? component : start.component,
    everyCheckpoint: given.get("rows") === "every-checkpoint",
    columns: given.has("columns") ? (given.get("columns") ?? "").split(".").filter((key) => key) : null,
  };
}

/** The changes to which Back returns: another view, or a head's panel opened or closed. Other changes replace the entry. */
function isStep(before: State, after: State): boolean {
  return before.view !== after.view || (before.focus === null) !== (after.focus === null);
}

/** Keeps the address and the state equal, in both directions. Our history entries store the scroll position. */
export function bindAddress(run: Run, store: Store): void {
  let timer = 0;
  let written = store.state;
  const address = (state: State) => `#${writeFragment(run, state)}`;
  const keep = () => history.replaceState({ scroll: window.scrollY }, "", address(store.state));
  const keepSoon = () => {
    clearTimeout(timer);
    timer = window.setTimeout(keep, 120);
  };
  let scrolled = 0;
  store.listen((state) => {
    clearTimeout(timer);
    const arrived = address(readFragment(run, location.hash)) === address(state);
    if (isStep(written, state) && !arrived) {
      // The views have drawn and scrolled already, but the scroll event has not arrived yet.
      history.replaceState({ scroll: scrolled }, "", address(written));
      history.pushState({ scroll: window.scrollY }, "", address(state));
    } else {
      keepSoon();
    }
    written = state;
  });
  window.addEventListener("scroll", () => {
    scrolled = window.scrollY;
    keepSoon();
  });
  const arrive = () => {
    const ours = history.state as { scroll?: number } | null;
    const state = readFragment(run, location.hash);
    clearTimeout(timer); // its state belongs to the history entry that was left
    if (address(state) === address(store.state)) return;
    // A pasted link scrolls to its head; Back and Forward show the page as it was left.
    store.reveal = ours === null && state.focus !== null;
    store.update(state);
    if (ours !== null) requestAnimationFrame(() => window.scrollTo(0, ours.scroll ?? 0));
  };
  // "popstate" is handled at once, before anything can write the old state; "hashchange" is for browsers without it.
  window.addEventListener("popstate", arrive);
  window.addEventListener("hashchange", arrive);
  history.scrollRestoration = "manual";
  const before = history.state as { scroll?: number } | null;
  if (before?.scroll) window.scrollTo(0, before.scroll);
}
