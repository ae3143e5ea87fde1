import { trails } from "../charts/trail";
import type { Context } from "../context";
import { s } from "../dom";

type Name = "all" | "chosen";

function layers(name: Name) {
  return {
    line: s("path", { class: `trail ${name}` }),
    broken: s("path", { class: `trail broken ${name}` }),
    starts: s("path", { class: `trail-start ${name}` }),
    arrows: s("path", { class: `trail-arrow ${name}` }),
  };
}

/**
 * The paths of heads from the first checkpoint to the current one, at its context: of all heads, and above them of the
 * selected ones. `target` gives the position of a head; `breaks` says where a path is interrupted because the axis is
 * another one.
 */
export function portraitTrails(
  { run, store }: Context,
  breaks: (checkpoint: number, head: number) => boolean,
  target: (head: number, checkpoint: number) => { x: number; y: number },
): { elements: SVGElement[]; show(name: Name, heads: number[]): void } {
  const of = { all: layers("all"), chosen: layers("chosen") };
  return {
    elements: [of.all, of.chosen].flatMap(({ line, broken, starts, arrows }) => [line, broken, starts, arrows]),
    show(name, heads) {
      const here = run.checkpoints[store.state.at];
      const steps = here.baseline ? [] : run.order.wayTo(here);
      const ways = heads.map((head) =>
        steps
          .map((step) => ({ ...target(head, step.index), breaks: breaks(step.index, head) }))
          .filter(({ x, y }) => !Number.isNaN(x + y)),
      );
      const { line, broken, starts, arrows } = trails(ways, name === "chosen");
      of[name].line.setAttribute("d", line);
      of[name].broken.setAttribute("d", broken);
      of[name].starts.setAttribute("d", name === "chosen" ? starts : "");
      of[name].arrows.setAttribute("d", arrows);
    },
  };
}
