/** Paper: what is shown only in part on a screen is drawn whole before it is printed. */
const begins: (() => void)[] = [];
const ends: (() => void)[] = [];
let printing = false;

export function isPrinting(): boolean {
  return printing;
}

/** `begin` has drawn all it wants when it returns, or in microtasks after it: nothing later is printed. */
export function onPrint(begin: () => void, end: () => void = () => undefined): void {
  begins.push(begin);
  ends.push(end);
}

function set(wanted: boolean): void {
  if (printing === wanted) return;
  printing = wanted;
  for (const act of printing ? begins : ends) act();
}

export function watchPrinting(): void {
  window.addEventListener("beforeprint", () => set(true));
  window.addEventListener("afterprint", () => set(false));
  matchMedia("print").addEventListener("change", ({ matches }) => set(matches));
}
