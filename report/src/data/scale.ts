import type { Statistic } from "./blob";

/** The quantile of sorted values; NaN without values. */
export function quantile(sorted: Float64Array, part: number): number {
  return sorted.length ? sorted[Math.round(part * (sorted.length - 1))] : NaN;
}

/** A step of 1, 2 or 5 times a power of ten, of which about `count` fit into the span. */
export function step(span: number, count: number): number {
  const rough = span / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const part = rough / power;
  return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

/** Limits slightly further out that are short to write; symmetric where there are both signs. */
export function rounded(low: number, high: number, positive: boolean): [number, number] {
  if (!positive && low < 0) {
    const reach = Math.max(-low, high);
    const by = step(reach, 5);
    const limit = Math.ceil(reach / by - 1e-9) * by;
    return [-limit, limit];
  }
  const by = step(high - low || Math.abs(high), 5);
  return [Math.floor(low / by + 1e-9) * by, Math.max(Math.ceil(high / by - 1e-9) * by, by)];
}

/** Round numbers within limits. */
export function ticks(low: number, high: number, count: number): number[] {
  const by = step(high - low, count);
  const found: number[] = [];
  for (let i = Math.ceil(low / by - 1e-9); i * by <= high + by * 1e-9; ++i) found.push(i * by);
  return found;
}

/** A tick with as few digits as distinguish it from its neighbours. */
export function tickText(value: number, by: number): string {
  const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(by) + 1e-9)));
  const small = Math.abs(value) < 1e-12 ? 0 : value;
  const text = digits > 4 && small !== 0 ? small.toExponential(0) : small.toFixed(digits);
  return text.replaceAll("-", "−");
}

/** Decimals for numbers of this size; three for correlations and shares. */
export function digitsOf(size: number, { low, high }: Pick<Statistic, "low" | "high">): number {
  const unit = low !== null && high !== null && low >= -1 && high <= 1;
  const magnitude = Math.abs(size);
  if (!Number.isFinite(magnitude) || magnitude === 0 || (unit && magnitude >= 0.02)) return 3;
  return Math.max(1, Math.min(9, 2 - Math.floor(Math.log10(magnitude))));
}
