import type { Context } from "../context";
import { h } from "../dom";
import { downloads, draw } from "../vega";
import { scroller } from "../widgets";

const TITLES: Record<string, string> = {
  position_signal: "Position signal",
  phase_portraits: "Phase portraits",
  taxonomy: "Classes of heads",
  depth_r_q: "Queries by depth",
  depth_r_k: "Keys by depth",
  explained_variance: "Explained variance",
};

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
  const names = Object.keys(TITLES).filter((name) => name in run.blob.figures);
  const cards = names.map((name) => {
    const spec = run.blob.figures[name];
    const canvas = h("div", {
      class: "figure-canvas",
      role: "img",
      "aria-label": label(spec, TITLES[name]),
      "data-figure": name,
    });
    const scroll = scroller(`${TITLES[name]}, drawn`, canvas);
    waiting.set(canvas, () => {
      // After the frame that brought it near, so that scrolling stays smooth.
      setTimeout(() => void draw(canvas, spec).then(() => canvas.classList.add("drawn")), 0);
    });
    watcher.observe(canvas);
    return h(
      "section",
      { class: "card figure-card", "aria-label": TITLES[name] },
      h(
        "div",
        { class: "card-heading row" },
        h("h2", {}, TITLES[name]),
        downloads(
          () => [name],
          TITLES[name],
          () => spec,
        ),
      ),
      scroll,
    );
  });
  return h("div", { class: "figures" }, ...cards);
}

function label(spec: Record<string, unknown>, otherwise: string): string {
  const title = spec["title"] as { text?: string; subtitle?: string[] } | undefined;
  return [title?.text ?? otherwise, ...(title?.subtitle ?? [])].join(". ");
}
