import { unmoved, type Context, type Part } from "../context";
import type { Role } from "../data/blob";
import type { Head, Run } from "../data/run";
import { h } from "../dom";
import { button, card, classTag } from "../widgets";
import { care } from "./care";
import { composition } from "./composition";
import { headEdges } from "./edges";
import { headNumbers } from "./head_numbers";
import { headSeries } from "./head_series";
import { classHistory, components, numbersOverTraining } from "./head_tables";
import { coloured, roomFor, trajectory } from "./head_trajectory";
import { siblings } from "./siblings";

/** One head: its way through training, its curves and rotary pairs, its components, its class history, and heads that share its keys. */
export function headDetail(context: Context): Part {
  const { run, store } = context;
  const element = h("div", { class: "head-detail", role: "region", "aria-labelledby": "head-title" });

  const alongSomething = headSeries(context);
  const edges = headEdges(context);
  return {
    element,
    render(changed) {
      if (unmoved(changed, "focus", "at", "axis", "quantity", "columns")) return;
      const { focus, at } = store.state;
      element.hidden = focus === null;
      if (focus === null) return element.replaceChildren();
      const head = run.heads[focus];
      const here = run.checkpoints[at].label;
      const sibling = siblings(context, head);
      // A link in the panel that is pressed must keep the focus when the panel is drawn anew.
      const kept = element.contains(document.activeElement)
        ? (document.activeElement as HTMLElement).getAttribute("data-key")
        : null;
      element.replaceChildren(
        heading(context, head),
        ...[care(context, head)].flatMap((part) => part ?? []),
        card(
          run.models ? "By model" : "Over training",
          null,
          legend(context, head),
          trajectory(context, head, roomFor(960), 320, false),
          coloured(context, head),
          classHistory(context, head),
          numbersOverTraining(context, head),
        ),
        ...[edges(head)].flatMap((part) => part ?? []),
        ...alongSomething(head),
        ...[composition(context, head)].flatMap((part) => part ?? []),
        card("Numbers", `Everything that was measured of this head at ${here}.`, headNumbers(context, head)),
        card(
          "Components",
          `At ${here}: variance of each component and how far queries and keys follow position along it.`,
          components(context, head),
        ),
        ...(sibling ? [sibling] : []),
      );
      if (kept)
        for (const made of element.querySelectorAll("button")) if (made.getAttribute("data-key") === kept) made.focus();
      if (store.reveal) {
        store.reveal = false;
        element.scrollIntoView();
        element.querySelector<HTMLElement>("#head-title")!.focus({ preventScroll: true });
      }
    },
  };
}

/** Its name, its class at the checkpoint in view, and what it is. */
function heading({ run, store }: Context, head: Head): HTMLElement {
  const { at } = store.state;
  const facts = [
    head.rope === null ? "" : head.rope ? "RoPE" : "layer without RoPE",
    head.kv_head === null ? "" : `KV head ${head.kv_head}`,
  ].filter((t) => t);
  return h(
    "div",
    { class: "head-heading" },
    h("h2", { id: "head-title", tabindex: "-1" }, `Layer ${head.layer}, head ${head.q_head}`),
    classTag(run.measured(at, head.index) ? run.classOf(at, head.index) : -1),
    ...run.roles(at, head.index).map((role) => roleTag(run, role)),
    h("span", { class: "muted" }, facts.join(" · ")),
    h("span", { class: "spring" }),
    button("Close", () => store.close(), { title: "Esc" }),
  );
}

/** A role, with the score and the threshold by which it is named. */
function roleTag(run: Run, { key, name, score, threshold, errors }: Role): HTMLElement {
  const title = run.statistics.find((one) => one.key === score)?.title ?? score;
  return h(
    "span",
    { class: "role-tag", "data-role": key, "data-definition": `${title} (${score}) is above ${threshold} by more than ${errors} standard errors` },
    name,
  );
}

function legend({ run }: Context, head: Head): HTMLElement {
  return h(
    "p",
    { class: "note series-legend" },
    h("i", { class: "dot queries" }),
    "r_q",
    h("i", { class: "square keys" }),
    "r_k",
    h("span", {}, "· bars: ±1 standard error over documents"),
    run.steps.some(({ index }) => run.axisChanged(index, head.index))
      ? h("span", { class: "named" }, "·", h("i", { class: "line-key broken" }), "hollow, dashed: the axis changed, so signs cannot be compared")
      : null,
  );
}
