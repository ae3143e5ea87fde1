import type { Run } from "../data/run";
import { edges, timeLayout, type Tick, type TimeAxisName } from "../data/time";

export interface Slot {
  checkpoint: number;
  label: string;
  /** Position along the axis: the run begins at 0, baselines are at negative positions. */
  position: number;
  baseline: boolean;
}

export interface TimeAxis {
  slots: Slot[];
  /** One per checkpoint of the run. */
  positions: number[];
  from: number;
  to: number;
  /** Between phases and contexts, and between baselines and the run. */
  separators: number[];
  /** For an axis of numbers; without ticks, checkpoints have their labels. */
  ticks: Tick[];
  title: string;
}

/** The width of a baseline's slot, as in ropewalk/figures/parts/checkpoint_positions.h. */
const pitchOf = (baselines: number, timed: boolean) => (timed && baselines > 1 ? Math.min(Math.max(1.5 / baselines, 0.25), 1) : 1);

/** Checkpoints in a row or by time; baselines are separate on the left, as in the figures. */
export function timeAxis(run: Run, name: TimeAxisName): TimeAxis {
  const layout = timeLayout(run, name);
  const { positions, ticks, title } = layout;
  const between = edges(layout);
  const count = run.baselines.length;
  const pitch = pitchOf(count, title !== "");
  const slots: Slot[] = run.baselines.map((c, i) => ({
    checkpoint: c.index,
    label: c.label,
    position: -1 - pitch * (count - i - 0.5),
    baseline: true,
  }));
  const separators = count ? [-0.75] : [];
  for (const c of run.steps) {
    slots.push({ checkpoint: c.index, label: c.label, position: positions[c.step], baseline: false });
    const before = run.steps[c.step - 1];
    if (before && run.order.phase(before) !== run.order.phase(c)) separators.push(between[c.step]);
  }
  const to = slots[slots.length - 1].position + (title ? 0.2 : 0.5);
  return { slots, positions, from: count ? -1 - pitch * count : slots[0].position - (title ? 0.2 : 0.5), to, separators, ticks, title };
}
