import { axes, frame, SIZE, type Axes } from "../charts/portrait_frame";
import { positionZones } from "../charts/zones";
import type { Context, Part } from "../context";
import { coloring, type Coloring } from "../data/coloring";
import { quantities, quantity } from "../data/quantities";
import { number, ofPage } from "../data/source";
import { describeHead } from "../describe";
import { h, s } from "../dom";
import { passes } from "../state";
import { tooltip } from "../tooltip";
import { card } from "../widgets";
import { brush } from "./brush";
import { portraitControls } from "./portrait_controls";
import { portraitLegend } from "./portrait_legend";
import { portraitPoints } from "./portrait_points";
import { portraitTrails } from "./portrait_trails";
import { rangeForm } from "./range_form";

/** A scatter plot of every head at the current checkpoint by two of its numbers, on axes that never move. */
export function portrait(context: Context): Part {
  const { run, store } = context;
  const trailLayers = portraitTrails(context, breaks, target);
  const points = portraitPoints(context, target, () => positionZones(drawn, now, points.positions));
  let now = wantedAxes(context);
  let drawn = frame(now, run.low, run.high);
  const plot = s(
    "svg",
    { class: "portrait", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img" },
    drawn,
    ...trailLayers.elements,
    ...points.elements,
  );
  function target(head: number, checkpoint: number): { x: number; y: number } {
    return { x: now.toX(now.x.value(checkpoint, head)), y: now.toY(now.y.value(checkpoint, head)) };
  }

  brush(context, plot, points.positions);
  describeUnderPointer(context, plot);

  /** Whether what is drawn of a head depends on an axis that changed since the previous checkpoint. */
  function breaks(checkpoint: number, head: number): boolean {
    return [now.x, now.y].some(({ statistic }) => statistic.on_pc0) && run.axisChanged(checkpoint, head);
  }

  const controls = portraitControls(context, () => now);
  const missing = h("p", { class: "note" });
  const legend = portraitLegend(context);
  const ranges = rangeForm(context, () => now);
  const element = card(
    "Portrait",
    "Each point is a head; drag to select, click to open. Dashed: thresholds of the classes. Trails follow their arrows up to the current checkpoint.",
    controls.element,
    plot,
    legend.element,
    missing,
    ranges.element,
  );
  element.classList.add("portrait-card");

  function showAxes(): void {
    controls.showAxes();
    plot.setAttribute("aria-label", `Heads by ${now.x.name} and ${now.y.name}; drag to select`);
    ranges.render();
  }
  showAxes();

  function showTrails(): void {
    const { trails, selected, focus } = store.state;
    const passing = (heads: number[]) => heads.filter((head) => passes(run, store.state, head));
    trailLayers.show("all", trails === "all" ? passing(run.heads.map((head) => head.index)) : []);
    const wanted = new Set(selected);
    if (focus !== null) wanted.add(focus);
    trailLayers.show("chosen", trails === "none" ? [] : passing([...wanted]));
  }

  return {
    element,
    render() {
      const { state } = store;
      controls.render();
      if (now.x.key !== state.x || now.y.key !== state.y) {
        now = wantedAxes(context);
        const next = frame(now, run.low, run.high);
        drawn.replaceWith(next);
        drawn = next;
        points.forget();
        showAxes();
      }
      const colours = coloring(run, state);
      points.each((point, i) => paint(context, colours, i, breaks(state.at, i), point));
      const moved = run.heads.filter(({ index }) => passes(run, state, index) && breaks(state.at, index));
      legend.show(colours.isClass, moved.length);
      missing.replaceChildren(...undefinedHeads(context, now));
      showTrails();
      points.render();
    },
  };
}

function wantedAxes({ run, store }: Context): Axes {
  const usual = quantities(run)[0];
  return axes(quantity(run, store.state.x) ?? usual, quantity(run, store.state.y) ?? usual);
}

/** Describes a head while the pointer is on its point. */
function describeUnderPointer({ run, store }: Context, plot: SVGSVGElement): void {
  plot.addEventListener("pointermove", (event) => {
    const head = (event.target as Element).getAttribute?.("data-head");
    if (head === null || event.buttons !== 0) tooltip.hide();
    else tooltip.show(describeHead(run, store.state, Number(head)), event.clientX, event.clientY);
  });
  plot.addEventListener("pointerleave", () => tooltip.hide());
}

/** Updates a head's point; unchanged attributes are not touched. */
function paint({ run, store }: Context, colours: Coloring, head: number, moved: boolean, point: SVGPathElement): void {
  const { state } = store;
  const passing = passes(run, state, head);
  const selected = state.selected.has(head);
  const dim = state.selected.size > 0 && !selected;
  const look = `point${run.heads[head].rope === false ? " nope" : ""}${passing ? "" : " out"}${dim ? " dim" : ""}${passing && selected ? " selected" : ""}${moved ? " moved" : ""}`;
  if (point.getAttribute("class") !== look) point.setAttribute("class", look);
  const colour = colours.colour(head) ?? "transparent";
  if (point.style.getPropertyValue("--c") !== colour) point.style.setProperty("--c", colour);
}

/** The number of heads that cannot be drawn at the current checkpoint; null where there are none. */
function undefinedHeads({ run, store }: Context, { x, y }: Axes): (string | Node)[] {
  const { at } = store.state;
  const nowhere = (head: number) => Number.isNaN(x.value(at, head) + y.value(at, head));
  const count = run.heads.filter(({ index }) => run.measured(at, index) && nowhere(index)).length;
  if (!count) return [];
  return [
    number(ofPage("undefined"), count === 1 ? "1 head has" : `${count} heads have`),
    ` no ${x.key} or no ${y.key} here, not drawn.`,
  ];
}
