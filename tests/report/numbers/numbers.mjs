// Finds the source of a number on a page: reads `data-number` (report/src/data/source.ts) and the files of the run, and
// reports numbers that differ from their source.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { readCsv, reports } from "../browser.mjs";

const CLASSES = ["position-dominated", "q-positional", "k-positional", "content-focused", "mixed"];
const NUMBER = String.raw`[+−]?\d[\d,]*(?:\.\d+)?(?:e[+−-]?\d+)?`;
const Z = 1.959963984540054;

const parsed = (text) => Number(text.replaceAll(",", "").replaceAll("−", "-").replace(/^\+/, ""));
const decimalsOf = (text) => /\.(\d+)/.exec(text)?.[1].length ?? 0;
/** Whether `text` is `value`, rounded to the decimals of `text`; the page holds numbers of heads as float32. */
function rounds(text, value, loss = 2e-7) {
  return Math.abs(parsed(text) - value) <= 0.5000001 * 10 ** -decimalsOf(text) + Math.abs(value) * loss;
}

export class Files {
  constructor(name) {
    this.folder = join(reports, name);
    this.read = new Map();
  }

  text(file) {
    const path = join(this.folder, file);
    return existsSync(path) ? readFileSync(path, "utf8") : null;
  }

  json(file) {
    if (!this.read.has(file)) this.read.set(file, JSON.parse(this.text(file) ?? "null"));
    return this.read.get(file);
  }

  rows(file) {
    if (!this.read.has(file)) {
      const text = this.text(file);
      this.read.set(file, text === null ? [] : readCsv(text).map((row) => ({ ...row, checkpoint: bare(row.checkpoint) })));
    }
    return this.read.get(file);
  }

  /** The row of a table, by the name in the source. */
  row(file, name) {
    const key = `by name ${file}`;
    if (!this.read.has(key)) {
      const [rows, pairs] = [new Map(), new Map()];
      for (const row of this.rows(file)) {
        const head = `${row.checkpoint}/${row.layer}.${row.q_head}`;
        if (file === "qk.csv") rows.set(`${head}/PC${row.pc}`, row);
        else if (file === "bands.csv") rows.set(`${head}/${row.pair}`, row);
        else if (file === "curves.csv") {
          const point = `${head}/${Number(row.x)}`;
          const found = pairs.get(point) ?? { x: row.x };
          pairs.set(point, found);
          found[row.curve] = row.value;
          found[`${row.curve}_se`] = row.value_se;
          found[`${row.curve}_x_end`] = row.x_end;
          rows.set(point, found);
        } else if (file === "ablate.csv") rows.set(`${row.checkpoint}/${row.set}/${row.edit}`, row);
        else if (file === "edges.csv") {
          const rank = pairs.get(head) ?? 0;
          pairs.set(head, rank + 1);
          rows.set(`${head}/${rank}`, row);
        } else if (file === "loss.csv") {
          rows.set(row.position === "" ? row.checkpoint : `${row.checkpoint}/${row.position}`, row);
        } else rows.set(head, row);
      }
      this.read.set(key, rows);
    }
    return this.read.get(key).get(name);
  }

  labels(kind = () => true) {
    return [...new Set(this.rows("qk.csv").filter(kind).map((row) => row.checkpoint))];
  }

  /** The heads of a checkpoint with their class. */
  classes(label) {
    return new Map(
      this.rows("qk.csv")
        .filter((row) => row.checkpoint === label && Number(row.pc ?? 0) === 0)
        .map((row) => [`${row.layer}.${row.q_head}`, classOf(Number(row.r_q || NaN), Number(row.r_k || NaN))]),
    );
  }

  /** The flags of both tables by head, at one checkpoint, or with "*" at any checkpoint of the run. */
  flagged(label, flag) {
    const found = new Set();
    const random = new Set(this.labels((row) => row.flag?.includes("random_weights")));
    for (const file of ["qk.csv", "heads.csv"])
      for (const row of this.rows(file))
        if (Number(row.pc ?? 0) === 0 && (label === "*" ? !random.has(row.checkpoint) : row.checkpoint === label))
          if ((row.flag ?? "").split(";").includes(flag)) found.add(`${row.layer}.${row.q_head}`);
    return found.size;
  }
}

