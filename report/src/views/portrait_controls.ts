import { portraitSpec } from "../charts/portrait_spec";
import type { Axes } from "../charts/portrait_frame";
import type { Context } from "../context";
import { quantities } from "../data/quantities";
import { h } from "../dom";
import { picker } from "../picker";
import { chosen, type Trails } from "../state";
import { downloads } from "../vega";
import { select } from "../widgets";

const TRAILS: { value: Trails; text: string }[] = [
  { value: "selected", text: "of selected heads" },
  { value: "all", text: "of all heads" },
  { value: "none", text: "none" },
];

/** Chooses the portrait's axes and trails, and saves it as files. */
export function portraitControls(
  { run, store }: Context,
  axes: () => Axes,
): { element: HTMLElement; render(): void; showAxes(): void } {
  const axisPicker = (name: "x" | "y", label: string) =>
    picker(label, quantities(run), (key) => store.update({ [name]: key }));
  const across = axisPicker("x", "across");
  const up = axisPicker("y", "up");
  const trails = select("trails", TRAILS, (value) => store.update({ trails: value as Trails }));
  return {
    element: h(
      "div",
      { class: "toolbar" },
      across.element,
      up.element,
      trails.element,
      downloads(
        () => [run.blob.title, "portrait", run.checkpoints[store.state.at].label],
        "the portrait",
        () => portraitSpec(run, store.state.at, chosen(run, store.state), axes()),
      ),
    ),
    render: () => void (trails.input.value = store.state.trails),
    showAxes() {
      across.show([axes().x.key]);
      up.show([axes().y.key]);
    },
  };
}
