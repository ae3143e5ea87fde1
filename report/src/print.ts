/** Printing: parts that a screen shows only partly are drawn completely before they are printed. */
const begins: (() => void)[] = [];
const ends: (() => void)[] = [];
let printing = false;

export function isPrinting(): boolean {
  return printing;
}

/** `begin` must draw before it returns, or in microtasks after it: later drawings are not printed. */
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
