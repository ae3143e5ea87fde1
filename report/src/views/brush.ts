import type { Context } from "../context";
import { px, s } from "../dom";
import { passes } from "../state";

const CLICK = 4; // pixels that the pointer may move during a click
const REACH = 12; // pixels by which a click may miss a point

/** Dragging a rectangle selects heads (Shift adds); clicking a point opens its head. */
export function brush(context: Context, plot: SVGSVGElement, positions: { x: number; y: number }[]): void {
  const { run, store } = context;
  const box = s("rect", { class: "brush", visibility: "hidden" });
  plot.append(box);
  let from: { x: number; y: number } | null = null;
  let before: ReadonlySet<number> = new Set();

  const at = (event: PointerEvent) => {
    const area = plot.getBoundingClientRect();
    const scale = plot.viewBox.baseVal.width / area.width;
    return { x: (event.clientX - area.left) * scale, y: (event.clientY - area.top) * scale };
  };
  const inside = (a: { x: number; y: number }, b: { x: number; y: number }) => {
    const found = new Set(before);
    positions.forEach(({ x, y }, head) => {
      const within =
        x >= Math.min(a.x, b.x) && x <= Math.max(a.x, b.x) && y >= Math.min(a.y, b.y) && y <= Math.max(a.y, b.y);
      if (within && passes(run, store.state, head)) found.add(head);
    });
    return found;
  };
  const nearest = (point: { x: number; y: number }) => {
    let best: number | null = null;
    let reach = REACH;
    positions.forEach(({ x, y }, head) => {
      const distance = Math.hypot(x - point.x, y - point.y);
      if (distance < reach && passes(run, store.state, head)) [best, reach] = [head, distance];
    });
    return best;
  };

  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = at(event);
    before = event.shiftKey ? store.state.selected : new Set();
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = at(event);
    if (Math.hypot(to.x - from.x, to.y - from.y) < CLICK) return;
    box.setAttribute("visibility", "visible");
    box.setAttribute("x", px(Math.min(from.x, to.x)));
    box.setAttribute("y", px(Math.min(from.y, to.y)));
    box.setAttribute("width", px(Math.abs(to.x - from.x)));
    box.setAttribute("height", px(Math.abs(to.y - from.y)));
    store.update({ selected: inside(from, to) });
  });
  plot.addEventListener("pointerup", (event) => {
    if (!from) return;
    const to = at(event);
    if (Math.hypot(to.x - from.x, to.y - from.y) < CLICK) click(nearest(to), event.shiftKey);
    from = null;
    box.setAttribute("visibility", "hidden");
  });
  plot.addEventListener("pointercancel", () => {
    from = null;
    box.setAttribute("visibility", "hidden");
  });

  function click(head: number | null, add: boolean): void {
    if (head === null) {
      store.update({ selected: new Set(), focus: null });
    } else if (add) {
      const selected = new Set(store.state.selected);
      if (!selected.delete(head)) selected.add(head);
      store.update({ selected });
    } else {
      store.open(head);
    }
  }
}
