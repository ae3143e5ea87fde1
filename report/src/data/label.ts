/** The tokens that a label states, "S1-40K@4096": a checkpoint measured at several contexts has one for each. 0: none. */
export function contextOf(label: string): number {
  const found = /.@([1-9]\d*)$/.exec(label);
  return found ? Number(found[1]) : 0;
}
