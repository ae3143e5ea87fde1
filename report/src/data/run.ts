import type { Blob, CheckpointEntry, PackedFlags, Role, Statistic } from "./blob";
import { classify } from "./classes";
import { present, unpackAny } from "./numbers";
import { Order } from "./order";
import { readSeries, type Series } from "./series";

/** The flag of a head whose PC0 is another axis than at the previous checkpoint. */
export const AXIS_CHANGED = "axis_changed";

export interface Head {
  index: number;
  layer: number;
  q_head: number;
  kv_head: number | null;
  rope: boolean | null;
  /** "L12 H5" */
  name: string;
}

export interface Checkpoint extends CheckpointEntry {
  index: number;
  /** Index among the checkpoints of the run; −1 for a baseline. */
  step: number;
}

/** The table of heads as a cube (checkpoint, head, component); columns are decoded when first needed. */
export class Run {
  readonly checkpoints: Checkpoint[];
  /** Checkpoints of the run itself, in order of training. */
  readonly steps: Checkpoint[];
  readonly baselines: Checkpoint[];
  /** Whether checkpoints are independent models: all have the same order. */
  readonly models: boolean;
  readonly order: Order;
  readonly heads: Head[];
  readonly components: number[];
  /** Whether the loss of some checkpoint was measured. */
  readonly losses: boolean;
  /** The statistics that the table has, in the order of its columns. */
  readonly statistics: Statistic[];
  /** Series of heads: by rotary pair, by distance. */
  readonly series: Series[];
  readonly lastLayer: number;
  readonly high: number;
  readonly low: number;
  private readonly columns = new Map<string, Float64Array | Float32Array>();
  private readonly byName = new Map<string, Head>();
  /** Index of PC0 in `components`; −1: the table has none. */
  readonly pc0: number;
  private there: Uint8Array | undefined;
  private classCache: Int8Array | undefined;
  private flagCodes: Uint16Array | undefined;
  private headFlagCodes: Uint16Array | undefined;
  private readonly flagLists = new Map<number, readonly string[]>();

  constructor(readonly blob: Blob) {
    const { table } = blob;
    let step = 0;
    const onlyBaselines = table.checkpoints.every((entry) => entry.baseline);
    this.checkpoints = table.checkpoints.map((entry, index) => {
      // Where a table has only baselines, they are shown as the run.
      const baseline = entry.baseline && !onlyBaselines;
      return { ...entry, baseline, index, step: baseline ? -1 : step++ };
    });
    this.steps = this.checkpoints.filter((c) => !c.baseline);
    this.losses = this.checkpoints.some(({ loss }) => loss !== null);
    this.baselines = this.checkpoints.filter((c) => c.baseline);
    const contexts = (blob.summary?.checkpoints ?? []).flatMap(({ label, context }) =>
      typeof context === "number" ? [[String(label), context] as const] : [],
    );
    this.models = this.steps.length > 1 && this.steps.every(({ order }) => order === this.steps[0].order);
    this.order = new Order(this.checkpoints, new Map(contexts), this.models);
    this.heads = table.heads.layer.map((layer, index) => {
      const q_head = table.heads.q_head[index];
      const rope = table.heads.rope[index];
      return {
        index,
        layer,
        q_head,
        kv_head: table.heads.kv_head[index],
        rope: rope === null ? null : rope === 1,
        name: `L${layer} H${q_head}`,
      };
    });
    for (const head of this.heads) this.byName.set(`${head.layer}.${head.q_head}`, head);
    // Definitions contain Markdown, which the page does not render.
    this.statistics = blob.statistics
      .filter(({ key }) => key in table.columns || key in table.head_columns)
      .map((statistic) => ({ ...statistic, definition: statistic.definition.replaceAll("`", "") }));
    this.series = readSeries(blob.series, this.heads.length, this.checkpoints.length);
    this.components = table.components;
    this.pc0 = this.components.indexOf(0);
    this.lastLayer = Math.max(...table.heads.layer);
    this.high = blob.summary?.thresholds?.high ?? 0.7;
    this.low = blob.summary?.thresholds?.low ?? 0.3;
  }

  head(layer: number, q_head: number): Head | undefined {
    return this.byName.get(`${layer}.${q_head}`);
  }

  private column(name: string): Float64Array | Float32Array | undefined {
    let found = this.columns.get(name);
    if (!found) {
      const packed = this.blob.table.columns[name] ?? this.blob.table.head_columns[name];
      if (!packed) return undefined;
      found = unpackAny(packed);
      this.columns.set(name, found);
    }
    return found;
  }

  private cell(checkpoint: number, head: number, component: number): number {
    return (checkpoint * this.heads.length + head) * this.components.length + component;
  }