/** A name as in its table, without the apostrophe against formulas. */
const bare = (name) => (/^'+[=+\-@\t\r]/.test(name ?? "") ? name.slice(1) : name);

function classOf(r_q, r_k) {
  const k = Math.abs(r_k);
  if (Number.isNaN(r_q + k)) return "";
  if (r_q > 0.7 && k > 0.7) return CLASSES[0];
  if (r_q > 0.7 && k < 0.3) return CLASSES[1];
  if (r_q < 0.3 && k > 0.7) return CLASSES[2];
  return r_q < 0.3 && k < 0.3 ? CLASSES[3] : CLASSES[4];
}

const at = (object, path) => path.split(".").reduce((found, key) => found?.[key], object);
const finite = (text) => (text === "" || text === undefined || text === null || text === "nan" ? null : Number(text));

/** The entry of a summary under a row (a label, a pair, a head to look at) and a path of keys. */
function fromSummary(summary, row, path) {
  if (row === "") return at(summary, path);
  const top = /^top_heads\/(\d+)\.(\d+)$/.exec(row);
  if (top) return summary.top_heads.find((one) => one.layer === Number(top[1]) && one.q_head === Number(top[2]))?.[path];
  const difference = [...(summary.differences ?? []), ...(summary.whole_run ? [summary.whole_run] : [])].find(({ from, to }) => row === `${from} → ${to}`);
  if (difference) return at(difference, path);
  const [first, ...rest] = path.split(".");
  if (first === "checkpoint") {
    const entry = summary.checkpoints.find(({ label }) => label === row);
    return rest[0] === "layers" ? entry.last_layer + 1 : entry[rest[0]];
  }
  const group = summary[first]?.[row];
  return rest.length ? at(group, rest.join(".")) : group;
}

const errorKey = { change: "se", effect: "effect_se" };

/** { value, se, low, high, second, text } for a number; undefined: the source is unknown. */
export function lookUp(files, from) {
  const [, kind, file, row, column] = /^(?:(count|mean|share|interval):)?([a-z]+\.[a-z]+):(.*):([^:]*)$/s.exec(from) ?? [];
  if (!file) return undefined;
  if (kind === "count") return { value: counted(files, row, column) };
  if (kind === "share" || kind === "mean") {
    const heads = files.classes(row);
    const of = [...heads.values()].filter((name) => name);
    if (kind === "share") return { value: of.filter((name) => `class=${name}` === column).length / of.length, se: null };
    const key = column.replace(/^abs_/, "");
    const values = [...heads]
      .filter(([, name]) => name)
      .map(([head]) => finite(files.row(file, file === "qk.csv" ? `${row}/${head}/PC0` : `${row}/${head}`)?.[key]))
      .filter((value) => value !== null)
      .map((value) => (key === column ? value : Math.abs(value)));
    return { value: values.length ? values.reduce((a, b) => a + b, 0) / values.length : null, se: null };
  }
  if (file === "manifest.json") {
    const manifest = files.json(file);
    if (manifest === null) return { text: null };
    const text = row === "" ? at(manifest, column) : manifest.checkpoints.find(({ label }) => label === row)?.[column];
    return { text };
  }
  if (file === "summary.json") {
    const summary = files.json(file);
    if (summary === null) return { value: null };
    const found = fromSummary(summary, row, column);
    if (typeof found === "string") return { text: found };
    if (Array.isArray(found)) return { value: found.length };
    if (found !== null && typeof found === "object" && "value" in found) return { ...found, share: /^taxonomy\./.test(column), label: row };
    if (found !== null && typeof found === "object") return { value: found.low, second: found.high };
    const se = errorKey[column] ? fromSummary(summary, row, errorKey[column]) : null;
    return { value: found ?? null, se, heads: column.endsWith(".heads") ? summary.checkpoints.find(({ label }) => row.endsWith(` → ${label}`))?.heads : undefined };
  }
  const found = files.row(file, row);
  if (file === "ablate.csv" && ["set", "edit"].includes(column)) return { text: found?.[column] };
  if (column === "wavelength") return { value: found ? (2 * Math.PI) / Number(found.theta) : null };
  const value = finite(found?.[column]);
  const se = finite(found?.[`${column}_se`]);
  if (kind !== "interval") return { value, se, float: !["qk.csv", "loss.csv", "ablate.csv"].includes(file) };
  const t95 = files.json("summary.json")?.checkpoints.find(({ label }) => row.startsWith(`${label}/`))?.t95;
  // The error of a step function is in octaves: there is no interval of it.
  return value === null || !se || !t95 || column === "dist_argmax" ? { value: null } : { interval: [value - t95 * se, value + t95 * se], loss: t95 * se * 2 ** -8 };
}

function counted(files, row, column) {
  const random = (one) => (one.flag ?? "").includes("random_weights");
  const run = files.labels((one) => !random(one));
  const all = files.labels();
  const steps = run.length ? run : all;
  const ofTable = { steps: () => steps.length, baselines: () => all.length - steps.length, heads: () => unique(files, "q_head"), components: () => unique(files, "pc") };
  if (row === "" && ofTable[column]) return ofTable[column]();
  const one = /^(\d+)\.(\d+)$/.exec(row);
  if (one) {
    const baselines = new Set(files.labels(random));
    const rows = files.rows("heads.csv").filter((r) => `${r.layer}.${r.q_head}` === row && !baselines.has(r.checkpoint));
    return rows.filter((r) => r.flag.split(";").includes(column)).length;
  }
  if (column.startsWith("class=")) return [...files.classes(row).values()].filter((name) => `class=${name}` === column).length;
  const move = /^(.+) → (.+)$/.exec(column);
  if (move) {
    const [from, to] = pairOf(all, row);
    const after = files.classes(to);
    return [...files.classes(from)].filter(([head, name]) => name === move[1] && (move[2] === "all" ? after.get(head) : after.get(head) === move[2])).length;
  }
  return files.flagged(row, column);
}

const unique = (files, column) =>
  new Set(files.rows("qk.csv").map((row) => (column === "q_head" ? `${row.layer}.${row.q_head}` : (row.pc ?? "0")))).size;
const pairOf = (labels, row) => labels.flatMap((from) => labels.map((to) => [from, to])).find(([from, to]) => row === `${from} → ${to}`);

/** The error in a number as the page shows it; null: none. */
export function wrong(files, { from, text, percent, absolute }, seen) {
  const shown = text.replace(/\s+/g, " ").trim();
  if (/± 0(?:\.0*)?(?!\.?\d)/.test(shown)) return `${shown}: an error of zero is no certainty`;
  if (from.startsWith("page:")) return wrongOfPage(files, from.slice(5), shown, seen);
  const found = lookUp(files, from);
  if (found === undefined) return "its source is not understood";
  if ("text" in found) return sameText(shown, found.text) ? null : `the file has ${JSON.stringify(found.text)}`;
  if (found.interval) {
    const ends = shown.match(new RegExp(NUMBER, "g"));
    const good = ends?.length === 2 && ends.every((end, i) => limited(end, found.interval[i], found.loss));
    return good ? null : `the interval is ${found.interval}`;
  }
  const scale = percent ? 100 : 1;
  const value = found.value === null || found.value === undefined ? null : scale * (absolute ? Math.abs(found.value) : found.value);
  // The column of errors.
  const least = new RegExp(`^<(${NUMBER})$`).exec(shown);
  if (least) return value !== null && value > 0 && value < parsed(least[1]) * (1 + 2 ** -8) ? null : `the file has ${value}`;
  if (shown === "–" && from.endsWith("_se")) return value ? `the file has ${value}` : null;
  const [first, ...rest] = shown.match(new RegExp(NUMBER, "g")) ?? [];
  if (first === undefined) return value === null || Number.isNaN(value) ? null : `the file has ${value}`;
  if (value === null) return "the file has no number";
  // The page holds points of series with 16 bits.
  const loss = from.endsWith("_se") ? 2 ** -8 : /^(bands|curves)\.csv/.test(from) ? 2 ** -16 : 2e-7;
  if (!rounds(first, value, loss)) return `the file has ${value}`;
  const error = new RegExp(`± (<?)(${NUMBER})`).exec(shown);
  if (error) {
    const se = found.se === null || found.se === undefined ? null : scale * found.se;
    if (!se) return "the file has no error";
    const loss = found.float ? 2 ** -8 : 1e-9;
    if (error[1] ? se >= parsed(error[2]) * (1 + loss) : !rounds(error[2], se, loss)) return `the file's error is ${se}`;
    return rest.length === 1 ? null : "numbers without a source";
  }
  if (!rest.length) return null;
  if (found.share) return sameInterval(files, found, rest) ? null : `the interval is another one than ${rest}`;
  const second = found.second ?? found.heads;
  return rest.length === 1 && second !== undefined && rounds(rest[0], second) ? null : "numbers without a source";
}

/** Checks numbers that the page counts itself, by the files and by what else is visible (`seen`: inSight()). */
function wrongOfPage(files, what, shown, seen) {
  const measured = (label) => files.rows("qk.csv").filter((row) => (label === undefined || row.checkpoint === label) && Number(row.pc ?? 0) === 0);
  const random = new Set(files.rows("qk.csv").flatMap((row) => (/random_weights/.test(row.flag ?? "") ? [row.checkpoint] : [])));
  const labels = files.labels();
  const run = labels.filter((label) => !random.has(label));
  const steps = run.length ? run : labels;
  const rows = measured(seen.everyCheckpoint ? undefined : seen.at).length;
  const heads = unique(files, "q_head");
  const expected = {
    rows: () => [rows],
    table: () => [seen.tablePage, Math.ceil(rows / seen.tableRows)],
    passing: () => [heads, heads],
    selected: () => [seen.selected],
    moved: () => [files.flagged(seen.at, "axis_changed")],
    incomparable: () => [seen.incomparable],
    undefined: () => [[...files.classes(seen.at).values()].filter((name) => !name).length],
    drawn: () => [seen.lines],
    step: () => [steps.indexOf(seen.at) + 1, steps.length],
    columns: () => seen.columns,
    thresholds: () => [0.3, 0.7],
    bands: () => [Math.round((seen.leftOut.bands ?? NaN) / 1e6)],
    curves: () => [Math.round((seen.leftOut.curves ?? NaN) / 1e6)],
  }[what]?.();
  if (what === "title" || what === "version") {
    const stated = what === "title" ? (files.json("manifest.json")?.name ?? files.rows("qk.csv")[0].model ?? "") : seen.version;
    return shown.includes(stated) ? null : `the file has ${stated}`;
  }
  if (!expected) return "no such part of the page";
  const numbers = (shown.match(new RegExp(NUMBER, "g")) ?? []).map(parsed);
  return isDeepStrictEqual(numbers, expected) ? null : `expected ${expected}`;
}

const sameText = (shown, text) =>
  shown === "–"
    ? leaves(text).length === 0
    : text !== null && typeof text === "object" && !Array.isArray(text)
      ? shown.replace(/[\s,;:×]+/g, "") === leaves(text).join("").replace(/[\s,;:×]+/g, "")
      : flat(shown) === flat(text) || flat(text).startsWith(flat(shown));
/** What a setting holds, without what is empty: the names of its parts and their values. */
const leaves = (value) => {
  if (value === null || value === undefined || value === "") return [];
  if (Array.isArray(value)) return value.flatMap(leaves);
  if (typeof value !== "object") return [{ true: "yes", false: "no" }[value] ?? String(value)];
  const named = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)); // as the program writes them
  return named.flatMap(([key, one]) => (leaves(one).length ? [key, ...leaves(one)] : []));
};
const flat = (value) => (typeof value === "object" ? (value?.map?.(String).join(",") ?? JSON.stringify(value)) : String(value)).replace(/[\s,]+/g, "").replace(/^true$/, "yes").replace(/^false$/, "no");
/** The ends of an interval are cut at the limits of the statistic. */
const limited = (text, value, loss) => [value, Math.max(value, 0), Math.min(value, 1), Math.max(value, -1)].some((end) => Math.abs(parsed(text) - end) <= 0.5000001 * 10 ** -decimalsOf(text) + loss + 1e-7 * Math.abs(value));

/** The binomial interval (Wilson) of a share, in per cent. */
function sameInterval(files, { value, label }, [low, high]) {
  const n = [...files.classes(label).values()].filter((name) => name).length;
  const middle = (value + Z ** 2 / n / 2) / (1 + Z ** 2 / n);
  const half = (Z * Math.sqrt((value * (1 - value)) / n + Z ** 2 / n ** 2 / 4)) / (1 + Z ** 2 / n);
  return rounds(low, 100 * Math.max(0, middle - half)) && rounds(high, 100 * Math.min(1, middle + half));
}
