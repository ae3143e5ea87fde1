import type { Change, Difference, HeadChange, Leaf, StatisticView, Statistic, SummaryBlob, TopHead } from "./blob";
import { CLASSES } from "./classes";
import { read } from "./quantities";
import type { Checkpoint, Run } from "./run";
import { ofSummary } from "./source";

/** Statistics of components in the order of the page: those with a list of changes come first. */
export function shown(statistics: Statistic[]): Statistic[] {
  const found = statistics.filter(({ per }) => per === "component");
  return [...found.filter(({ changes }) => changes), ...found.filter(({ changes }) => !changes)];
}

/** A mean over heads that the page shows. */
export interface Mean {
  /** Its key in summary.json. */
  key: string;
  name: string;
  hint: string;
  statistic: Statistic;
  reading: StatisticView;
}

/** The most important numbers of heads.csv. Means of the others are in the figures and in summary.json. */
const READ_FIRST = ["r2cv_q", "r2cv_k", "logit_pos_share"];

/** The means that the overview shows: the most important ones, then others without a sign, then those with one. */
export function means(run: Run): Mean[] {
  const found = allMeans(run).filter(({ statistic: { table, key } }) => table !== "heads" || READ_FIRST.includes(key));
  // Numbers without a sign come first: they do not depend on the orientation of an axis.
  const rank = ({ statistic, reading }: Mean) =>
    statistic.table === "heads" ? 0 : !statistic.changes ? 2 : reading.absolute ? 1 : 3;
  return found.sort((a, b) => rank(a) - rank(b));
}

/** The means of every statistic that the run has. */
function allMeans(run: Run): Mean[] {
  return run.statistics.flatMap((statistic) =>
    statistic.readings
      .filter(({ mean }) => mean)
      .map((reading) => ({ key: reading.mean, name: reading.mean_name, hint: reading.hint, statistic, reading })),
  );
}

const NOTHING: Leaf = { value: null, se: null };

function isLeaf(value: unknown): value is Leaf {
  return typeof value === "object" && value !== null && "value" in value;
}

function mean(values: number[]): number | null {
  return values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length;
}

/** The 95 % interval (Wilson 1927) for a share of `n` heads whose ± would exceed 0 or 1, or that has no error. */
function withInterval(share: Leaf, n: number): Leaf {
  const { value, se } = share;
  if (value === null || n === 0 || (se === null && share.low === undefined)) return share;
  if (se !== null && value - 2 * se >= 0 && value + 2 * se <= 1) return share;
  const z2 = 1.959963984540054 ** 2 / n;
  const middle = (value + z2 / 2) / (1 + z2);
  const half = Math.sqrt(z2 * (value * (1 - value) + z2 / 4)) / (1 + z2);
  return { value, se: null, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

/** summary.json; without this file, means computed from the table, without standard errors. */
export class Summary {
  constructor(private readonly run: Run) {}

  get known(): boolean {
    return this.run.blob.summary !== null;
  }

  /** The rule for changed heads; undefined: the file does not state it. */
  get changed(): SummaryBlob["changed"] {
    return this.run.blob.summary?.changed;
  }

  leaf(key: string, checkpoint: Checkpoint): Leaf {
    const group = this.run.blob.summary?.[key] as Record<string, unknown> | undefined;
    const found = group && Object.hasOwn(group, checkpoint.label) ? group[checkpoint.label] : undefined;
    return isLeaf(found) ? found : { value: this.fromTable(key, checkpoint), se: null };
  }

  /** The source of a mean: the summary, or else the table. */
  from(key: string, checkpoint: Checkpoint): string {
    const group = this.run.blob.summary?.[key] as Record<string, unknown> | undefined;
    if (group && Object.hasOwn(group, checkpoint.label)) return ofSummary(checkpoint, key);
    const found = allMeans(this.run).find((m) => m.key === key);
    const file = found?.statistic.table === "heads" ? "heads.csv" : "qk.csv";
    return `mean:${file}:${checkpoint.label}:${found?.reading.key ?? key}`;
  }

  shareFrom(name: string, checkpoint: Checkpoint): string {
    const group = this.run.blob.summary?.taxonomy;
    const stated = group && Object.hasOwn(group, checkpoint.label);
    return stated ? ofSummary(checkpoint, `taxonomy.${name}`) : `share:qk.csv:${checkpoint.label}:class=${name}`;
  }

  /** The first heads to look at; query heads that share the changed keys are one entry. */
  topHeads(count: number): TopHead[] {
    return (this.run.blob.summary?.top_heads ?? []).slice(0, count);
  }

  share(name: string, checkpoint: Checkpoint): Leaf {
    const group = this.run.blob.summary?.taxonomy;
    const found = group && Object.hasOwn(group, checkpoint.label) ? group[checkpoint.label]?.[name] : undefined;
    const classes = this.run.heads.map((h) => this.run.classOf(checkpoint.index, h.index)).filter((c) => c >= 0);
    if (isLeaf(found)) return withInterval(found, classes.length);
    const wanted = CLASSES.indexOf(name as (typeof CLASSES)[number]);
    return { value: classes.length ? classes.filter((c) => c === wanted).length / classes.length : null, se: null };
  }

  entry(checkpoint: Checkpoint): Record<string, unknown> {
    return this.run.blob.summary?.checkpoints.find((entry) => entry["label"] === checkpoint.label) ?? {};
  }

  differences(): Difference[] {
    return this.run.blob.summary?.differences ?? [];
  }

  /** The difference between the first and the last checkpoint of the run; null: it is one of the steps. */
  wholeRun(): Difference | null {
    return this.run.blob.summary?.whole_run ?? null;
  }

  private fromTable(key: string, checkpoint: Checkpoint): number | null {
    const found = allMeans(this.run).find((m) => m.key === key);
    if (!found) return null;
    const counted = this.run.heads.filter((h) => this.run.classOf(checkpoint.index, h.index) >= 0);
    const values = counted.map((h) => this.run.value(found.statistic.key, checkpoint.index, h.index));
    return mean(values.filter((v) => !Number.isNaN(v)).map((v) => read(found.reading, v)));
  }
}

/** The heads in which a statistic changed. */
export function changedHeads(difference: Difference, statistic: Statistic): HeadChange[] | undefined {
  return difference[`heads_${statistic.key}`] as HeadChange[] | undefined;
}

export function change(difference: Difference, key: string): Change {
  const found = difference[key];
  return isLeaf(found) ? (found as Change) : { ...NOTHING, real: null };
}
