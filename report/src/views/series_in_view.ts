import type { Curve } from "../charts/curve_chart";
import type { Context } from "../context";
import type { Head } from "../data/run";
import { digitsOf } from "../data/scale";
import type { Points, Series } from "../data/series";
import { number } from "../data/source";
import { h } from "../dom";
import { DASH, decimals, withError } from "../format";

/** A series of the open head at every checkpoint, each with x as it is drawn. */
export interface Drawn {
  series: Series;
  look: string;
  at: (Points | null)[];
}

/** Values with their errors at all checkpoints, so that axes stay while the run plays. */
export function extent(drawn: Drawn[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const { at } of drawn)
    for (const points of at)
      points?.value.forEach((value, i) => {
        if (Number.isNaN(value)) return;
        const se = Number.isNaN(points.se[i]) ? 0 : points.se[i];
        low = Math.min(low, value - se);
        high = Math.max(high, value + se);
      });
  return [low, high];
}

/** All points that series have anywhere. */
export const across = (drawn: Drawn[]) => drawn.flatMap(({ at }) => at.flatMap((points) => [...(points?.drawn ?? [])]));

/** Series of the open head at the checkpoint in view: their numbers, where these are from, and how they read. */
export function seriesInView({ run, store }: Context) {
  const here = () => run.checkpoints[store.state.at].label;
  const whichCheckpoint = () => `at ${here()}`;

  function gather(head: Head, wanted: Series[], look: (series: Series, i: number) => string): Drawn[] {
    return wanted
      .map((series, i) => ({
        series,
        look: look(series, i),
        at: run.checkpoints.map((c) => series.points(c.index, head.index)),
      }))
      .filter(({ at }) => at.some((points) => points?.value.some((v) => !Number.isNaN(v))));
  }

  function curvesNow(drawn: Drawn[], x: (point: number, i: number) => number): Curve[] {
    return drawn.flatMap(({ look, at }) => {
      const points = at[store.state.at];
      return points ? [{ name: look, x: points.drawn.map(x), value: points.value, se: points.se }] : [];
    });
  }

  /** "curves.csv:LABEL/LAYER.HEAD/POINT:KEY": points are distances and positions, pairs by their number. */
  const pointFrom = (point: string, file: string, key: string) => {
    const { layer, q_head } = run.heads[store.state.focus!];
    return `${file}.csv:${here()}/${layer}.${q_head}/${point}:${key}`;
  };
  const from = ({ series: { statistic }, at }: Drawn, i: number) =>
    pointFrom(
      statistic.table === "bands" ? String(i) : String(at[store.state.at]?.x[i] ?? ""),
      statistic.table,
      statistic.key,
    );
  const textOf = (drawn: Drawn, i: number) => {
    const points = drawn.at[store.state.at];
    const value = points?.value[i] ?? NaN;
    return withError(value, points?.se[i], digitsOf(value, drawn.series.statistic));
  };

  const named = (one: Drawn, i: number) => [`${one.series.statistic.title} `, number(from(one, i), textOf(one, i))];
  /** "4", or for a window "4 to <8". */
  const xNumber = ({ series, at }: Drawn, i: number) => {
    const points = at[store.state.at];
    const [x, end] = [String(points?.x[i] ?? DASH), points?.end?.[i] ?? 0];
    const place = (key: string, text: string) => number(pointFrom(x, series.statistic.table, key), text);
    return end > Number(x) + 1 ? h("span", {}, place("x", x), " to <", place(`${series.statistic.key}_x_end`, String(end))) : place("x", x);
  };

  /** Where each curve is highest, in words: what the drawing shows at a glance. */
  function inWords(drawn: Drawn[], x: (point: number, i: number) => number, unit: string): string {
    const parts = drawn.flatMap(({ series, at }) => {
      const points = at[store.state.at];
      const there = points ? points.x.map((_, i) => i).filter((i) => !Number.isNaN(points.value[i])) : [];
      if (!points || !there.length) return [];
      const top = there.reduce((best, i) => (points.value[i] > points.value[best] ? i : best));
      const where = x(points.drawn[top], top);
      return [`${series.statistic.title} highest at ${decimals(where, where < 10 ? 1 : 0)} ${unit}`];
    });
    return parts.length ? parts.join(", ") : "not measured";
  }

  return { here, whichCheckpoint, gather, curvesNow, pointFrom, from, textOf, named, xNumber, inWords };
}
