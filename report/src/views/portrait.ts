import { portraitSpec } from "../charts/portrait_spec";
import type { Context, Part } from "../context";
import { CLASSES } from "../data/classes";
import { coloring } from "../data/quantities";
import { describeHead } from "../describe";
import { h, linear, px, s } from "../dom";
import { chosen, passes, type Trails } from "../state";
import { tooltip } from "../tooltip";
import { downloads } from "../vega";
import { card, select } from "../widgets";
import { brush, rangeForm } from "./brush";

const SIZE = 560;
const LEFT = 44;
const BOTTOM = 40;
const GLIDE_MS = 650;
const CIRCLE = "M4.2 0A4.2 4.2 0 1 1-4.2 0A4.2 4.2 0 1 1 4.2 0Z";
const DIAMOND = "M0-5.6L5.6 0L0 5.6L-5.6 0Z";

export const xScale = linear([-0.05, 1.05], [LEFT, SIZE - 8]);
export const yScale = linear([-1.05, 1.05], [SIZE - BOTTOM, 8]);

/** r_q against r_k of every head at the checkpoint in view, on axes that never move. */
export function portrait(context: Context): Part {
  const { run, store } = context;
  const trailsOfAll = s("path", { class: "trail all" });
  const trailsOfChosen = s("path", { class: "trail chosen" });
  const ring = s("circle", { class: "focus-ring", r: 9, visibility: "hidden" });
  const points = run.heads.map((head) =>
    s("path", { class: "point", d: head.rope === false ? DIAMOND : CIRCLE, "data-head": head.index }),
  );
  const plot = s(
    "svg",
    {
      class: "portrait",
      viewBox: `0 0 ${SIZE} ${SIZE}`,
      role: "img",
      "aria-label": "Heads by r_q and r_k; drag to select",
    },
    frame(run.low, run.high),
    trailsOfAll,
    trailsOfChosen,
    s("g", {}, ...points),
    ring,
  );
  // Where each head stands on the screen now; NaN: nowhere.
  const places = run.heads.map(() => ({ x: NaN, y: NaN }));
  const target = (head: number, checkpoint: number) => ({
    x: xScale(run.value("r_q", checkpoint, head)),
    y: yScale(run.value("r_k", checkpoint, head)),
  });

  brush(context, plot, places);
  plot.addEventListener("pointermove", (event) => {
    const head = (event.target as Element).getAttribute?.("data-head");
    if (head === null || event.buttons !== 0) tooltip.hide();
    else tooltip.show(describeHead(run, store.state.at, Number(head)), event.clientX, event.clientY);
  });
  plot.addEventListener("pointerleave", () => tooltip.hide());

  function place(): void {
    points.forEach((point, i) => {
      const { x, y } = places[i];
      const gone = Number.isNaN(x) || Number.isNaN(y);
      point.setAttribute("transform", gone ? "translate(-99 -99)" : `translate(${px(x)} ${px(y)})`);
    });
    const focus = store.state.focus;
    const at = focus === null ? undefined : places[focus];
    ring.setAttribute("visibility", at && !Number.isNaN(at.x + at.y) ? "visible" : "hidden");
    if (at && !Number.isNaN(at.x + at.y)) ring.setAttribute("transform", `translate(${px(at.x)} ${px(at.y)})`);
  }

  let frameId = 0;
  let shown = -1;
  function move(): void {
    cancelAnimationFrame(frameId);
    const { at } = store.state;
    const from = places.map((p) => ({ ...p }));
    const to = run.heads.map((head) => target(head.index, at));
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const begin = performance.now();
    const glide = store.playing && !still && shown >= 0;
    shown = at;
    const step = (now: number) => {
      const part = glide ? Math.min((now - begin) / GLIDE_MS, 1) : 1;
      const eased = part * part * (3 - 2 * part);
      for (let i = 0; i < places.length; ++i) {
        const start = Number.isNaN(from[i].x) ? to[i] : from[i];
        places[i].x = start.x + (to[i].x - start.x) * eased;
        places[i].y = start.y + (to[i].y - start.y) * eased;
      }
      place();
      if (part < 1) frameId = requestAnimationFrame(step);
    };
    step(begin);
  }

  function trail(heads: number[]): string {
    const last = run.checkpoints[store.state.at].step;
    let path = "";
    for (const head of heads) {
      let pen = "M";
      for (const step of run.steps.slice(0, last + 1)) {
        const { x, y } = target(head, step.index);
        if (Number.isNaN(x) || Number.isNaN(y)) continue;
        path += `${pen}${px(x)} ${px(y)}`;
        pen = "L";
      }
    }
    return path;
  }

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
  const legend = h(
    "ul",
    { class: "legend" },
    ...CLASSES.map((name, i) => h("li", {}, h("i", { class: "swatch", style: `background:var(--class-${i})` }), name)),
    run.heads.some((head) => head.rope === false) ? h("li", {}, h("i", { class: "diamond" }), "NoPE layer") : null,
  );
  const element = card(
    "Portrait",
    "Each point is a head; drag to select, click to open. Dashed: thresholds of the classes.",
    h(
      "div",
      { class: "toolbar" },
      trails.element,
      downloads(
        () => [run.blob.title, "portrait", run.checkpoints[store.state.at].label],
        "the portrait",
        () => portraitSpec(run, store.state.at, chosen(run, store.state)),
      ),
    ),
    plot,
    legend,
    missing,
    rangeForm(context),
  );
  element.classList.add("portrait-card");
  return {
    element,
    render() {
      const { state } = store;
      trails.input.value = state.trails;
      const colours = coloring(run, state);
      let undefinedHeads = 0;
      points.forEach((point, i) => {
        const passing = passes(run, state, i);
        const dim = state.selected.size > 0 && !state.selected.has(i);
        const look = `point${run.heads[i].rope === false ? " nope" : ""}${passing ? "" : " out"}${dim ? " dim" : ""}${passing && state.selected.has(i) ? " selected" : ""}`;
        if (point.getAttribute("class") !== look) point.setAttribute("class", look);
        const colour = colours.colour(i) ?? "transparent";
        if (point.style.getPropertyValue("--c") !== colour) point.style.setProperty("--c", colour);
        if (run.measured(state.at, i) && run.classOf(state.at, i) < 0) ++undefinedHeads;
      });
      legend.hidden = !colours.isClass;
      missing.textContent = undefinedHeads
        ? `${undefinedHeads === 1 ? "1 head has" : `${undefinedHeads} heads have`} no r_q or no r_k here, not drawn.`
        : "";
      const passing = run.heads.map((head) => head.index).filter((head) => passes(run, state, head));
      trailsOfAll.setAttribute("d", state.trails === "all" ? trail(passing) : "");
      const wanted = new Set(state.selected);
      if (state.focus !== null) wanted.add(state.focus);
      trailsOfChosen.setAttribute(
        "d",
        state.trails === "none" ? "" : trail([...wanted].filter((head) => passes(run, state, head))),
      );
      if (shown !== state.at) move();
      else place();
    },
  };
}

