import type { Run } from "../data/run";

export interface Slot {
  checkpoint: number;
  label: string;
  /** Place along the axis: steps from 0, baselines left of them. */
  position: number;
  baseline: boolean;
}

export interface TimeAxis {
  slots: Slot[];
  from: number;
  to: number;
  /** Between phases and contexts, and between baselines and the run. */
  separators: number[];
}

/** Checkpoints in a row: baselines apart on the left, as in the figures. */
export function timeAxis(run: Run): TimeAxis {
  const count = run.baselines.length;
  const slots: Slot[] = run.baselines.map((c, i) => ({
    checkpoint: c.index,
    label: c.label,
    position: i - count - 0.5,
    baseline: true,
  }));
  const separators = count ? [-0.75] : [];
  for (const c of run.steps) {
    slots.push({ checkpoint: c.index, label: c.label, position: c.step, baseline: false });
    const before = run.steps[c.step - 1];
    if (before && run.order.phase(before) !== run.order.phase(c)) separators.push(c.step - 0.5);
  }
  return { slots, from: slots[0].position - 0.5, to: slots[slots.length - 1].position + 0.5, separators };
}
