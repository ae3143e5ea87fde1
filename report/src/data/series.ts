import type { PackedSeries, SeriesBlob, SeriesStatistic } from "./blob";
import { unpackFloats } from "./numbers";

/** The numbers of one series of a head at a checkpoint. NaN: missing, or an unknown error. */
export interface Points {
  /** The positions in the file: a point, or the first one of a window. */
  x: readonly number[];
  /** The positions at which numbers are drawn: a point, or the mean position in a window. */
  drawn: readonly number[];
  /** The first position past each window; null where numbers belong to points. */
  end: readonly number[] | null;
  value: Float32Array;
  se: Float32Array;
}

/** One series of all heads and checkpoints; a head's numbers are decoded when needed. */
export class Series {
  private starts: Int32Array | undefined;
  private gridOf: Int32Array | undefined;

  constructor(
    readonly statistic: SeriesStatistic,
    private readonly packed: PackedSeries,
    private readonly blob: SeriesBlob,
    private readonly heads: number,
    private readonly checkpoints: number,
  ) {}

  /** Null: the file has no rows for this head at this checkpoint. */
  points(checkpoint: number, head: number): Points | null {
    if (!this.starts || !this.gridOf) this.locate();
    const cell = checkpoint * this.heads + head;
    const grid = this.gridOf![cell];
    if (grid < 0) return null;
    const x = this.blob.grids[grid];
    const from = this.starts![cell];
    return {
      x,
      drawn: this.blob.grid_means[grid] ?? x,
      end: this.blob.grid_ends[grid],
      value: unpackFloats(this.packed.value, from, from + x.length),
      se: unpackFloats(this.packed.se, from, from + x.length),
    };
  }

  private locate(): void {
    const count = this.heads * this.checkpoints;
    const [starts, gridOf] = [new Int32Array(count), new Int32Array(count).fill(-1)];
    const { cells } = this.packed;
    let [cell, next] = [0, 0];
    for (let i = 0; i < cells.length; i += 2)
      for (let n = 0; n < cells[i + 1]; ++n, ++cell) {
        const code = cells[i];
        if (code === -2) {
          starts[cell] = starts[cell - 1];
          gridOf[cell] = gridOf[cell - 1];
        } else if (code >= 0) {
          starts[cell] = next;
          gridOf[cell] = code;
          next += this.blob.grids[code].length;
        }
      }
    this.starts = starts;
    this.gridOf = gridOf;
  }
}

export function readSeries(blob: SeriesBlob, heads: number, checkpoints: number): Series[] {
  return blob.statistics.map(
    (one) =>
      new Series(
        { ...one, definition: one.definition.replaceAll("`", "") }, // without Markdown
        blob.columns[one.key],
        blob,
        heads,
        checkpoints,
      ),
  );
}
