import type { Context } from "../context";
import { h } from "../dom";
import { downloads, draw } from "../vega";
import { scroller } from "../widgets";

const TITLES: Record<string, string> = {
  taxonomy: "Classes of heads",
  depth_r_q: "Queries by depth",
  depth_r_k: "Keys by depth",
};

/** "Position signal" of position_signal. */
function title(name: string): string {
  const words = name.replaceAll("_", " ");
  return TITLES[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** The printed figures; each is drawn when it comes near the screen. */
export function figures({ run }: Context): HTMLElement {
  const waiting = new Map<Element, () => void>();
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const start = entry.isIntersecting ? waiting.get(entry.target) : undefined;
        if (!start) continue;
        watcher.unobserve(entry.target);
        start();
      }
    },
    { rootMargin: "200px" },
  );
  const names = run.blob.figure_names;
  const cards = names.map((name) => {
    const spec = run.blob.figures[name];
    const canvas = h("div", {
      class: "figure-canvas",
      role: "img",
      "aria-label": label(spec, title(name)),
      "data-figure": name,
      ...("vconcat" in spec ? { "data-panels": "" } : {}),
    });
    const scroll = scroller(`${title(name)}, drawn`, canvas);
    waiting.set(canvas, () => {
      // After the frame that brought it near, so that scrolling stays smooth.
      setTimeout(() => void draw(canvas, spec).then(() => canvas.classList.add("drawn")), 0);
    });
    watcher.observe(canvas);
    return h(
      "section",
      { class: "card figure-card", "aria-label": title(name) },
      h(
        "div",
        { class: "card-heading row" },
        h("h2", {}, title(name)),
        downloads(
          () => [name],
          title(name),
          () => spec,
        ),
      ),
      scroll,
    );
  });
  return h("div", { class: "figures" }, ...cards);
}

function label(spec: Record<string, unknown>, otherwise: string): string {
  const found = spec["title"] as { text?: string; subtitle?: string[] } | undefined;
  return [found?.text ?? otherwise, ...(found?.subtitle ?? [])].join(". ");
}
