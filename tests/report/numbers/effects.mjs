// What the figures of `ablate` have to show: rows of ablate.csv and of its control sets.

const SET = "the set, ± 95 %";
const CONTROLS = "random sets, as many heads per layer";
const REMOVED = "removal: outputs are their means";
const SERIES = { "the set, bars: 95 % over documents": "dloss", "random sets, band: ±1 SD": "control" };

const finite = (text) => (text === "" || text === undefined ? null : Number(text));

/** Student's t that 95 % lie within: by bisection over Simpson's rule on its density. */
export function student95(degrees) {
  const density = (t) => (1 + (t * t) / degrees) ** (-(degrees + 1) / 2);
  const area = (to) => {
    const steps = 4000;
    const h = to / steps;
    let sum = density(0) + density(to);
    for (let i = 1; i < steps; ++i) sum += (i % 2 ? 4 : 2) * density(i * h);
    return (sum * h) / 3;
  };
  // Half of all: of t = tan(angle), whose range is short.
  let all = 0;
  const parts = 20000;
  for (let i = 0; i < parts; ++i) {
    const angle = ((i + 0.5) / parts) * (Math.PI / 2);
    all += (density(Math.tan(angle)) / Math.cos(angle) ** 2) * (Math.PI / 2 / parts);
  }
  let [low, high] = [0, 100];
  while (high - low > 1e-9) {
    const middle = (low + high) / 2;
    if (area(middle) < 0.95 * all) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** What the rows of a panel of `ablate` have to be; null: what the files have. */
export class Effects {
  constructor(files, spec) {
    this.files = files;
    this.spec = spec;
    this.rows = files.rows("ablate.csv");
    this.factors = new Map();
  }

  /** A row of the figure of one checkpoint: { expected } numbers, or { wrong }. */
  ofCheckpoint(datum, name) {
    const panel = Number(/edit_(\d+)_/.exec(name)?.[1]);
    const title = this.spec.vconcat[panel]?.title.text;
    const last = this.rows.at(-1).checkpoint;
    if (!this.spec.title.text.startsWith(last)) return { wrong: `the figure's title is not of ${last}` };
    const row = this.rows.find((one) => one.checkpoint === last && title?.startsWith(`${one.edit}: `) && isCut(datum.set, one.set));
    if (!row) return { wrong: "no such set and edit" };
    const of = (value, se) => ({ value, low: value - se, high: value + se });
    if (datum.kind === CONTROLS) {
      const drawn = this.draws(row);
      const value = drawn.find((one) => Math.abs(one - datum.value) <= 1e-9 + 1e-6 * Math.abs(one));
      return value === undefined ? { wrong: "no control set has this" } : { expected: of(value, 0) };
    }
    if (datum.kind === REMOVED) return { expected: of(finite(row.removal), this.half(row, "removal_se")) };
    if (datum.kind !== SET) return { wrong: "a mark of no known kind" };
    const value = finite(row.dloss);
    const digits = `${value > 0 ? "+" : ""}${value.toFixed(3)}`.replace("-", "−").replace("−0.000", "0.000");
    const text = `${digits}${row.real === "0" ? " (not real)" : ""}`;
    if (datum.text.replace("-", "−").replace("−0.000", "0.000") !== text) return { wrong: `the files have ${text}` };
    return { expected: of(value, this.half(row, "dloss_se")) };
  }

  /** A row of the figure over training: the panel is the mark's number. */
  overTraining(datum, name) {
    const panel = this.spec.vconcat[Number(/_(\d+)_marks$/.exec(name)?.[1] ?? 1) - 1]?.title;
    const row = this.rows.find(({ checkpoint, edit, set }) => checkpoint === datum.checkpoint && edit === panel?.text.trim() && isCut(panel.subtitle, set));
    if (!row) return datum.mean === null ? { expected: {} } : { wrong: "no such set and edit" };
    const random = /random_weights/.test(row.flag);
    if (datum.baseline !== random) return { wrong: random ? "fresh weights stand in the run" : "stands among fresh weights" };
    const column = SERIES[datum.series];
    if (column === undefined) return { wrong: "a line of no known number" };
    const mean = finite(row[column]);
    if (column === "control") {
      const sd = finite(row.control_sd);
      return { expected: { mean, sd, se: null, band_low: sd === null ? null : mean - sd, band_high: sd === null ? null : mean + sd } };
    }
    const half = this.half(row, "dloss_se");
    return { expected: { mean, se: finite(row.dloss_se), sd: null, se_low: mean - half, se_high: mean + half } };
  }

  /** What is missing: each control set has a stroke. */
  missing(marks) {
    return marks
      .filter(({ kind, items }) => kind === "symbol" && items.some(({ datum }) => datum.kind === CONTROLS))
      .flatMap(({ name, items }) => {
        const title = this.spec.vconcat[Number(/edit_(\d+)_/.exec(name)?.[1])].title.text;
        const last = this.rows.at(-1).checkpoint;
        const drawn = this.rows.filter((one) => one.checkpoint === last && title.startsWith(`${one.edit}: `)).flatMap((row) => this.draws(row));
        const shown = items.map(({ datum }) => datum.value).sort((a, b) => a - b);
        const same = drawn.sort((a, b) => a - b).every((one, i) => Math.abs(one - shown[i]) <= 1e-9 + 1e-6 * Math.abs(one));
        return drawn.length === shown.length && same ? [] : [`${name}: ${shown.length} strokes of ${drawn.length} control sets`];
      });
  }

  draws({ checkpoint, set, edit }) {
    const mine = this.files.rows("ablate_controls.csv").filter((one) => one.checkpoint === checkpoint && one.set === set && one.edit === edit);
    return mine.filter(({ draw }) => draw !== "").map(({ dloss }) => Number(dloss));
  }

  /** Half of an interval of 95 %; documents are independent where nobody cut texts. */
  half(row, column) {
    const degrees = Number(row.documents) - 1;
    if (!this.factors.has(degrees)) this.factors.set(degrees, student95(degrees));
    return this.factors.get(degrees) * Number(row[column]);
  }
}

/** Names of sets have their middle left out where they are long. */
function isCut(shown, whole) {
  const [start, end] = shown.trim().split("…");
  return end === undefined ? start === whole : whole.startsWith(start) && whole.endsWith(end);
}
