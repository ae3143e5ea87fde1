import type { Context } from "../context";
import { h } from "../dom";
import { onPrint } from "../print";
import { downloads, draw } from "../vega";
import { scroller } from "../widgets";
import { offsetNote } from "./offset_note";

const TITLES: Record<string, string> = {
  taxonomy: "Classes of heads",
  depth_r_q: "Queries by depth",
  depth_r_k: "Keys by depth",
  pc0_composition: "What PC0 is made of",
  ablate: "What heads are needed for",
  ablate_training: "What heads are needed for, over training",
};

/** The published figures, which are about PC0 only. */
const ON_PC0 = ["position_signal", "phase_portraits", "taxonomy", "depth_r_q", "depth_r_k"];

/** Figures of requested statistics have the name in their title. */
const ASKED = /^(over_training|by_depth|portrait)_/;

/** "Position signal" for position_signal. */
function title(name: string, spec: Sized): string {
  const words = name.replaceAll("_", " ");
  if (ASKED.test(name) && spec.title?.text) return spec.title.text.split(" · ").at(-1) ?? words;
  return TITLES[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** The printed figures; each is drawn when it comes near the screen. */
export function figures(context: Context): HTMLElement {
  const { run } = context;
  const waiting = new Map<Element, () => Promise<void>>();
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        // Waits for the frame in which the figure came near, so that scrolling stays smooth.
        if (entry.isIntersecting) setTimeout(() => start(entry.target), 0);
      }
    },
    { rootMargin: "200px" },
  );
  const start = (canvas: Element) => {
    const drawing = waiting.get(canvas);
    if (!drawing) return;
    waiting.delete(canvas);
    watcher.unobserve(canvas);
    void drawing();
  };
  onPrint(() => [...waiting.keys()].forEach(start));
  const last = run.steps[run.steps.length - 1];
  const names = inOrder(run.blob.figure_names);
  const cards = names.map((name) => {
    const spec = run.blob.figures[name];
    const named = title(name, spec);
    const canvas = h("div", {
      class: "figure-canvas",
      role: "img",
      "aria-label": label(spec, named),
      "data-figure": name,
      style: `--shape:${shape(name, spec).join("/")}`,
      ...("vconcat" in spec ? { "data-panels": "" } : {}),
    });
    const scroll = scroller(`${named}, drawn`, canvas);
    waiting.set(canvas, () => draw(canvas, spec).then(() => canvas.classList.add("drawn")));
    watcher.observe(canvas);
    return h(
      "section",
      { class: "card figure-card", "aria-label": named },
      h(
        "div",
        { class: "card-heading row" },
        h("h2", {}, named),
        downloads(
          () => [name],
          named,
          () => spec,
        ),
      ),
      ON_PC0.includes(name) ? h("p", { class: "note offset-note" }, ...offsetNote(context, last)) : null,
      scroll,
    );
  });
  return h("div", { class: "figures" }, ...cards);
}

/** Puts numbers that need no axis next to those measured along PC0. */
function inOrder(names: string[]): string[] {
  const [signal, beside] = ["position_signal", "how_positional"];
  if (!names.includes(signal) || !names.includes(beside)) return names;
  return names.filter((name) => name !== beside).flatMap((name) => (name === signal ? [name, beside] : [name]));
}

interface Sized {
  width?: number;
  height?: number;
  title?: { text?: string; subtitle?: string[] };
  columns?: number;
  concat?: Sized[];
  vconcat?: Sized[];
}

/** The approximate width and height of a figure before it is drawn: its panels, and space for titles, axes and legends. */
function shape(name: string, spec: Sized): [number, number] {
  const lines = 18 * (spec.title?.subtitle?.length ?? 0);
  if (spec.concat) {
    const columns = Math.min(spec.columns ?? spec.concat.length, spec.concat.length);
    const { width = 200, height = 200 } = spec.concat[0];
    return [columns * width + 172, Math.ceil(spec.concat.length / columns) * (height + 53) + 127 + lines];
  }
  const panels = spec.vconcat ?? [spec];
  const width = Math.max(...panels.map((panel) => panel.width ?? 580));
  const height = panels.map((panel) => panel.height ?? 340).reduce((a, b) => a + b, 0);
  const map = /^(by_)?depth_/.test(name); // with a legend below
  return [width + (map ? 195 : 105), height + (map ? 182 : 65 + 66 * panels.length) + lines];
}

function label(spec: Record<string, unknown>, otherwise: string): string {
  const found = spec["title"] as { text?: string; subtitle?: string[] } | undefined;
  return [found?.text ?? otherwise, ...(found?.subtitle ?? [])].join(". ");
}