function frame(low: number, high: number): SVGGElement {
  const group = s("g", { class: "frame" });
  const right = SIZE - 8;
  const bottom = SIZE - BOTTOM;
  group.append(s("rect", { class: "panel", x: LEFT, y: 8, width: right - LEFT, height: bottom - 8 }));
  const names: [string, number, number, string][] = [
    ["position-dominated", 1.03, 0.97, "end"],
    ["position-dominated", 1.03, -1.01, "end"],
    ["q-positional", 1.03, 0.03, "end"],
    ["k-positional", -0.03, 0.97, "start"],
    ["k-positional", -0.03, -1.01, "start"],
    ["content-focused", -0.03, 0.03, "start"],
  ];
  for (const [text, x, y, anchor] of names) {
    group.append(s("text", { class: "zone", x: px(xScale(x)), y: px(yScale(y)), "text-anchor": anchor }, text));
  }
  for (const at of [low, high]) {
    group.append(s("line", { class: "threshold", x1: px(xScale(at)), x2: px(xScale(at)), y1: 8, y2: bottom }));
    for (const sign of [at, -at]) {
      group.append(s("line", { class: "threshold", x1: LEFT, x2: right, y1: px(yScale(sign)), y2: px(yScale(sign)) }));
    }
  }
  for (const tick of [0, low, high, 1]) {
    group.append(
      s("text", { class: "tick", x: px(xScale(tick)), y: bottom + 16, "text-anchor": "middle" }, tick.toFixed(1)),
    );
  }
  for (const tick of [-1, -high, -low, 0, low, high, 1]) {
    const text = tick.toFixed(1).replace("-", "−");
    group.append(s("text", { class: "tick", x: LEFT - 6, y: px(yScale(tick) + 4), "text-anchor": "end" }, text));
  }
  group.append(
    s("text", { class: "axis-title", x: (LEFT + right) / 2, y: SIZE - 6, "text-anchor": "middle" }, "r_q (queries)"),
    s(
      "text",
      { class: "axis-title", transform: `translate(11 ${bottom / 2}) rotate(-90)`, "text-anchor": "middle" },
      "r_k (keys)",
    ),
  );
  return group;
}
