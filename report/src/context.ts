import type { Run } from "./data/run";
import type { Summary } from "./data/summary";
import type { State, Store } from "./state";

/** The objects that every part of the page uses. */
export interface Context {
  run: Run;
  summary: Summary;
  store: Store;
}

/** Whether a part that depends on these keys has nothing new to draw. */
export function unmoved(changed: ReadonlySet<keyof State> | undefined, ...keys: (keyof State)[]): boolean {
  return changed !== undefined && !keys.some((key) => changed.has(key));
}

/** A part of the page: an element, and a function that draws the state. */
export interface Part {
  element: HTMLElement;
  /** Draws the state. `changed` has the keys that are new; without it all of them may be. */
  render(changed?: ReadonlySet<keyof State>): void;
}
