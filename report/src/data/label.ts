/** A label states its context where a checkpoint has several: "S1-40K@4096". Context 0: it states none. */
export function splitLabel(label: string): { name: string; context: number } {
  const found = /^(.+)@([1-9]\d*)$/.exec(label);
  return found ? { name: found[1], context: Number(found[2]) } : { name: label, context: 0 };
}
