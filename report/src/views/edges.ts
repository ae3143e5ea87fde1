import type { Context } from "../context";
import type { EdgesBlob } from "../data/blob";
import type { Head } from "../data/run";
import { number } from "../data/source";
import { h } from "../dom";
import { decimals } from "../format";
import { card } from "../widgets";

/** So many are shown at first. */
const FIRST = 6;

interface Side {
  id: number;
  before: string;
  text: string;
  after: string;
}

interface Edge {
  document: number;
  t: number;
  key: number;
  p: number;
  query: Side;
  target: Side;
}

function unpack({ texts }: EdgesBlob, [document, t, key, p, queryId, keyId, ...positions]: number[]): Edge {
  const side = (id: number, at: number): Side => ({ id, before: texts[positions[at]], text: texts[positions[at + 1]], after: texts[positions[at + 2]] });
  return { document, t, key, p, query: side(queryId, 0), target: side(keyId, 3) };
}

/** A token with the words around it; without a tokenizer, its id, which stands `from` there. */
function words(name: string, { id, before, text, after }: Side, from: string): HTMLElement {
  const side = h("span", { class: "edge-side" }, name);
  if (before + text + after === "") return h("p", { class: "edge-words" }, side, h("span", {}, "token ", number(from, String(id))));
  const parts = [h("bdi", { class: "muted" }, before), h("mark", {}, h("bdi", {}, text)), h("bdi", { class: "muted" }, after)];
  return h("p", { class: "edge-words" }, side, h("span", { class: "edge-text" }, ...parts));
}

/** What a head links most strongly, in words; null where the run has no edges. */
export function headEdges({ run, store }: Context): (head: Head) => HTMLElement | null {
  const blob = run.blob.edges;
  const found = new Map((blob?.heads ?? []).map(([checkpoint, head, rows]) => [`${checkpoint}/${head}`, rows]));
  let opened = false;

  return (head) => {
    if (!blob || !found.size) return null;
    const { at } = store.state;
    const { label } = run.checkpoints[at];
    const title = "What it looks at";
    const rows = found.get(`${at}/${head.index}`);
    if (!rows) {
      const held = blob.heads.some(([checkpoint]) => checkpoint === at);
      return card(title, held || !blob.left_out ? `No edges of this head at ${label}.` : `The page holds edges of later checkpoints alone. Those of ${label} are in edges.csv.`);
    }
    const item = (row: number[], rank: number): HTMLElement => {
      const edge = unpack(blob, row);
      const from = (key: string) => `edges.csv:${label}/${head.layer}.${head.q_head}/${rank}:${key}`;
      return h(
        "li",
        {},
        h(
          "p",
          { class: "edge-facts" },
          number(from("p"), decimals(edge.p, 2)),
          " of its attention, ",
          number(from("distance"), String(edge.t - edge.key)),
          edge.t - edge.key === 1 ? " token back" : " tokens back",
          h("span", { class: "muted" }, " · document ", number(from("document"), String(edge.document)), ", token ", number(from("t"), String(edge.t))),
        ),
        words("from", edge.query, from("query_id")),
        words("to", edge.target, from("key_id")),
      );
    };
    const list = (from: number, to: number) => h("ol", { class: "edges", start: from + 1 }, ...rows.slice(from, to).map((row, i) => item(row, from + i)));
    const rest = h("div", {});
    const more = h("details", { class: "series-numbers" }, h("summary", { "data-key": "edges" }, "More edges"), rest);
    const fill = () => {
      opened = more.open;
      if (more.open && !rest.childElementCount) rest.append(list(FIRST, rows.length));
    };
    more.addEventListener("toggle", fill);
    if (opened && rows.length > FIRST) {
      more.open = true;
      fill();
    }
    return card(
      title,
      `The tokens to which other tokens give most of their attention at ${label}, at most two of a document, without the first four tokens and without the token itself.`,
      list(0, FIRST),
      rows.length > FIRST ? more : null,
    );
  };
}
