import type { State } from "../state";
import { palette, ramp, type Palette } from "../theme";
import { CLASSES } from "./classes";
import type { Run } from "./run";

/** Something that a head has at a checkpoint and that can be coloured. */
export interface Quantity {
  key: string;
  name: string;
  /** NaN: missing. */
  value(run: Run, checkpoint: number, head: number): number;
  /** Limits of the colours: fixed, so that checkpoints can be compared. */
  domain: [number, number];
  ramp(colours: Palette): string[];
}

const se = (name: string, column: "r_q_se" | "r_k_se"): Quantity => ({
  key: column,
  name,
  value: (run, c, h) => run.value(column, c, h),
  domain: [0, 0.1],
  ramp: (colours) => colours.purples,
});

export const QUANTITIES: Quantity[] = [
  { key: "r_q", name: "r_q", value: (r, c, h) => r.value("r_q", c, h), domain: [0, 1], ramp: (p) => p.blues },
  {
    key: "abs_r_k",
    name: "|r_k|",
    value: (r, c, h) => Math.abs(r.value("r_k", c, h)),
    domain: [0, 1],
    ramp: (p) => p.reds,
  },
  {
    key: "r_k",
    name: "r_k, signed",
    value: (r, c, h) => r.value("r_k", c, h),
    domain: [-1, 1],
    ramp: (p) => p.diverging,
  },
  {
    key: "explained_variance",
    name: "explained variance of PC0",
    value: (r, c, h) => r.value("explained_variance", c, h),
    domain: [0, 1],
    ramp: (p) => p.purples,
  },
  se("standard error of r_q", "r_q_se"),
  se("standard error of r_k", "r_k_se"),
  {
    key: "pc0_stability",
    name: "stability of PC0",
    value: (r, c, h) => r.headValue("pc0_stability", c, h),
    domain: [0, 1],
    ramp: (p) => p.purples,
  },
];

/** The same as a difference from another checkpoint, and how large a change has the strongest colour. */
const CHANGES: Record<string, number> = { r_q: 0.5, abs_r_k: 0.5, r_k: 1, explained_variance: 0.25 };

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

export function colorOptions(): { key: string; name: string }[] {
  const plain = QUANTITIES.map(({ key, name }) => ({ key, name }));
  const changes = QUANTITIES.filter((q) => q.key in CHANGES).map(({ key, name }) => ({
    key: `change_${key}`,
    name: `change of ${name} since …`,
  }));
  return [
    { key: "class", name: "class" },
    ...plain,
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
  const quantity = QUANTITIES.find((q) => q.key === key);
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
  const limit = CHANGES[key] ?? 0.5;
  const domain: [number, number] = change ? [-limit, limit] : quantity.domain;
  const value = (head: number) =>
    quantity.value(run, state.at, head) - (change ? quantity.value(run, state.since, head) : 0);
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
