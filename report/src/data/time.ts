import type { Run } from "./run";

/** How checkpoints are arranged: ropewalk/figures/parts/time_axis.h. */
export const TIME_AXES = ["labels", "steps", "tokens", "log-steps", "log-tokens"] as const;
export type TimeAxisName = (typeof TIME_AXES)[number];

/** The length of an axis of numbers, in units of a baseline's slot. */
const LENGTH = 7;
/** On a logarithmic axis: the part from 0 to the first number. */
const ZERO_SHARE = 0.06;
/** About this many ticks on a linear axis. */
const TICKS = 7.5;
const BETWEEN_LABELS = 8;

export interface Tick {
  position: number;
  text: string;
}

export interface TimeLayout {
  /** One per checkpoint of the run, from 0. */
  positions: number[];
  /** The space before the first position and after the last one. */
  margin: number;
  /** On an axis of numbers. */
  ticks: Tick[];
  /** "training steps (logarithmic)"; empty: labels. */
  title: string;
}

function times(run: Run, axis: TimeAxisName): (number | null)[] {
  return run.steps.map((c) => (axis.endsWith("tokens") ? c.tokens : c.training_step));
}

/** Axes for which every checkpoint of the run has a number that is larger than the one before. */
export function offeredAxes(run: Run): TimeAxisName[] {
  const increases = (axis: TimeAxisName) =>
    times(run, axis).every((time, i, all) => time !== null && (i === 0 || time > all[i - 1]!));
  return TIME_AXES.filter((axis) => axis === "labels" || (run.steps.length > 1 && !run.models && increases(axis)));
}

/** The experiment's axis, if the run can be arranged by it. */
export function initialAxis(run: Run): TimeAxisName {
  const settings = run.blob.manifest?.["settings"] as Record<string, unknown> | undefined;
  return offeredAxes(run).find((axis) => axis === settings?.["axis"]) ?? "labels";
}

/** "500", "1.5k", "143k", "428B" */
function timeText(time: number): string {
  let unit = 0;
  for (; time >= 1000 && unit < 4; ++unit) time /= 1000;
  return `${Number(time.toPrecision(6))}${["", "k", "M", "B", "T"][unit]}`;
}

/** Round numbers of a linear axis. */
function roundTicks(low: number, high: number): number[] {
  const rough = Math.max((high - low) / TICKS, 1);
  let by = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [2, 2.5, 2]) if (by < rough) by *= factor;
  const found: number[] = [];
  for (let i = Math.ceil(low / by); i * by <= high; ++i) found.push(i * by);
  return found;
}

/** Powers of ten; where these are few, also 2 and 5 times them. */
function powerTicks(low: number, high: number): number[] {
  const digits = high < 1000 * low ? [1, 2, 5] : [1];
  const found: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
    found.push(...digits.map((digit) => digit * power).filter((tick) => tick >= low && tick <= high));
  return found;
}

/** The positions of the run's checkpoints. On a logarithmic axis, 0 has a position of its own, left of the others. */
export function timeLayout(run: Run, axis: TimeAxisName): TimeLayout {
  if (axis === "labels") return { positions: run.steps.map(({ step }) => step), margin: 0.5, ticks: [], title: "" };
  const numbers = times(run, axis) as number[];
  const logarithmic = axis.startsWith("log-");
  const zero = logarithmic && numbers[0] === 0;
  const low = numbers[zero ? 1 : 0];
  const high = numbers[numbers.length - 1];
  const range = logarithmic ? Math.log(high / low) : high - low;
  const before = zero ? Math.max((ZERO_SHARE / (1 - ZERO_SHARE)) * range, 1e-9) : 0;
  const position = (time: number) =>
    zero && time === 0 ? 0 : (LENGTH * (before + (logarithmic ? Math.log(time / low) : time - low))) / (before + range);
  const found = low === high ? [high] : !logarithmic || high < 10 * low ? roundTicks(low, high) : powerTicks(low, high);
  const kind = axis.endsWith("tokens") ? "tokens" : "steps";
  return {
    positions: numbers.map(position),
    margin: 0,
    ticks: [...(zero ? [0] : []), ...found].map((tick) => ({ position: position(tick), text: timeText(tick) })),
    title: `training ${kind}${logarithmic ? " (logarithmic)" : ""}`,
  };
}

/** The edges of slots: halfway between two positions, and the margins at both ends. There is one more edge than slots. */
export function edges({ positions, margin }: TimeLayout): number[] {
  const between = positions.slice(1).map((position, i) => (positions[i] + position) / 2);
  return [positions[0] - margin, ...between, positions[positions.length - 1] + margin];
}

/** Ticks whose texts do not touch, from left to right; `x` is in pixels. */
export function thinned(ticks: Tick[], x: (position: number) => number, letter: number): Tick[] {
  let free = -Infinity;
  return ticks.filter(({ position, text }) => {
    const half = (text.length * letter) / 2;
    if (x(position) - half < free) return false;
    free = x(position) + half + BETWEEN_LABELS;
    return true;
  });
}
