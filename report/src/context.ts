import type { Run } from "./data/run";
import type { Summary } from "./data/summary";
import type { Store } from "./state";

/** What every part of the page works with. */
export interface Context {
  run: Run;
  summary: Summary;
  store: Store;
}

/** A part of the page: an element, and how it follows the state. */
export interface Part {
  element: HTMLElement;
  /** Draws the state; called when it changed, or when the part comes into view. */
  render(): void;
}
