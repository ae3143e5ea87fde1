import { CLASSES } from "./data/classes";
import type { Run } from "./data/run";
import { initialAxis, type TimeAxisName } from "./data/time";

export const VIEWS = ["overview", "explore", "flow", "table", "provenance"] as const;
export type View = (typeof VIEWS)[number];
export type Trails = "none" | "selected" | "all";
export type RopeFilter = "all" | "rope" | "nope";

/** Everything that a link to a finding must contain. Checkpoints, heads and components are indexes in the run. */
export interface State {
  view: View;
  at: number;
  since: number;
  /** How checkpoints are arranged over training. */
  axis: TimeAxisName;
  /** The quantity that colours heads; see data/coloring.ts. */
  quantity: string;
  /** Quantities on the axes of the portrait. */
  x: string;
  y: string;
  trails: Trails;
  focus: number | null;
  selected: ReadonlySet<number>;
  layers: [number, number];
  classes: ReadonlySet<number>;
  rope: RopeFilter;
  flowFrom: number;
  flowTo: number;
  flowCell: [number, number] | null;
  sort: string;
  descending: boolean;
  search: string;
  component: number;
  everyCheckpoint: boolean;
  /** Columns of the table; null: the default ones. */
  columns: readonly string[] | null;
}

export type Listener = (state: State, changed: ReadonlySet<keyof State>) => void;

export function initialState(run: Run): State {
  const last = run.steps[run.steps.length - 1].index;
  const previous = run.steps[Math.max(run.steps.length - 2, 0)].index;
  return {
    view: "overview",
    at: last,
    since: run.steps[0].index,
    axis: initialAxis(run),
    quantity: "class",
    x: "r_q",
    y: "r_k",
    trails: "selected",
    focus: null,
    selected: new Set(),
    layers: [0, run.lastLayer],
    classes: new Set(CLASSES.keys()),
    rope: "all",
    flowFrom: previous,
    flowTo: last,
    flowCell: null,
    sort: "layer",
    descending: false,
    search: "",
    component: Math.max(run.components.indexOf(0), 0),
    everyCheckpoint: false,
    columns: null,
  };
}

/** Holds the state; tells listeners once per frame what changed. */
export class Store {
  private readonly listeners: Listener[] = [];
  private pending = new Set<keyof State>();
  private scheduled = false;
  /** Whether the run is playing: then heads move smoothly from checkpoint to checkpoint. */
  playing = false;
  /** Whether the panel of the open head is to be scrolled into view, once. */
  reveal = false;
  private opener: Element | null = null;

  constructor(public state: State) {}

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  update(patch: Partial<State>): void {
    for (const key of Object.keys(patch) as (keyof State)[]) {
      if (this.state[key] !== patch[key]) this.pending.add(key);
    }
    if (this.pending.size === 0) return;
    this.state = { ...this.state, ...patch };
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => this.flush());
  }

  /** Opens a head's panel, even if it is open: it scrolls into view and takes the focus. */
  open(head: number, patch: Partial<State> = {}): void {
    this.opener = document.activeElement;
    this.reveal = true;
    this.pending.add("focus");
    this.update({ ...patch, focus: head });
  }

  /** Closes the panel; the focus returns to the element that opened it, or to the head's cell. */
  close(): void {
    const { focus } = this.state;
    if (focus === null) return;
    const { opener } = this;
    this.opener = null;
    this.update({ focus: null });
    this.flush();
    const back = opener instanceof HTMLElement && opener !== document.body && opener.offsetParent ? opener : null;
    (back ?? document.querySelector<HTMLElement>(`.cell[data-head="${focus}"]`))?.focus();
  }

  flush(): void {
    this.scheduled = false;
    const changed = this.pending;
    this.pending = new Set();
    for (const listener of this.listeners) listener(this.state, changed);
  }
}

/** Whether a head passes the filters at the current checkpoint. */
export function passes(run: Run, state: State, head: number, checkpoint = state.at): boolean {
  const { layer, rope } = run.heads[head];
  if (layer < state.layers[0] || layer > state.layers[1]) return false;
  if (state.rope !== "all" && rope !== (state.rope === "rope")) return false;
  if (state.classes.size === CLASSES.length) return true;
  return state.classes.has(run.classOf(checkpoint, head));
}

/** The heads that are shown: those that pass the filters, and of these only the selected ones if there are any. */
export function chosen(run: Run, state: State): number[] {
  const passing = run.heads.map((head) => head.index).filter((head) => passes(run, state, head));
  return state.selected.size === 0 ? passing : passing.filter((head) => state.selected.has(head));
}
