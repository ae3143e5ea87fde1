import { splitLabel } from "./label";
import type { Checkpoint } from "./run";

/**
 * The order of a run's checkpoints: the steps of changes.csv (analysis/run/run_order.h). Without checkpoints at several
 * contexts, each follows the one before. With them, each context is a run of its own. Independent models have no steps.
 */
export class Order {
  /** Whether any checkpoint has several contexts. */
  readonly several: boolean;
  /** Whether the run has checkpoints at different contexts, on which r and classes depend. */
  readonly mixed: boolean;
  /** Checkpoints that a line joins. Where two steps lead from one checkpoint, it is in two lines. */
  readonly lines: Checkpoint[][] = [];
  private readonly before = new Map<Checkpoint, Checkpoint>();

  /** `contexts`: by label, as summary.json states them. */
  constructor(
    checkpoints: Checkpoint[],
    private readonly contexts: ReadonlyMap<string, number>,
    private readonly models = false,
  ) {
    this.several = checkpoints.some((c) => this.labelled(c));
    this.mixed = new Set(checkpoints.map((c) => this.context(c)).filter((context) => context)).size > 1;
    const steps = checkpoints.filter((c) => !c.baseline);
    steps.forEach((c, i) => {
      const from = this.stepFrom(c, steps.slice(0, i).reverse());
      if (from) this.before.set(c, from);
      const line = from && this.lines.find((one) => one[one.length - 1] === from);
      if (line) line.push(c);
      else this.lines.push(from ? [from, c] : [c]);
    });
  }

  /** Tokens per document; 0: unknown. */
  context(c: Checkpoint): number {
    return this.contexts.get(c.label) ?? splitLabel(c.label).context;
  }

  /** "@1024", to follow a label that does not state it, where contexts differ; else empty. */
  mark(c: Checkpoint): string {
    return this.mixed && this.context(c) && !this.labelled(c) ? `@${this.context(c)}` : "";
  }

  /** The phase, with its context where the run has several: "LC 1K→2K @512". */
  phase(c: Checkpoint): string {
    const context = this.several && this.context(c) ? `@${this.context(c)}` : "";
    return [c.phase, context].filter((text) => text).join(" ");
  }

  /** The checkpoints of its line, from the first one to this one. */
  wayTo(c: Checkpoint): Checkpoint[] {
    const way = [c];
    for (let from = this.before.get(c); from; from = this.before.get(from)) way.unshift(from);
    return way;
  }

  private labelled(c: Checkpoint): boolean {
    const { context } = splitLabel(c.label);
    return context > 0 && context === this.context(c);
  }

  private stepFrom(to: Checkpoint, earlier: Checkpoint[]): Checkpoint | undefined {
    const name = (c: Checkpoint) => (this.labelled(c) ? splitLabel(c.label).name : c.label);
    if (this.models) return undefined;
    if (!this.several) return earlier[0];
    const same = earlier.find((from) => this.context(from) === this.context(to) && name(from) !== name(to));
    return same ?? (this.labelled(to) ? undefined : earlier[0]);
  }
}
