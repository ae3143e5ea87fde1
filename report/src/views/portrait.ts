import { axes, frame, SIZE, type Axes } from "../charts/portrait_frame";
import { portraitSpec } from "../charts/portrait_spec";
import { trails as drawTrails } from "../charts/trail";
import { positionZones } from "../charts/zones";
import type { Context, Part } from "../context";
import { CLASSES } from "../data/classes";
import { coloring } from "../data/coloring";
import { quantities, quantity } from "../data/quantities";
import { number, ofPage } from "../data/source";
import { describeHead } from "../describe";
import { h, px, s } from "../dom";
import { count } from "../format";
import { picker } from "../picker";
import { chosen, passes, type Trails } from "../state";
import { tooltip } from "../tooltip";
import { downloads } from "../vega";
import { card, select } from "../widgets";
import { brush } from "./brush";
import { rangeForm } from "./range_form";

const GLIDE_MS = 650;
const CIRCLE = "M4.2 0A4.2 4.2 0 1 1-4.2 0A4.2 4.2 0 1 1 4.2 0Z";
const DIAMOND = "M0-5.6L5.6 0L0 5.6L-5.6 0Z";

/** Every head at the checkpoint in view by two of its numbers, on axes that never move. */
export function portrait(context: Context): Part {
  const { run, store } = context;
  const layers = (name: string) => ({
    line: s("path", { class: `trail ${name}` }),
    broken: s("path", { class: `trail broken ${name}` }),
    starts: s("path", { class: `trail-start ${name}` }),
    arrows: s("path", { class: `trail-arrow ${name}` }),
  });
  const trailsOf = { all: layers("all"), chosen: layers("chosen") };
  const ring = s("circle", { class: "focus-ring", r: 9, visibility: "hidden" });
  const points = run.heads.map((head) =>
    s("path", { class: "point", d: head.rope === false ? DIAMOND : CIRCLE, "data-head": head.index }),
  );
  const axesOf = (): Axes => {
    const usual = quantities(run)[0];
    return axes(quantity(run, store.state.x) ?? usual, quantity(run, store.state.y) ?? usual);
  };
  let now = axesOf();
  let drawn = frame(now, run.low, run.high);
  const plot = s(
    "svg",
    { class: "portrait", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img" },
    drawn,
    ...[trailsOf.all, trailsOf.chosen].flatMap(({ line, broken, starts, arrows }) => [line, broken, starts, arrows]),
    s("g", {}, ...points),
    ring,
  );
  // Where each head stands on the screen now; NaN: nowhere.
  const positions = run.heads.map(() => ({ x: NaN, y: NaN }));
  const target = (head: number, checkpoint: number) => ({
    x: now.toX(now.x.value(checkpoint, head)),
    y: now.toY(now.y.value(checkpoint, head)),
  });

  brush(context, plot, positions);
  plot.addEventListener("pointermove", (event) => {
    const head = (event.target as Element).getAttribute?.("data-head");
    if (head === null || event.buttons !== 0) tooltip.hide();
    else tooltip.show(describeHead(run, store.state, Number(head)), event.clientX, event.clientY);
  });
  plot.addEventListener("pointerleave", () => tooltip.hide());

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

  let frameId = 0;
  let shown = -1;
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
      else positionZones(drawn, now, positions);
    };
    step(begin);
  }

  /** Whether what is drawn of a head hangs on an axis that is not that of the checkpoint before. */
  const breaks = (checkpoint: number, head: number) =>
    [now.x, now.y].some(({ statistic }) => statistic.on_pc0) && run.axisChanged(checkpoint, head);

  /** From the first checkpoint to the one in view, at its context. */
  function showTrails(name: "all" | "chosen", heads: number[]): void {
    const here = run.checkpoints[store.state.at];
    const steps = here.baseline ? [] : run.order.wayTo(here);
    const ways = heads.map((head) =>
      steps
        .map((step) => ({ ...target(head, step.index), breaks: breaks(step.index, head) }))
        .filter(({ x, y }) => !Number.isNaN(x + y)),
    );
    const { line, broken, starts, arrows } = drawTrails(ways, name === "chosen");
    trailsOf[name].line.setAttribute("d", line);
    trailsOf[name].broken.setAttribute("d", broken);
    trailsOf[name].starts.setAttribute("d", name === "chosen" ? starts : "");
    trailsOf[name].arrows.setAttribute("d", arrows);
  }

  const axisPicker = (name: "x" | "y", label: string) =>
    picker(label, quantities(run), (key) => store.update({ [name]: key }));
  const across = axisPicker("x", "across");
  const up = axisPicker("y", "up");
  const trails = select(
    "trails",
    [
      { value: "selected", text: "of selected heads" },
      { value: "all", text: "of all heads" },
      { value: "none", text: "none" },
    ],
    (value) => store.update({ trails: value as Trails }),
  );
  const missing = h("p", { class: "note" });
  const classKeys = CLASSES.map((name, i) =>
    h("li", {}, h("i", { class: "swatch", style: `background:var(--class-${i})` }), name),
  );
  const movedCount = h("span", {});
  const movedKey = h(
    "li",
    {},
    h("i", { class: "moved-key" }),
    "the axis changed here, no trail leads across: ",
    movedCount,
  );
  const legend = h(
    "ul",
    { class: "legend" },
    ...classKeys,
    run.heads.some((head) => head.rope === false) ? h("li", {}, h("i", { class: "diamond" }), "NoPE layer") : null,
    movedKey,
  );
  const ranges = rangeForm(context, () => now);
  const element = card(
    "Portrait",
    "Each point is a head; drag to select, click to open. Dashed: thresholds of the classes. Trails go with their arrows, up to the checkpoint in view.",
    h(
      "div",
      { class: "toolbar" },
      across.element,
      up.element,
      trails.element,
      downloads(
        () => [run.blob.title, "portrait", run.checkpoints[store.state.at].label],
        "the portrait",
        () => portraitSpec(run, store.state.at, chosen(run, store.state), now),
      ),
    ),
    plot,
    legend,
    missing,
    ranges.element,
  );
  element.classList.add("portrait-card");

  function showAxes(): void {
    across.show([now.x.key]);
    up.show([now.y.key]);
    plot.setAttribute("aria-label", `Heads by ${now.x.name} and ${now.y.name}; drag to select`);
    ranges.render();
  }
  showAxes();

  return {
    element,
    render() {
      const { state } = store;
      trails.input.value = state.trails;
      if (now.x.key !== state.x || now.y.key !== state.y) {
        now = axesOf();
        const next = frame(now, run.low, run.high);
        drawn.replaceWith(next);
        drawn = next;
        shown = -1;
        showAxes();
      }
      const colours = coloring(run, state);
      let undefinedHeads = 0;
      points.forEach((point, i) => {
        const passing = passes(run, state, i);
        const dim = state.selected.size > 0 && !state.selected.has(i);
        const look = `point${run.heads[i].rope === false ? " nope" : ""}${passing ? "" : " out"}${dim ? " dim" : ""}${passing && state.selected.has(i) ? " selected" : ""}${breaks(state.at, i) ? " moved" : ""}`;
        if (point.getAttribute("class") !== look) point.setAttribute("class", look);
        const colour = colours.colour(i) ?? "transparent";
        if (point.style.getPropertyValue("--c") !== colour) point.style.setProperty("--c", colour);
        const nowhere = Number.isNaN(now.x.value(state.at, i) + now.y.value(state.at, i));
        if (run.measured(state.at, i) && nowhere) ++undefinedHeads;
      });
      classKeys.forEach((key) => (key.hidden = !colours.isClass));
      const moved = run.heads.filter(({ index }) => passes(run, state, index) && breaks(state.at, index)).length;
      movedKey.hidden = moved === 0;
      movedCount.replaceChildren(number(ofPage("moved"), count(moved, "head")));
      missing.replaceChildren(
        ...(undefinedHeads
          ? [
              number(ofPage("undefined"), undefinedHeads === 1 ? "1 head has" : `${undefinedHeads} heads have`),
              ` no ${now.x.key} or no ${now.y.key} here, not drawn.`,
            ]
          : []),
      );
      const passing = run.heads.map((head) => head.index).filter((head) => passes(run, state, head));
      showTrails("all", state.trails === "all" ? passing : []);
      const wanted = new Set(state.selected);
      if (state.focus !== null) wanted.add(state.focus);
      showTrails("chosen", state.trails === "none" ? [] : [...wanted].filter((head) => passes(run, state, head)));
      if (shown !== state.at) move();
      else moveMarks();
    },
  };
}
