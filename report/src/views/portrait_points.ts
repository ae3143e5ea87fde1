import type { Context } from "../context";
import { px, s } from "../dom";

const GLIDE_MS = 650;
const CIRCLE = "M4.2 0A4.2 4.2 0 1 1-4.2 0A4.2 4.2 0 1 1 4.2 0Z";
const DIAMOND = "M0-5.6L5.6 0L0 5.6L-5.6 0Z";

interface Spot {
  x: number;
  y: number;
}

/**
 * The points of the portrait, one per head, with a ring around the open one. They move smoothly while the run plays.
 * `target` gives the new position of a head; `arrived` is called when all have arrived.
 */
export function portraitPoints(
  { run, store }: Context,
  target: (head: number, checkpoint: number) => Spot,
  arrived: () => void,
) {
  const ring = s("circle", { class: "focus-ring", r: 9, visibility: "hidden" });
  const points = run.heads.map((head) =>
    s("path", { class: "point", d: head.rope === false ? DIAMOND : CIRCLE, "data-head": head.index }),
  );
  // The current position of each head on the screen; NaN: not shown.
  const positions: Spot[] = run.heads.map(() => ({ x: NaN, y: NaN }));
  let frameId = 0;
  let shown = -1;

  function moveMarks(): void {
    points.forEach((point, i) => {
      const { x, y } = positions[i];
      const gone = Number.isNaN(x) || Number.isNaN(y);
      point.setAttribute("transform", gone ? "translate(-99 -99)" : `translate(${px(x)} ${px(y)})`);
    });
    const focus = store.state.focus;
    const at = focus === null ? undefined : positions[focus];
    ring.setAttribute("visibility", at && !Number.isNaN(at.x + at.y) ? "visible" : "hidden");
    if (at && !Number.isNaN(at.x + at.y)) ring.setAttribute("transform", `translate(${px(at.x)} ${px(at.y)})`);
  }

  function move(): void {
    cancelAnimationFrame(frameId);
    const { at } = store.state;
    const from = positions.map((p) => ({ ...p }));
    const to = run.heads.map((head) => target(head.index, at));
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const begin = performance.now();
    const glide = store.playing && !still && shown >= 0;
    shown = at;
    const step = (time: number) => {
      const part = glide ? Math.min((time - begin) / GLIDE_MS, 1) : 1;
      const eased = part * part * (3 - 2 * part);
      for (let i = 0; i < positions.length; ++i) {
        const start = Number.isNaN(from[i].x) ? to[i] : from[i];
        positions[i].x = start.x + (to[i].x - start.x) * eased;
        positions[i].y = start.y + (to[i].y - start.y) * eased;
      }
      moveMarks();
      if (part < 1) frameId = requestAnimationFrame(step);
      else arrived();
    };
    step(begin);
  }

  return {
    elements: [s("g", {}, ...points), ring],
    positions,
    each: (show: (point: SVGPathElement, head: number) => void) => points.forEach(show),
    /** On other axes, former positions mean nothing. */
    forget: () => void (shown = -1),
    render: () => (shown !== store.state.at ? move() : moveMarks()),
  };
}
