// Compares every mark that Vega drew on a page with the files of the run. A row that none of the checks below knows is
// a number without a source.
import { Effects } from "./effects.mjs";
import { lookUp } from "./numbers.mjs";

/** The statistics behind the lines of a figure, by their names in its legend. */
const LINES = {
  "mean r_q (queries)": "r_q",
  "mean r_k (keys)": "r_k",
  "mean |r_k|": "abs_r_k",
  "R² of queries": "r2cv_q",
  "R² of keys": "r2cv_k",
  "position in logits": "logit_pos_share",
  PC0: "explained_variance",
  "bias over the context": "bias_context",
  "bias per token, without the softmax scale": "bias_strength",
  "all positions": "ap_overall",
  "first fifth": "ap_first20",
  "last fifth": "ap_last20",
};
const PARTS = { offset: "pc0_offset", "position of queries": "pc0_pos_q", "position of keys": "pc0_pos_k", content: "pc0_content" };
/** Beside the roles that the page knows. */
const PLACE = { name: "place", score: "positional", threshold: 0.5, errors: 2 };
const CURVES = { predicted: "dist_pred", actual: "dist_actual" };

/** Draws all figures of the page; returns the data and the positions of their marks. */
export async function drawings(page) {
  const names = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).figure_names);
  const found = {};
  for (const name of names) {
    const figure = page.locator(`[data-figure="${name}"]`);
    await figure.scrollIntoViewIfNeeded();
    await page.waitForSelector(`[data-figure="${name}"].drawn svg`);
    found[name] = await figure.evaluate((canvas) =>
      [...canvas.querySelectorAll("svg g.role-mark")].flatMap((group) => {
        const mark = group.firstElementChild?.__data__?.mark;
        if (!mark) return [];
        const plain = (datum) => Object.fromEntries(Object.entries(datum ?? {}).filter(([, value]) => typeof value !== "object" || value === null));
        return [{ name: mark.name ?? "", kind: mark.marktype, items: mark.items.map(({ datum, x, x2, y, y2, height, text }) => ({ datum: plain(datum), x, x2, y, y2, height, text })) }];
      }),
    );
  }
  return found;
}

/** The errors in a page's figures, and how many numbers were compared with the files. */
export function wrongInDrawings(files, blob, drawn) {
  const problems = [];
  let checked = 0;
  for (const [figure, marks] of Object.entries(drawn)) {
    const check = new Check(files, blob, figure);
    for (const { name, kind, items } of marks) {
      for (const { datum } of items) {
        const wrong = check.row(datum, name);
        if (wrong) problems.push(`${figure}, ${name}: ${wrong} (${JSON.stringify(datum)})`);
      }
      const bent = figure === "ablate" ? outOfRow(kind, items) : outOfLine(name, kind, items, figure === "loss");
      if (bent) problems.push(`${figure}, ${name}: ${bent}`);
    }
    const texts = marks.filter(({ kind }) => kind === "text").flatMap(({ items }) => items);
    problems.push(...check.texts(texts, marks).map((wrong) => `${figure}: ${wrong}`));
    if (figure === "ablate") problems.push(...check.effects.missing(marks).map((wrong) => `${figure}: ${wrong}`));
    if (!check.checked) problems.push(`${figure}: shows no number that is of a file`);
    checked += check.checked;
  }
  return { problems, checked };
}

/** The positions of marks of numbers must be a linear function of the numbers. */
function outOfLine(name, kind, items, logarithmic) {
  const number = { symbol: (d) => d.mean, rule: (d) => (name.startsWith("bars") ? d.se_low : d.mean) }[kind];
  if (!number) return null;
  const of = (datum) => (logarithmic && datum.series === "loss" && number(datum) ? Math.log(number(datum)) : number(datum));
  const points = items.map(({ datum, y }) => [of(datum), y]).filter(([value, y]) => typeof value === "number" && Number.isFinite(y));
  if (points.length < 3) return null;
  const [low, high] = [Math.min, Math.max].map((pick) => points.find(([value]) => value === pick(...points.map(([one]) => one))));
  if (low[0] === high[0]) return null;
  const slope = (high[1] - low[1]) / (high[0] - low[0]);
  const far = Math.max(...points.map(([value, y]) => Math.abs(low[1] + slope * (value - low[0]) - y)));
  return slope >= 0 || far > 0.01 ? `marks stand up to ${far} pixels from their numbers` : null;
}

