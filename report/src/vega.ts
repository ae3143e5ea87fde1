import * as vega from "vega";
import embed from "vega-embed";
import { expressionInterpreter } from "vega-interpreter";
import { compile, type TopLevelSpec } from "vega-lite";
import { fileName, saveBlob, saveText } from "./download";
import { h } from "./dom";
import { button } from "./widgets";

type Spec = Record<string, unknown>;

/** Draws a figure like the printed one. Expressions are interpreted, so that the page needs no eval. */
export async function draw(into: HTMLElement, spec: Spec): Promise<void> {
  const quiet = { ...spec, config: { ...(spec["config"] as Spec), aria: false } };
  await embed(into, quiet as unknown as TopLevelSpec, {
    actions: false,
    renderer: "svg",
    ast: true,
    expr: expressionInterpreter,
    mode: "vega-lite",
    tooltip: false,
  });
  // The surrounding element has a name for screen readers, to which single marks say nothing.
  into.querySelector("svg")?.setAttribute("aria-hidden", "true");
}

function view(spec: Spec): vega.View {
  const compiled = compile(spec as unknown as TopLevelSpec).spec;
  const runtime = vega.parse(compiled, undefined, { ast: true } as never);
  return new vega.View(runtime, { renderer: "none", expr: expressionInterpreter } as never);
}

async function savePng(name: string, spec: Spec): Promise<void> {
  const canvas = (await view(spec).toCanvas(2)) as unknown as HTMLCanvasElement;
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob) saveBlob(`${name}.png`, blob);
}

/** Three buttons: the figure as PNG (2×), SVG and Vega-Lite JSON, like the printed one. */
export function downloads(name: () => string[], title: string, spec: () => Spec): HTMLElement {
  const file = () => fileName(...name());
  const one = (format: string, save: () => unknown) =>
    button(format, () => void save(), { class: "button small", "aria-label": `Download ${title} as ${format}` });
  return h(
    "div",
    { class: "downloads", role: "group", "aria-label": `Downloads of ${title}` },
    one("PNG", () => savePng(file(), spec())),
    one("SVG", async () => saveText(`${file()}.svg`, await view(spec()).toSVG(), "image/svg+xml")),
    one("JSON", () => saveText(`${file()}.vl.json`, `${JSON.stringify(spec(), null, 1)}\n`, "application/json")),
  );
}