  /** NaN: missing. `component` is an index in `components`; default: PC0. */
  value(name: string, checkpoint: number, head: number, component = this.pc0): number {
    const column = this.column(name);
    if (name in this.blob.table.head_columns) return column?.[checkpoint * this.heads.length + head] ?? NaN;
    return column && component >= 0 ? column[this.cell(checkpoint, head, component)] : NaN;
  }

  /** The standard error of the statistic; NaN: unknown. */
  error({ error }: Statistic, checkpoint: number, head: number, component = this.pc0): number {
    return error === null ? NaN : this.value(error, checkpoint, head, component);
  }

  count(name: string, checkpoint: number, head: number): number | null {
    return this.blob.table.counts[name]?.[checkpoint * this.heads.length + head] ?? null;
  }

  /** Whether the table has a row of this head at this checkpoint. */
  measured(checkpoint: number, head: number, component = this.pc0): boolean {
    this.there ??= present(Object.values(this.blob.table.columns)[0]);
    return component >= 0 && this.there[this.cell(checkpoint, head, component)] === 1;
  }

  /** Index in CLASSES; −1: none. */
  classOf(checkpoint: number, head: number): number {
    if (!this.classCache) {
      const cache = new Int8Array(this.checkpoints.length * this.heads.length);
      let index = 0;
      for (let c = 0; c < this.checkpoints.length; ++c)
        for (let h = 0; h < this.heads.length; ++h)
          cache[index++] = classify(this.value("r_q", c, h), this.value("r_k", c, h), this.high, this.low);
      this.classCache = cache;
    }
    return this.classCache[checkpoint * this.heads.length + head];
  }

  /** The roles of a head: those of which its score is beyond the threshold by more than its error. */
  roles(checkpoint: number, head: number): Role[] {
    return (this.blob.roles ?? []).filter(
      ({ score, threshold, errors }) =>
        this.value(score, checkpoint, head) - errors * this.value(`${score}_se`, checkpoint, head) > threshold,
    );
  }

  /** The flag in qk.csv: names joined by ";". */
  flag(checkpoint: number, head: number, component = this.pc0): string {
    return this.blob.table.flags.names[this.flagCode(checkpoint, head, component)] ?? "";
  }

  /** Names of the flags of both tables. */
  flags(checkpoint: number, head: number, component = this.pc0): readonly string[] {
    const { flags, head_flags } = this.blob.table;
    const [first, second] = [this.flagCode(checkpoint, head, component), this.headFlagCode(checkpoint, head)];
    const key = first * (head_flags?.names.length ?? 1) + second;
    let found = this.flagLists.get(key);
    if (!found) {
      const names = `${flags.names[first] ?? ""};${head_flags?.names[second] ?? ""}`.split(";");
      found = [...new Set(names.filter((name) => name))];
      this.flagLists.set(key, found);
    }
    return found;
  }

  /** Index in the names of flags; 0: none. */
  private flagCode(checkpoint: number, head: number, component: number): number {
    this.flagCodes ??= codesOf(this.blob.table.flags, this.checkpoints.length * this.heads.length * this.components.length);
    return component < 0 ? 0 : this.flagCodes[this.cell(checkpoint, head, component)];
  }
  private headFlagCode(checkpoint: number, head: number): number {
    const { head_flags: flags } = this.blob.table;
    if (!flags) return 0;
    this.headFlagCodes ??= codesOf(flags, this.checkpoints.length * this.heads.length);
    return this.headFlagCodes[checkpoint * this.heads.length + head];
  }

  /**
   * Whether a head's PC0 is another axis at one checkpoint than at the other, or changed in between: signs cannot be
   * compared.
   */
  axisMoved(one: number, other: number, head: number): boolean {
    const [from, to] = [this.checkpoints[Math.min(one, other)], this.checkpoints[Math.max(one, other)]];
    if (from.baseline || to.baseline) return from !== to; // random weights have axes of their own
    const way = this.order.wayTo(to);
    const steps = way.includes(from) ? way : this.steps;
    return steps.some(({ index }) => index > from.index && index <= to.index && this.axisChanged(index, head));
  }

  /** Whether PC0 is another axis than at the previous checkpoint. */
  axisChanged(checkpoint: number, head: number): boolean {
    return this.flags(checkpoint, head).includes(AXIS_CHANGED);
  }

  /** Query heads that read the same KV head, including this one; empty where the table does not state KV heads. */
  siblings(head: Head): Head[] {
    if (head.kv_head === null) return [];
    return this.heads.filter((other) => other.layer === head.layer && other.kv_head === head.kv_head);
  }
}

function codesOf({ runs }: PackedFlags, cells: number): Uint16Array {
  const codes = new Uint16Array(cells);
  let index = 0;
  for (let i = 0; i < runs.length; i += 2) {
    codes.fill(runs[i], index, index + runs[i + 1]);
    index += runs[i + 1];
  }
  return codes;
}
