/** The five classes of heads, in the order of the figures. */
export const CLASSES = ["position-dominated", "q-positional", "k-positional", "content-focused", "mixed"] as const;
export type HeadClass = (typeof CLASSES)[number];

/** Index in CLASSES, or −1 where a correlation is missing. */
export function classify(r_q: number, r_k: number, high: number, low: number): number {
  const k = Math.abs(r_k);
  if (Number.isNaN(r_q) || Number.isNaN(k)) return -1;
  if (r_q > high && k > high) return 0;
  if (r_q > high && k < low) return 1;
  if (r_q < low && k > high) return 2;
  if (r_q < low && k < low) return 3;
  return 4;
}
