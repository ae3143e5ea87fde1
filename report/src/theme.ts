// Colours of the figures (ropewalk/figures/parts/theme.h), and similar ones for a dark page.

import { isPrinting, onPrint } from "./print";

export type Mode = "light" | "dark";

export interface Palette {
  classes: string[];
  queries: string;
  keys: string;
  variance: string;
  blues: string[];
  reds: string[];
  purples: string[];
  /** From negative through 0 to positive. */
  diverging: string[];
}

export const PRINTED: Palette = {
  classes: ["#2f74b5", "#33257a", "#f29bc1", "#3fa36c", "#9aa3ad"],
  queries: "#17498f",
  keys: "#e0503f",
  variance: "#5b3f91",
  blues: ["#f7fbff", "#deebf7", "#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#08306b"],
  reds: ["#fff5f0", "#fee0d2", "#fcbba1", "#fc9272", "#fb6a4a", "#ef3b2c", "#cb181d", "#a50f15", "#67000d"],
  purples: ["#fcfbfd", "#efedf5", "#dadaeb", "#bcbddc", "#9e9ac8", "#807dba", "#6a51a3", "#54278f", "#3f007d"],
  diverging: ["#7f3b08", "#b35806", "#e08214", "#fdb863", "#f4f4f4", "#92c5de", "#4393c3", "#2166ac", "#053061"],
};

const dark: Palette = {
  classes: ["#4f9ae6", "#7a68d8", "#f5a9cb", "#49b67c", "#78838f"],
  queries: "#79b1f7",
  keys: "#ff8a78",
  variance: "#b79cf0",
  blues: ["#17212d", "#173049", "#174267", "#1c5788", "#2b70ab", "#4a8fcb", "#74afe0", "#a5cff0", "#dcecfa"],
  reds: ["#281b1b", "#43201d", "#632520", "#872c24", "#ad372b", "#d24f3e", "#ec7661", "#f8a592", "#fddcd3"],
  purples: ["#211d2b", "#2f2745", "#403264", "#534084", "#6a54a3", "#846fc0", "#a392d6", "#c5b9e8", "#e8e2f7"],
  diverging: ["#ffc27a", "#ee9a3c", "#b66e1d", "#6f4a22", "#2b3038", "#24527e", "#3478b5", "#69a9dd", "#b7daf5"],
};

const STORED = "ropewalk-theme";
const preference = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];

function stored(): Mode | null {
  try {
    const value = localStorage.getItem(STORED);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null; // browsers may forbid storage to pages that are opened from disk
  }
}

let picked = stored();

export function mode(): Mode {
  if (isPrinting()) return "light"; // paper is white
  return picked ?? (preference.matches ? "dark" : "light");
}

export function palette(): Palette {
  return mode() === "dark" ? dark : PRINTED;
}

function show(): void {
  document.documentElement.dataset["theme"] = mode();
  const colours = palette();
  const style = document.documentElement.style;
  colours.classes.forEach((colour, i) => style.setProperty(`--class-${i}`, colour));
  style.setProperty("--queries", colours.queries);
  style.setProperty("--keys", colours.keys);
  style.setProperty("--variance", colours.variance);
  for (const listener of listeners) listener();
}

export function toggleMode(): void {
  picked = mode() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(STORED, picked);
  } catch {
    // then the choice lasts for this visit only
  }
  show();
}

export function startTheme(): void {
  preference.addEventListener("change", show);
  onPrint(show, show);
  show();
}

export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

/** The colour at `value`, 0 to 1, of a ramp. */
export function ramp(colours: string[], value: number): string {
  const position = Math.min(Math.max(value, 0), 1) * (colours.length - 1);
  const below = Math.min(Math.floor(position), colours.length - 2);
  const part = position - below;
  const channel = (colour: string, i: number) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) =>
    Math.round(channel(colours[below], i) * (1 - part) + channel(colours[below + 1], i) * part),
  );
  return `rgb(${mixed.join(" ")})`;
}