/** The same for marks that stand along x. */
function outOfRow(kind, items) {
  const ends = items.flatMap(({ datum, x, x2 }) =>
    kind === "symbol" ? [[datum.value, x]] : kind === "rule" && "low" in datum ? [[datum.low, Math.min(x, x2)], [datum.high, Math.max(x, x2)]] : [],
  );
  if (ends.length < 3) return null;
  const [low, high] = [Math.min, Math.max].map((pick) => ends.find(([value]) => value === pick(...ends.map(([one]) => one))));
  if (low[0] === high[0]) return null;
  const slope = (high[1] - low[1]) / (high[0] - low[0]);
  const far = Math.max(...ends.map(([value, x]) => Math.abs(low[1] + slope * (value - low[0]) - x)));
  return slope <= 0 || far > 0.01 ? `marks stand up to ${far} pixels from their numbers` : null;
}

const near = (shown, value) =>
  shown === null || value === null || Number.isNaN(value) ? (shown ?? null) === (Number.isNaN(value) ? null : value) : Math.abs(shown - value) <= 1e-6 * Math.max(1e-3, Math.abs(value));

class Check {
  constructor(files, blob, figure) {
    this.files = files;
    this.blob = blob;
    this.figure = figure;
    this.checked = 0;
    this.summary = files.json("summary.json");
    this.effects = new Effects(files, blob.figures[figure]);
  }

  /** Null: the row agrees with the files. */
  row(datum, name) {
    const { checkpoint } = datum;
    if (this.figure === "ablate" && "kind" in datum) return this.effect(this.effects.ofCheckpoint(datum, name), datum);
    if (checkpoint === undefined && !("layer" in datum)) return this.scaffold(datum);
    if (checkpoint !== undefined && !this.files.labels().includes(this.labelOf(checkpoint))) return "no such checkpoint";
    if (this.figure === "ablate_training") return this.effect(this.effects.overTraining(datum, name), datum);
    if (this.figure === "roles") return this.role(datum, name);
    if ("series" in datum) return this.mean(datum);
    if ("fraction" in datum) return this.share(datum);
    if ("wavelength" in datum) return this.band(datum, name);
    if ("curve" in datum) return this.distance(datum, name);
    if ("plasticity" in datum) return this.curve(datum);
    if ("component" in datum) return this.part(datum);
    if ("bin" in datum) return this.cell(datum);
    if ("context" in datum) return this.numbers({ context: this.entry(checkpoint)?.context ?? null }, datum);
    if ("layer" in datum) return this.head(datum, name);
    return "a row of no known kind";
  }

  /** Names and lines of phases, thresholds of portraits, numbers written on bars (texts()). */
  scaffold(datum) {
    const keys = Object.keys(datum).filter((key) => !/^(x|y)(_|$)|^(_|ink$|Symbol)/.test(key));
    if (keys.every((key) => ["phase", "position", "text"].includes(key))) return null;
    const thresholds = [this.summary?.thresholds?.low ?? 0.3, this.summary?.thresholds?.high ?? 0.7].flatMap((at) => [at, -at]);
    return keys.length === 1 && thresholds.includes(datum[keys[0]]) ? null : "a row of no known kind";
  }

  /** A label that ends with its context, as in legends. */
  labelOf(shown) {
    const all = this.files.labels();
    return all.includes(shown) ? shown : (all.find((label) => shown === `${label} @${this.entry(label)?.context}`) ?? shown);
  }

  entry(label) {
    return this.summary?.checkpoints.find((one) => one.label === label);
  }

  reading(key) {
    for (const statistic of this.blob.statistics)
      for (const reading of statistic.readings) if (reading.key === key) return { statistic, reading };
    return null;
  }

  /** The heads that count, with their values. */
  values(label, key) {
    const found = this.reading(key);
    const column = found.statistic.key;
    const file = found.statistic.table === "heads" ? "heads.csv" : "qk.csv";
    return [...this.files.classes(label)]
      .filter(([, name]) => name)
      .map(([head]) => this.files.row(file, file === "qk.csv" ? `${label}/${head}/PC0` : `${label}/${head}`)?.[column])
      .filter((text) => text !== "" && text !== undefined && text !== "nan")
      .map((text) => (found.reading.absolute ? Math.abs(Number(text)) : Number(text)));
  }

  numbers(expected, shown) {
    for (const [key, value] of Object.entries(expected)) {
      ++this.checked;
      if (!near(shown[key] ?? null, value ?? null)) return `${key} is ${shown[key]}, the files have ${value}`;
    }
    return null;
  }

