import type { Change, Difference, Leaf } from "./blob";
import { CLASSES } from "./classes";
import type { Checkpoint, Run } from "./run";

/** Numbers over heads that the page shows, by their keys in summary.json. */
export const STATISTICS = [
  { key: "mean_r_q", name: "mean r_q", hint: "queries with token position" },
  { key: "mean_r_k", name: "mean r_k", hint: "keys with token position, signed" },
  { key: "mean_abs_r_k", name: "mean |r_k|", hint: "keys, whatever the sign" },
  { key: "pc0_explained_variance", name: "variance of PC0", hint: "share of q and k together" },
] as const;

const NOTHING: Leaf = { value: null, se: null };

function isLeaf(value: unknown): value is Leaf {
  return typeof value === "object" && value !== null && "value" in value;
}

function mean(values: number[]): number | null {
  return values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length;
}

/** summary.json; without one, means of the table without standard errors. */
export class Summary {
  constructor(private readonly run: Run) {}

  get known(): boolean {
    return this.run.blob.summary !== null;
  }

  leaf(key: string, checkpoint: Checkpoint): Leaf {
    const group = this.run.blob.summary?.[key] as Record<string, unknown> | undefined;
    const found = group && Object.hasOwn(group, checkpoint.label) ? group[checkpoint.label] : undefined;
    return isLeaf(found) ? found : { value: this.fromTable(key, checkpoint), se: null };
  }

  share(name: string, checkpoint: Checkpoint): Leaf {
    const group = this.run.blob.summary?.taxonomy;
    const found = group && Object.hasOwn(group, checkpoint.label) ? group[checkpoint.label]?.[name] : undefined;
    if (isLeaf(found)) return found;
    const classes = this.run.heads.map((h) => this.run.classOf(checkpoint.index, h.index)).filter((c) => c >= 0);
    const wanted = CLASSES.indexOf(name as (typeof CLASSES)[number]);
    return { value: classes.length ? classes.filter((c) => c === wanted).length / classes.length : null, se: null };
  }

  entry(checkpoint: Checkpoint): Record<string, unknown> {
    return this.run.blob.summary?.checkpoints.find((entry) => entry["label"] === checkpoint.label) ?? {};
  }

  differences(): Difference[] {
    return this.run.blob.summary?.differences ?? [];
  }

  private fromTable(key: string, checkpoint: Checkpoint): number | null {
    const of: Record<string, (head: number) => number> = {
      mean_r_q: (h) => this.run.value("r_q", checkpoint.index, h),
      mean_r_k: (h) => this.run.value("r_k", checkpoint.index, h),
      mean_abs_r_k: (h) => Math.abs(this.run.value("r_k", checkpoint.index, h)),
      pc0_explained_variance: (h) => this.run.value("explained_variance", checkpoint.index, h),
    };
    const number = of[key];
    if (!number) return null;
    const counted = this.run.heads.filter((h) => this.run.classOf(checkpoint.index, h.index) >= 0);
    return mean(counted.map((h) => number(h.index)).filter((v) => !Number.isNaN(v)));
  }
}

export function change(difference: Difference, key: string): Change {
  const found = difference[key];
  return isLeaf(found) ? (found as Change) : { ...NOTHING, real: null };
}
