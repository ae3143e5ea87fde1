import type { State } from "../state";
import { palette, ramp, type Palette } from "../theme";
import type { Reading } from "./blob";
import { CLASSES } from "./classes";
import type { Run } from "./run";

/** Something that a head has at a checkpoint and that can be coloured. */
export interface Quantity {
  key: string;
  name: string;
  /** NaN: missing. */
  value(checkpoint: number, head: number): number;
  domain: [number, number];
  /** How large a change has the strongest colour; null: changes are not shown. */
  change: number | null;
  ramp(colours: Palette): string[];
}

/** Standard errors have the same colours in every run. */
const LARGEST_ERROR = 0.1;

/** Readings of all statistics of a table, then their standard errors. */
export function quantities(run: Run): Quantity[] {
  const readings = run.statistics.flatMap((statistic) =>
    statistic.readings.map((reading): Quantity => {
      const { key, name, low, high, hue, change } = reading;
      return {
        key,
        name,
        value: (c, h) => read(reading, run.value(statistic.key, c, h)),
        domain: [low, high],
        change: reading.mean ? change : null,
        ramp: (p) => (low < 0 ? p.diverging : hue === "queries" ? p.blues : hue === "keys" ? p.reds : p.purples),
      };
    }),
  );
  const errors = run.statistics
    .filter(({ error }) => error !== null)
    .map(
      (statistic): Quantity => ({
        key: statistic.error!,
        name: `standard error of ${statistic.title}`,
        value: (c, h) => run.error(statistic, c, h),
        domain: [0, LARGEST_ERROR],
        change: null,
        ramp: (p) => p.purples,
      }),
    );
  return [...readings, ...errors];
}

export function read(reading: Reading, value: number): number {
  return reading.absolute ? Math.abs(value) : value;
}

export interface Coloring {
  name: string;
  isClass: boolean;
  isChange: boolean;
  domain: [number, number];
  value(head: number): number;
  /** null: nothing to show. */
  colour(head: number): string | null;
  ramp: string[];
}

export function colorOptions(run: Run): { key: string; name: string }[] {
  const all = quantities(run);
  const changes = all
    .filter(({ change }) => change !== null)
    .map(({ key, name }) => ({ key: `change_${key}`, name: `change of ${name} since …` }));
  return [
    { key: "class", name: "class" },
    ...all.map(({ key, name }) => ({ key, name })),
    ...changes,
    { key: "change_class", name: "change of class since …" },
  ];
}

export function isChange(key: string): boolean {
  return key.startsWith("change_");
}

/** How heads are coloured now; an unknown quantity is the class. */
export function coloring(run: Run, state: State): Coloring {
  const colours = palette();
  const change = isChange(state.quantity);
  const key = change ? state.quantity.slice("change_".length) : state.quantity;
  const quantity = quantities(run).find((q) => q.key === key);
  if (!quantity) {
    const moved = (head: number) => run.classOf(state.since, head) !== run.classOf(state.at, head);
    return {
      name: change ? "class, where it changed" : "class",
      isClass: true,
      isChange: change,
      domain: [0, CLASSES.length - 1],
      value: (head) => run.classOf(state.at, head),
      colour: (head) => {
        const found = run.classOf(state.at, head);
        if (found < 0) return null;
        return change && !moved(head) ? "transparent" : colours.classes[found];
      },
      ramp: colours.classes,
    };
  }
  const limit = quantity.change ?? 0.5;
  const domain: [number, number] = change ? [-limit, limit] : quantity.domain;
  const value = (head: number) =>
    quantity.value(state.at, head) - (change ? quantity.value(state.since, head) : 0);
  const colourRamp = change ? colours.diverging : quantity.ramp(colours);
  return {
    name: change ? `change of ${quantity.name}` : quantity.name,
    isClass: false,
    isChange: change,
    domain,
    value,
    colour: (head) => {
      const found = value(head);
      return Number.isNaN(found) ? null : ramp(colourRamp, (found - domain[0]) / (domain[1] - domain[0]));
    },
    ramp: colourRamp,
  };
}