  effect({ wrong, expected }, datum) {
    return wrong ?? this.numbers(expected, datum);
  }

  mean(datum) {
    const { checkpoint: label, series } = datum;
    if (this.figure === "loss" && series === "loss") {
      const { value, se } = lookUp(this.files, `loss.csv:${label}:loss`);
      const ends = se === null ? {} : { se_low: value - se, se_high: value + se };
      return this.numbers({ mean: value, se, ...("se_low" in datum ? ends : {}) }, datum);
    }
    const key = /^over_training_/.test(this.figure) ? this.figure.replace("over_training_", "") : LINES[series];
    if (!key || !this.reading(key)) return "a line of no known statistic";
    const values = this.values(label, key);
    const mean = average(values);
    const expected = { mean, heads: values.length };
    if (datum.sd !== null) expected.sd = values.length > 1 ? Math.sqrt((average(values.map((one) => (one - mean) ** 2)) * values.length) / (values.length - 1)) : null;
    if (datum.se !== null) expected.se = this.summary?.[this.reading(key).reading.mean]?.[label]?.se ?? null;
    const stated = this.summary?.[this.reading(key).reading.mean]?.[label]?.se ?? null;
    if (datum.se === null && stated !== null && mean !== null) return "the error is left out";
    if (datum.se !== null && "se_low" in datum) Object.assign(expected, { se_low: mean - datum.se, se_high: mean + datum.se });
    if ("band_low" in datum) Object.assign(expected, this.band_ends(key, values, mean, datum.sd === null ? null : expected.sd));
    return this.numbers(expected, datum);
  }

  /** Above, the mean score of the strongest tenth of the heads; below, the share whose score is above the threshold by more than its error. */
  role(datum, name) {
    const role = [...(this.blob.roles ?? []), PLACE].find((one) => one.name === datum.series);
    if (!role) return "a line of no known role";
    const number = (row, column) => (["", "nan", undefined].includes(row[column]) ? NaN : Number(row[column]));
    const rows = this.files.rows("heads.csv").filter(({ checkpoint }) => checkpoint === datum.checkpoint);
    const known = rows.map((row) => [number(row, role.score), number(row, `${role.score}_se`)]).filter((one) => !one.some(Number.isNaN));
    const scores = known.map(([score]) => score).sort((a, b) => b - a);
    const above = known.filter(([score, se]) => score - role.errors * se > role.threshold);
    const mean = /below|_2_/.test(name) ? above.length / known.length : average(scores.slice(0, Math.ceil(scores.length / 10)));
    return this.numbers({ mean: known.length ? mean : null, se: null }, datum);
  }

