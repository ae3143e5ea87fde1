import { CLASSES } from "./data/classes";
import type { Run } from "./data/run";
import { initialState, VIEWS, type RopeFilter, type State, type Store, type Trails, type View } from "./state";

// The address's fragment: only what differs from the page as it opens.

function headKey(run: Run, head: number): string {
  return `${run.heads[head].layer}.${run.heads[head].q_head}`;
}

export function writeFragment(run: Run, state: State): string {
  const start = initialState(run);
  const out = new URLSearchParams();
  const label = (place: number) => run.checkpoints[place].label;
  out.set("view", state.view);
  if (state.at !== start.at) out.set("at", label(state.at));
  if (state.since !== start.since) out.set("since", label(state.since));
  if (state.quantity !== start.quantity) out.set("colour", state.quantity);
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
  return out.toString();
}

function oneOf<T extends string>(value: string | null, allowed: readonly T[], otherwise: T): T {
  return allowed.includes(value as T) ? (value as T) : otherwise;
}

/** Anything that this run does not know falls back to how the page opens. */
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
    quantity: given.get("colour") ?? start.quantity,
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
  };
}

/** Keeps the address and the state in step, both ways. */
export function bindAddress(run: Run, store: Store): void {
  let timer = 0;
  const write = () => {
    const wanted = `#${writeFragment(run, store.state)}`;
    if (location.hash !== wanted) history.replaceState(null, "", wanted);
  };
  store.listen(() => {
    clearTimeout(timer);
    timer = window.setTimeout(write, 120);
  });
  window.addEventListener("hashchange", () => store.update(readFragment(run, location.hash)));
}
