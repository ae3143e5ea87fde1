import type { State } from "../state";
import { palette, ramp } from "../theme";
import { CLASSES } from "./classes";
import { quantities, quantity, type Quantity } from "./quantities";
import type { Run } from "./run";

/** A number itself, its standard error, or its change since another checkpoint. */
export type Aspect = "value" | "error" | "change";

export interface Coloring {
  name: string;
  isClass: boolean;
  aspect: Aspect;
  domain: [number, number];
  digits: number;
  value(head: number): number;
  /**
   * Whether a change of this head means anything: false where its axis is another one, or a number per token has
   * another context.
   */
  comparable(head: number): boolean;
  /** The quantity whose number is shown, for its source. */
  of: Quantity | null;
  /** Null: nothing is shown. */
  colour(head: number): string | null;
  ramp: string[];
}

export const CLASS = "class";
const CHANGE = "change_";

/** The meaning of a link's `colour`: a quantity's key, change_KEY, or the column of a standard error. */
export function parseColour(run: Run, colour: string): { quantity: Quantity | undefined; aspect: Aspect } {
  if (colour.startsWith(CHANGE)) return { quantity: quantity(run, colour.slice(CHANGE.length)), aspect: "change" };
  const found = quantity(run, colour);
  if (found) return { quantity: found, aspect: "value" };
  const error = quantities(run).find(({ statistic }) => statistic.error === colour);
  return { quantity: error, aspect: error ? "error" : "value" };
}

export function colourKey(wanted: Quantity | undefined, aspect: Aspect): string {
  if (aspect === "error" && wanted?.statistic.error) return wanted.statistic.error;
  const key = wanted?.key ?? CLASS;
  return aspect === "change" ? `${CHANGE}${key}` : key;
}

function byClass(run: Run, state: State, aspect: Aspect): Coloring {
  const colours = palette();
  const moved = (head: number) => run.classOf(state.since, head) !== run.classOf(state.at, head);
  return {
    name: aspect === "change" ? "class, where it changed" : "class",
    isClass: true,
    aspect,
    domain: [0, CLASSES.length - 1],
    digits: 0,
    value: (head) => run.classOf(state.at, head),
    comparable: () => true,
    of: null,
    colour: (head) => {
      const found = run.classOf(state.at, head);
      if (found < 0) return null;
      return aspect === "change" && !moved(head) ? "transparent" : colours.classes[found];
    },
    ramp: colours.classes,
  };
}

/** How heads are coloured now; an unknown quantity means the class. */
export function coloring(run: Run, state: State): Coloring {
  const { quantity: found, aspect } = parseColour(run, state.quantity);
  if (!found) return byClass(run, state, aspect);
  const colours = palette();
  const looks = {
    value: { name: found.name, domain: found.domain, ramp: found.ramp(colours) },
    error: {
      name: `standard error of ${found.statistic.title}`,
      domain: [0, found.largestError] as [number, number],
      ramp: colours.purples,
    },
    change: {
      name: `change of ${found.name}`,
      domain: [-found.change, found.change] as [number, number],
      ramp: colours.diverging,
    },
  };
  const look = looks[aspect];
  const { carried, per_token, on_pc0 } = found.statistic;
  const signed = on_pc0 && !found.reading.absolute;
  const context = (index: number) => run.order.context(run.checkpoints[index]);
  const otherUnit = per_token && context(state.since) !== context(state.at);
  const comparable = (head: number) =>
    aspect !== "change" || !(otherUnit || (signed && run.axisMoved(state.since, state.at, head)));
  // Signs of a change are carried along the run, as in changes.csv.
  const moving = (signed && carried ? quantity(run, carried) : undefined) ?? found;
  const value = (head: number) => {
    if (aspect === "error") return found.error(state.at, head);
    if (aspect === "value") return found.value(state.at, head);
    return comparable(head) ? moving.value(state.at, head) - moving.value(state.since, head) : NaN;
  };
  const [low, high] = look.domain;
  return {
    ...look,
    isClass: false,
    aspect,
    digits: found.digits,
    value,
    comparable,
    of: aspect === "change" ? moving : found,
    colour: (head) => {
      const number = value(head);
      return Number.isNaN(number) ? null : ramp(look.ramp, (number - low) / (high - low));
    },
  };
}