  /** One standard deviation to each side or the middle half of the heads, as the subtitle says; neither passes the statistic's limits. */
  band_ends(key, values, mean, sd) {
    if (mean === null || sd === null) return { band_low: null, band_high: null };
    const { statistic, reading } = this.reading(key);
    const [low, high] = [reading.absolute ? 0 : (statistic.low ?? -Infinity), statistic.high ?? Infinity];
    const subtitle = [this.blob.figures[this.figure].title.subtitle].flat().join(" ");
    const sorted = [...values].sort((a, b) => a - b);
    const quantile = (part) => {
      const position = part * (sorted.length - 1);
      const [below, above] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]];
      return below + (above - below) * (position - Math.floor(position));
    };
    const [from, to] = /middle half of the heads/.test(subtitle) ? [quantile(0.25), quantile(0.75)] : [mean - sd, mean + sd];
    return { band_low: Math.max(from, low), band_high: Math.min(to, high) };
  }

  share(datum) {
    const { checkpoint: label } = datum;
    const classes = [...this.files.classes(label).values()].filter((name) => name);
    const name = datum.class ?? "position-dominated";
    const heads = classes.filter((one) => one === name).length;
    const expected = { fraction: heads / classes.length };
    if ("heads" in datum) Object.assign(expected, { heads, of: classes.length });
    const se = this.summary?.taxonomy?.[label]?.[name]?.se ?? null;
    if (datum.se !== null || se !== null) expected.se = se;
    if ("se_low" in datum) Object.assign(expected, { se_low: Math.max(0, expected.fraction - se), se_high: Math.min(1, expected.fraction + se) });
    if ("from" in datum) expected.to = datum.from + expected.fraction;
    return this.numbers(expected, datum);
  }

  part(datum) {
    const { checkpoint: label, component } = datum;
    const key = PARTS[component];
    let share;
    if (key) share = average(this.values(label, key));
    else {
      const heads = [...this.files.classes(label)].filter(([, name]) => name).map(([head]) => head);
      const all = heads.map((head) => this.files.row("qk.csv", `${label}/${head}/${component}`)?.explained_variance);
      share = average(all.filter((text) => text !== undefined && text !== "").map(Number));
    }
    return this.numbers({ share, to: datum.from + share }, datum);
  }

  cell(datum) {
    const { checkpoint: label, bin } = datum;
    const key = this.figure.replace(/^(by_depth_|depth_)/, "");
    const found = this.reading(key);
    if (!found) return "cells of no known statistic";
    const last = this.entry(label)?.last_layer ?? Math.max(...this.files.rows("qk.csv").map(({ layer }) => Number(layer)));
    const heads = [...this.files.classes(label)].filter(([head, name]) => name && binOf(Number(head.split(".")[0]), last) === bin);
    const { statistic, reading } = found;
    const file = statistic.table === "heads" ? "heads.csv" : "qk.csv";
    const values = heads
      .map(([head]) => this.files.row(file, file === "qk.csv" ? `${label}/${head}/PC0` : `${label}/${head}`)?.[statistic.key])
      .filter((text) => text !== "" && text !== undefined && text !== "nan")
      .map((text) => (reading.absolute ? Math.abs(Number(text)) : Number(text)));
    const se = this.summary?.[`depth_${key}`]?.[label]?.[bin]?.se ?? null;
    return this.numbers({ value: average(values), heads: heads.length, se }, datum);
  }

  /** A head of a portrait; the panel is named, not the row. */
  head(datum, name) {
    const panel = Number(/(?:heads|panel|points)[_ ](\d+)/.exec(name)?.[1]);
    const spec = this.blob.figures[this.figure];
    const title = spec.concat?.[panel]?.title?.text ?? spec.title?.text;
    const label = this.files.labels().find((one) => isTitle(title, one));
    if (label === undefined) return `the panel '${title}' is of no checkpoint`;
    const expected = {};
    for (const key of Object.keys(datum)) {
      const found = this.reading(key);
      if (!found) continue;
      const file = found.statistic.table === "heads" ? "heads.csv" : "qk.csv";
      const row = `${label}/${datum.layer}.${datum.q_head}${file === "qk.csv" ? "/PC0" : ""}`;
      const value = Number(this.files.row(file, row)?.[found.statistic.key]);
      expected[key] = found.reading.absolute ? Math.abs(value) : value;
    }
    if (Object.keys(expected).length < 2) return "a point of no known statistics";
    if (this.files.classes(label).get(`${datum.layer}.${datum.q_head}`) !== datum.class) return "another class";
    return this.numbers(expected, datum);
  }

  band(datum, name) {
    const kind = /keys/.test(name) ? "energy_k" : "energy_q";
    const { checkpoint: label, wavelength } = datum;
    const sums = this.pairs(label, kind);
    const all = sums.reduce((sum, [, value]) => sum + value, 0);
    const pair = sums.find(([theta]) => Math.abs((2 * Math.PI) / theta - wavelength) <= 1e-6 * wavelength);
    if (!pair) return "no such rotary pair";
    const stated = (this.summary?.bands?.[label] ?? []).find(({ theta }) => theta.some((one) => Math.abs(one - pair[0]) <= 1e-6 * one));
    const position = stated?.theta.findIndex((one) => Math.abs(one - pair[0]) <= 1e-6 * one);
    const se = stated?.[kind]?.se[position] ?? null;
    return this.numbers({ share: pair[1] / all, se: se === null ? null : se / all }, datum);
  }

  /** The mean over the RoPE heads with the most common angles: [theta, mean]. */
  pairs(label, key) {
    const name = `pairs ${label} ${key}`;
    if (!this.files.read.has(name)) {
      const heads = new Map();
      const rope = new Map(this.files.rows("qk.csv").map((row) => [`${row.checkpoint}/${row.layer}.${row.q_head}`, row.rope]));
      for (const row of this.files.rows("bands.csv")) {
        const head = `${row.checkpoint}/${row.layer}.${row.q_head}`;
        if (row.checkpoint !== label || rope.get(head) === "0") continue;
        heads.set(head, [...(heads.get(head) ?? []), row]);
      }
      const sets = new Map();
      for (const rows of heads.values()) {
        const angles = rows.map(({ theta }) => theta).join();
        sets.set(angles, [...(sets.get(angles) ?? []), rows]);
      }
      const [best] = [...sets.values()].sort((a, b) => b.length - a.length);
      const means = (best?.[0] ?? []).map(({ theta }, i) => [Number(theta), average(best.map((rows) => rows[i][key]).filter((text) => text !== "").map(Number))]);
      this.files.read.set(name, means.filter(([theta, mean]) => theta > 0 && mean !== null));
    }
    return this.files.read.get(name);
  }

  distance(datum, name) {
    const label = this.labelOf(datum.checkpoint);
    const key = CURVES[datum.curve];
    let values;
    if (this.figure === "distance_heads") {
      const panel = Number(/curves_(\d+)|errors_(\d+)/.exec(name)?.slice(1).find((one) => one));
      const title = this.blob.figures[this.figure].concat[panel].title.text;
      const [, layer, head] = /layer (\d+), head (\d+)/.exec(title);
      const point = this.files.row("curves.csv", `${label}/${layer}.${head}/${datum.from}`);
      values = Object.assign([point?.[key]], { se: point?.[`${key}_se`] });
    } else values = this.points(label, datum.from, key);
    const logit = average(values.filter((text) => text !== undefined && text !== "").map(Number));
    const se = this.figure === "distance_heads" ? Number(values.se) : this.errorOf(label, key, datum.from);
    return this.numbers({ logit, se, low: logit - (se ?? 0), high: logit + (se ?? 0) }, datum);
  }

  /** The error of a mean over heads, which is not in the tables. */
  errorOf(label, key, x) {
    const stated = this.summary?.curves?.[label]?.[key];
    return stated?.se[stated.x.indexOf(x)] ?? null;
  }

  points(label, x, key) {
    return [...this.files.classes(label).keys()].map((head) => this.files.row("curves.csv", `${label}/${head}/${x}`)?.[key]);
  }

  curve(datum) {
    const label = this.labelOf(datum.checkpoint);
    const context = this.entry(label)?.context;
    const positions = [datum.position, Math.round(datum.position * (context ?? 1) * 2) / 2];
    const found = positions.map((x) => this.points(label, x, "plasticity").filter((text) => text)).find((one) => one.length);
    if (!found) return "no such position";
    const x = positions.find((one) => this.points(label, one, "plasticity").some((text) => text));
    return this.numbers({ plasticity: average(found.map(Number)), se: this.errorOf(label, "plasticity", x) }, datum);
  }

  /** Numbers in bars must be those of the bar, in per cent; numbers in cells those of the cell. */
  texts(texts, marks) {
    const bars = marks.filter(({ kind }) => kind === "rect").flatMap(({ items }) => items).map(({ datum }) => datum);
    return texts.flatMap(({ datum, text }) => {
      if (this.figure === "ablate" || text === undefined || !/\d/.test(text) || ("phase" in datum && !("value" in datum))) return [];
      const shown = Number(String(text).replace("−", "-"));
      if ("value" in datum) return this.ofCell(datum, shown);
      const inside = bars.find(({ x, from, to }) => x === datum.x && from < datum.y && datum.y < to);
      const total = bars.filter(({ x }) => x === datum.x).reduce((most, { to }) => Math.max(most, to ?? 0), 0);
      const per_cent = 100 * (inside ? (inside.fraction ?? inside.share) : total);
      return Math.abs(shown - per_cent) <= 0.5000001 ? [] : [`${text} stands where ${per_cent} % is`];
    });
  }

  /** With the decimals of the cell; very small and large numbers have a unit that the subtitle states. */
  ofCell(datum, shown) {
    const subtitle = [this.blob.figures[this.figure].title.subtitle].flat().join(" ");
    const unit = Number(/in units of ([\d.e+-]+)\./.exec(subtitle)?.[1] ?? 1);
    const decimals = /\.(\d+)/.exec(datum.text)?.[1].length ?? 0;
    return Math.abs(shown - datum.value / unit) <= 0.5000001 * 10 ** -decimals ? [] : [`${datum.text} stands where ${datum.value} is`];
  }
}

/** Whether a panel's title is the label, printable and shortened to the available space. */
function isTitle(title, label) {
  const printable = label.replace(/[\u2028\u2029\u0000-\u001f]/g, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
  const text = title?.trim() ?? "";
  return text.endsWith("…") ? printable.startsWith(text.slice(0, -1)) : printable === text;
}

const average = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);
const binOf = (layer, last) => (last <= 0 ? 0 : Math.max(Math.ceil((10 * layer) / last - 1e-12) - 1, 0));
