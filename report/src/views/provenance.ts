import type { Context, Part } from "../context";
import { number, ofPage } from "../data/source";
import { h } from "../dom";
import { DASH } from "../format";
import { card, scroller } from "../widgets";

type Json = unknown;

function object(value: Json): Record<string, Json> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, Json>) : {};
}

function shown(value: Json): string {
  if (value === null || value === undefined || value === "") return DASH;
  if (typeof value === "number") return value.toLocaleString("en", { maximumFractionDigits: 12 });
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.length ? value.map((item) => (Array.isArray(item) ? item.map(shown).join(" × ") : shown(item))).join(", ") : DASH;
  const named = Object.entries(value).map(([key, one]) => [key, shown(one as Json)]);
  const there = named.filter(([, text]) => text !== DASH).map(([key, text]) => `${key}: ${text}`);
  return there.length ? there.join("; ") : DASH;
}

const ofManifest = (key: string) => `manifest.json::${key}`;

/** A list of facts, each with its source. */
function facts(entries: [string, Json, string?][]): HTMLElement {
  return h(
    "dl",
    { class: "facts" },
    ...entries.map(([name, value, from]) =>
      h("div", {}, h("dt", {}, name), h("dd", { "data-number": from ?? null }, shown(value))),
    ),
  );
}

/** The parts of a manifest. */
interface Manifest {
  whole: Record<string, Json>;
  corpus: Record<string, Json>;
  settings: Record<string, Json>;
  experiment: Record<string, Json>;
  captures: Record<string, Json>[];
}

function readManifest(json: Json): Manifest {
  const whole = object(json);
  const checkpoints = whole["checkpoints"];
  return {
    whole,
    corpus: object(whole["corpus"]),
    settings: object(whole["settings"]),
    experiment: object(whole["experiment"]),
    captures: Array.isArray(checkpoints) ? (checkpoints as Json[]).map(object) : [],
  };
}

function reportCard({ run, summary }: Context, { whole }: Manifest): HTMLElement {
  return card(
    "This report",
    null,
    facts([
      ["study", whole["name"] ?? run.blob.title, whole["name"] ? ofManifest("name") : ofPage("title")],
      ["measured with ropewalk", whole["ropewalk"], ofManifest("ropewalk")],
      ["page written by ropewalk", run.blob.ropewalk, ofPage("version")],
      [
        "summary.json",
        summary.known ? "used for standard errors and differences" : "none, so there are no standard errors of means",
      ],
      ["thresholds of the classes", `${run.low} and ${run.high}`, summary.known ? "summary.json::thresholds" : ofPage("thresholds")],
    ]),
  );
}

function noManifestCard(): HTMLElement {
  return card(
    "No manifest",
    null,
    h(
      "p",
      {},
      "The table's folder has no manifest.json, so corpus, documents and settings are unknown. `ropewalk run` writes one.",
    ),
  );
}

function corpusCard({ corpus }: Manifest): HTMLElement {
  return card(
    "Corpus",
    "Every checkpoint reads the same documents, cut to its phase's context.",
    facts([
      ["path", corpus["path"], ofManifest("corpus.path")],
      ["documents read", corpus["documents"], ofManifest("corpus.documents")],
      ["tokens, at the longest context", corpus["tokens"], ofManifest("corpus.tokens")],
      ["left out as too short", corpus["skipped_short"], ofManifest("corpus.skipped_short")],
      ["tokenizer (SHA-256)", corpus["tokenizer"], ofManifest("corpus.tokenizer")],
    ]),
  );
}

function settingsCard({ settings }: Manifest): HTMLElement {
  return card("Settings", null, facts(Object.entries(settings).map(([key, value]) => [key.replaceAll("_", " "), value, ofManifest(`settings.${key}`)])));
}

function experimentCard({ experiment }: Manifest, text: string): HTMLElement {
  return card(
    "Experiment file",
    [
      number(ofManifest("experiment.file"), shown(experiment["file"])),
      " · SHA-256 ",
      number(ofManifest("experiment.sha256"), shown(experiment["sha256"])),
    ],
    scroller("Text of the experiment file", h("pre", {}, text)),
  );
}

function citationCard(version: string, manifest: Manifest): HTMLElement {
  return card(
    "How to cite",
    null,
    h(
      "p",
      {},
      "Name the version, the model, the documents and the experiment file's digest, so that others can measure the same:",
    ),
    scroller("Citation", h("pre", { class: "citation" }, citation(version, manifest))),
  );
}

function manifestCard(json: Json): HTMLElement {
  return card(
    "Manifest",
    null,
    h(
      "details",
      {},
      h("summary", {}, "manifest.json in full"),
      scroller("Text of the manifest", h("pre", {}, JSON.stringify(json, null, 1))),
    ),
  );
}

/** Shows where the numbers come from. */
export function provenance(context: Context): Part {
  const { blob } = context.run;
  const known = blob.manifest !== null;
  const manifest = readManifest(blob.manifest);
  const text = manifest.experiment["text"];
  const cards = [
    reportCard(context, manifest),
    ...(known ? [corpusCard(manifest), settingsCard(manifest)] : [noManifestCard()]),
    ...(manifest.captures.length ? [checkpointTable(manifest.captures)] : []),
    ...(typeof text === "string" ? [experimentCard(manifest, text)] : []),
    citationCard(blob.ropewalk, manifest),
    ...(known ? [manifestCard(blob.manifest)] : []),
  ];
  return { element: h("div", { class: "provenance" }, ...cards), render: () => undefined };
}

function checkpointTable(captures: Record<string, Json>[]): HTMLElement {
  const columns: [string, string][] = [
    ["label", "checkpoint"],
    ["phase", "phase"],
    ["model", "model"],
    ["context", "context"],
    ["documents", "documents"],
    ["tokens", "tokens"],
    ["dtype", "dtype"],
    ["device", "device"],
    ["weights", "weights (fingerprint)"],
  ];
  const rows = captures.map((capture) =>
    h(
      "tr",
      {},
      ...columns.map(([key], i) =>
        h(
          i === 0 ? "th" : "td",
          { scope: i === 0 ? "row" : null, "data-number": `manifest.json:${shown(capture["label"])}:${key}` },
          key === "weights" ? shown(capture[key]).slice(0, 16) : shown(capture[key]),
        ),
      ),
    ),
  );
  return card(
    "Checkpoints as measured",
    null,
    scroller(
      "Table of checkpoints as measured",
      h(
        "table",
        { class: "numbers" },
        h("thead", {}, h("tr", {}, ...columns.map(([, name]) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, ...rows),
      ),
    ),
  );
}

function citation(version: string, { whole, corpus, experiment }: Manifest): string {
  const documents = corpus["documents"] !== undefined ? `; ${shown(corpus["documents"])} documents, ${shown(corpus["tokens"])} tokens` : "";
  const digest = experiment["sha256"] ? `; experiment ${String(experiment["sha256"]).slice(0, 16)}` : "";
  const lines = [
    `@misc{ropewalk_report,`,
    `  title = {Position in attention heads${whole["name"] ? ` of ${String(whole["name"])}` : ""}},`,
    `  note = {Measured with Ropewalk ${String(whole["ropewalk"] ?? version)}${documents}${digest}},`,
    `}`,
  ];
  return lines.join("\n");
}
