import type { Palette } from "../theme";
import type { StatisticView, Statistic } from "./blob";
import type { Run } from "./run";
import { digitsOf, quantile, rounded } from "./scale";

/** A number of every head at a checkpoint: a colour of the grid, an axis of the portrait. */
export interface Quantity {
  key: string;
  name: string;
  definition: string;
  group: string;
  statistic: Statistic;
  reading: StatisticView;
  /** NaN: missing. */
  value(checkpoint: number, head: number): number;
  error(checkpoint: number, head: number): number;
  /** How many decimals distinguish heads. */
  digits: number;
  /** Limits of the colours. */
  domain: [number, number];
  /** Limits of an axis: nothing is outside at any checkpoint. */
  range: [number, number];
  /** The size of a change with the strongest colour; and the size of such an error. */
  change: number;
  largestError: number;
  ramp(colours: Palette): string[];
}

/** Standard errors of correlations and shares have the same colours in every run. */
const LARGEST_ERROR = 0.1;
/** The numbers that decide classes are drawn on whole axes, with the thresholds. */
const CLASSIFIED = ["r_q", "r_k"];
/** Fewer numbers than this say nothing about limits. */
const FEW = 20;

/** The heading of a statistic. Numbers of a component are those of PC0, unless the reader chooses one beside them. */
export function groupOf(statistic: Statistic, chosen = false): string {
  const component = chosen ? "Principal component" : "Principal component PC0";
  return statistic.group || (statistic.per === "component" ? component : "Heads");
}

export function read(reading: StatisticView, value: number): number {
  return reading.absolute ? Math.abs(value) : value;
}

/** The views of a statistic; one without views is shown as its value. */
function readings(statistic: Statistic): StatisticView[] {
  if (statistic.readings.length) return statistic.readings;
  const { key, title, low, high } = statistic;
  const plain = { key, name: title, absolute: false, hue: "both" as const, low: low ?? 0, high: high ?? 1, change: 0.5 };
  return [{ ...plain, mean: "", mean_name: "", hint: "", shape: "" }];
}

/** Finite values of a head's number at all checkpoints, ascending. */
function sortedValues(run: Run, value: (checkpoint: number, head: number) => number): Float64Array {
  const found: number[] = [];
  for (const { index: c } of run.checkpoints)
    for (const { index: h } of run.heads) {
      const one = value(c, h);
      if (Number.isFinite(one)) found.push(one);
    }
  return Float64Array.from(found).sort();
}

class StatisticQuantity implements Quantity {
  readonly key: string;
  readonly name: string;
  readonly definition: string;
  readonly group: string;
  private limits: Pick<Quantity, "domain" | "range" | "change" | "largestError" | "digits"> | undefined;

  constructor(
    private readonly run: Run,
    readonly statistic: Statistic,
    readonly reading: StatisticView,
  ) {
    this.key = reading.key;
    this.name = reading.name;
    this.definition = `${reading.absolute ? "absolute value of the " : ""}${statistic.definition}`;
    this.group = groupOf(statistic);
  }

  value(checkpoint: number, head: number): number {
    return read(this.reading, this.run.value(this.statistic.key, checkpoint, head));
  }
  error(checkpoint: number, head: number): number {
    return this.run.error(this.statistic, checkpoint, head);
  }
  get digits(): number {
    return this.measured.digits;
  }
  get domain(): [number, number] {
    return this.measured.domain;
  }
  get range(): [number, number] {
    return this.measured.range;
  }
  get change(): number {
    return this.measured.change;
  }
  get largestError(): number {
    return this.measured.largestError;
  }
  ramp(colours: Palette): string[] {
    const { hue } = this.reading;
    if (this.domain[0] < 0) return colours.diverging;
    return hue === "queries" ? colours.blues : hue === "keys" ? colours.reds : colours.purples;
  }

  /** From the numbers of the whole run, so that limits are the same at every checkpoint; computed when first needed. */
  private get measured(): NonNullable<StatisticQuantity["limits"]> {
    this.limits ??= this.measure();
    return this.limits;
  }

  private measure(): NonNullable<StatisticQuantity["limits"]> {
    const { low, high, change } = this.reading;
    const values = sortedValues(this.run, (c, h) => this.value(c, h));
    const [least, most] = values.length ? [values[0], values[values.length - 1]] : [low, high];
    const outside = values.filter((value) => value < low || value > high).length;
    const lost = Math.max(Math.abs(least), Math.abs(most)) < (high - low) / 20;
    const digits = digitsOf(quantile(values, 0.9), this.statistic);
    // Numbers that decide the class are shown on a scale with their thresholds, even where they are small.
    const classified = CLASSIFIED.includes(this.statistic.key);
    if (classified || values.length < FEW || (outside <= values.length / 10 && !lost)) {
      const whole = classified || values.length < FEW || most - least > (high - low) / 2;
      const [from, to] = whole ? [low, high] : rounded(least, most, least >= 0);
      const pad = (to - from) * (from < 0 ? 0.025 : 0.05);
      const range: [number, number] = [Math.min(from - pad, least), Math.max(to + pad, most)];
      return { domain: [low, high], range, change, largestError: LARGEST_ERROR, digits };
    }
    // Where the declared limits do not fit the numbers, limits that contain nearly all of them.
    const [from, to] = rounded(quantile(values, 0.02), quantile(values, 0.98), least >= 0);
    const errors = sortedValues(this.run, (c, h) => this.error(c, h));
    const pad = (most - least || 1) * 0.04;
    return {
      domain: [from, to],
      range: [least - pad, most + pad],
      change: (to - from) / 2,
      largestError: errors.length ? rounded(0, quantile(errors, 0.98) || 1, true)[1] : LARGEST_ERROR,
      digits,
    };
  }
}

const made = new WeakMap<Run, Quantity[]>();

/** The views of all statistics of a table, in its order. */
export function quantities(run: Run): Quantity[] {
  let found = made.get(run);
  if (!found) {
    found = run.statistics.flatMap((statistic) =>
      readings(statistic).map((reading) => new StatisticQuantity(run, statistic, reading)),
    );
    made.set(run, found);
  }
  return found;
}

export function quantity(run: Run, key: string): Quantity | undefined {
  return quantities(run).find((one) => one.key === key);
}

/** Numbers of a row, by the names that a search may use, in lower case. */
export function namedNumbers(run: Run): Map<string, (checkpoint: number, head: number, component: number) => number> {
  const found = new Map<string, (checkpoint: number, head: number, component: number) => number>();
  for (const { statistic, reading } of quantities(run)) {
    const { key, error } = statistic;
    const value = (c: number, h: number, pc: number) => read(reading, run.value(key, c, h, pc));
    if (!found.has(key.toLowerCase())) found.set(key.toLowerCase(), (c, h, pc) => run.value(key, c, h, pc));
    for (const name of [reading.key, reading.name]) found.set(name.toLowerCase(), value);
    if (error) found.set(error.toLowerCase(), (c, h, pc) => run.error(statistic, c, h, pc));
  }
  for (const name of Object.keys(run.blob.table.counts)) found.set(name, (c, h) => run.count(name, c, h) ?? NaN);
  found.set("layer", (_, h) => run.heads[h].layer);
  for (const name of ["head", "q_head"]) found.set(name, (_, h) => run.heads[h].q_head);
  found.set("kv_head", (_, h) => run.heads[h].kv_head ?? NaN);
  return found;
}
