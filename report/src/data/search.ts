import { CLASSES } from "./classes";
import { namedNumbers } from "./quantities";
import type { Run } from "./run";

/** Whether a row of the table matches. */
type Test = (checkpoint: number, head: number, component: number) => boolean;

export interface Search {
  test: Test;
  /** What was not understood; null: nothing. */
  problem: string | null;
}

const NUMBER = String.raw`-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?`;
const SIGN = "<=|>=|==|!=|<|>|=";
const NAME = String.raw`[a-z_|][\w|]*`;
/** The parts of a search; the first alternative that matches. */
const PARTS = new RegExp(
  [
    String.raw`(?<range>(?<low>${NUMBER})\s*(?<lowSign><=?|>=?)\s*(?<middle>${NAME})\s*(?<highSign><=?|>=?)\s*(?<high>${NUMBER}))`,
    String.raw`(?<compared>(?<name>${NAME})\s*(?<sign>${SIGN})\s*(?<number>${NUMBER}))`,
    String.raw`(?<layerHead>\bl(?<l>\d+)\s*h(?<h>\d+)\b)`,
    String.raw`(?<pair>(?<![^\s,])(?<layer>\d+)\.(?<head>\d+)(?![^\s,]))`,
    String.raw`(?<numbered>\b(?:layer|head)\s+\d+)`,
    String.raw`(?<word>[^\s,]+)`,
  ].join("|"),
  "g",
);

const COMPARE: Record<string, (a: number, b: number) => boolean> = {
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
  "=": (a, b) => a === b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b && !Number.isNaN(a),
};

/**
 * Parses "3.2", "L3H2", "layer 3", "r_q > 0.7", "0.3 < r_k <= 0.7", and words of a row; all must match, or all on one
 * side of "or".
 */
export function parseSearch(run: Run, text: string): Search {
  const numbers = namedNumbers(run);
  let problem: string | null = null;
  const compare = (name: string, sign: string, limit: number): Test => {
    const number = numbers.get(name);
    if (!number) {
      const near = [...numbers.keys()].filter((key) => key.includes(name.slice(0, 3)));
      problem = `There is no number ${name}${near.length ? `; similar: ${near.slice(0, 4).join(", ")}` : ""}.`;
      return () => false;
    }
    return (c, head, pc) => COMPARE[sign](number(c, head, pc), limit);
  };
  const one = (layer: number, q_head: number): Test => {
    const found = run.head(layer, q_head)?.index;
    return (_, head) => head === found;
  };
  const mirrored = (sign: string) => sign.replace(/[<>]/, (c) => (c === "<" ? ">" : "<"));

  const wanted: Test[][] = [[]];
  const plain = text
    .toLowerCase()
    .replaceAll("−", "-")
    .replaceAll("≤", "<=")
    .replaceAll("≥", ">=");
  for (const { groups } of plain.matchAll(PARTS)) {
    const found = groups as Record<string, string | undefined>;
    const last = wanted[wanted.length - 1];
    const word = found["word"];
    if (found["range"]) {
      last.push(compare(found["middle"]!, mirrored(found["lowSign"]!), Number(found["low"])));
      last.push(compare(found["middle"]!, found["highSign"]!, Number(found["high"])));
    } else if (found["compared"]) {
      last.push(compare(found["name"]!, found["sign"]!, Number(found["number"])));
    } else if (found["layerHead"]) {
      last.push(one(Number(found["l"]), Number(found["h"])));
    } else if (found["pair"]) {
      last.push(one(Number(found["layer"]), Number(found["head"])));
    } else if (found["numbered"]) {
      // the separator keeps "layer 3" from matching layer 30
      last.push(contains(run, found["numbered"].replace(/\s+(\d+)/, " $1;")));
    } else if (word === "or") {
      wanted.push([]);
    } else if (word && word !== "and") {
      if (/[<>=]/.test(word)) problem = `A comparison looks like r_q > 0.7; ${word} lacks a name or a number.`;
      else if (!words(run).some((known) => known.includes(word))) problem = `No row has ${word}.${nearest(run, word)}`;
      last.push(contains(run, word));
    }
  }
  const sides = wanted.filter((side) => side.length);
  if (!sides.length) return { test: () => true, problem };
  return { test: (c, head, pc) => sides.some((side) => side.every((test) => test(c, head, pc))), problem };
}

const known = new WeakMap<Run, string[]>();

/** The texts in which words of a search are found: names, classes, flags. */
function words(run: Run): string[] {
  let found = known.get(run);
  if (!found) {
    const { flags, head_flags } = run.blob.table;
    const all = [
      ...run.checkpoints.flatMap(({ label, phase }) => [label, phase]),
      ...run.heads.flatMap(({ layer, q_head, name }) => [name, `layer ${layer};`, `head ${q_head};`]),
      ...(run.heads.some(({ rope }) => rope !== null) ? ["rope", "nope"] : []),
      ...CLASSES,
      "no class",
      ...[...flags.names, ...(head_flags?.names ?? [])].flatMap((joined) => joined.split(";")),
    ];
    found = [...new Set(all.filter((one) => one).map((one) => one.toLowerCase()))];
    known.set(run, found);
  }
  return found;
}

/** " Similar: near_tie." */
function nearest(run: Run, word: string): string {
  const near = words(run)
    .map((one) => ({ one, far: distance(one, word) }))
    .filter(({ one, far }) => far <= Math.max(1, Math.floor(one.length / 3)))
    .sort((a, b) => a.far - b.far);
  return near.length ? ` Similar: ${near[0].one}.` : "";
}

/** The number of letters to be changed, added or removed. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j)
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + Number(a[i - 1] !== b[j - 1])));
    row = next;
  }
  return row[b.length];
}

function contains(run: Run, word: string): Test {
  return (checkpoint, head, component) => {
    const { layer, q_head, name, rope } = run.heads[head];
    const c = run.checkpoints[checkpoint];
    return [
      c.label,
      c.phase,
      name,
      `layer ${layer};`,
      `head ${q_head};`,
      rope === null ? "" : rope ? "rope" : "nope",
      CLASSES[run.classOf(checkpoint, head)] ?? "no class",
      run.flags(checkpoint, head, component).join(" "),
    ].some((part) => part.toLowerCase().includes(word));
  };
}
