import type { Run } from "./data/run";
import type { Summary } from "./data/summary";
import type { State, Store } from "./state";

/** What every part of the page works with. */
export interface Context {
  run: Run;
  summary: Summary;
  store: Store;
}

/** Whether a part that depends on these has nothing new to draw. */
export function unmoved(changed: ReadonlySet<keyof State> | undefined, ...keys: (keyof State)[]): boolean {
  return changed !== undefined && !keys.some((key) => changed.has(key));
}

/** A part of the page: an element, and how it follows the state. */
export interface Part {
  element: HTMLElement;
  /** Draws the state. `changed` is what is new in it; without it everything may be. */
  render(changed?: ReadonlySet<keyof State>): void;
}
