import { AXIS_CHANGED, type Run } from "./run";

/** What a flag of the tables says about a head, and what it means for a reader. */
export interface Flag {
  name: string;
  /** In a few words, about one head. */
  title: string;
  sentence: string;
  /** "doubt": a number needs care; "missing": numbers are empty; "about": neither. */
  kind: "doubt" | "missing" | "about";
}

/** In order of importance. The program gives the meaning of each in a sentence (analysis/run/head_flags.h). */
const KINDS: [string, Flag["kind"], string][] = [
  [AXIS_CHANGED, "doubt", "the axis changed"],
  ["sign_uncertain", "doubt", "the sign is uncertain"],
  ["near_tie", "doubt", "PC0 and PC1 nearly tied"],
  ["near_tie_within", "doubt", "a tie within queries and keys"],
  ["near_tie_b", "doubt", "a tie of separation axes"],
  ["no_drift", "doubt", "no common drift"],
  ["few_blocks", "doubt", "few blocks"],
  ["no_se", "doubt", "no standard error"],
  ["rank", "doubt", "a direction without variance"],
  ["theta_by_length", "doubt", "angles by length"],
  ["single_distances", "doubt", "logits at single distances"],
  ["still_rows", "doubt", "rows whose logits do not vary"],
  ["trend", "doubt", "it moved while it was measured"],
  ["not_measured", "missing", "not measured"],
  ["constant_q", "missing", "constant queries"],
  ["constant_k", "missing", "constant keys"],
  ["no_variance", "missing", "no variance"],
  ["no_position", "missing", "no positions"],
  ["no_scale", "missing", "no softmax scale"],
  ["no_context", "missing", "no context"],
  ["no_pre_rope", "missing", "nothing before RoPE"],
  ["no_lags", "missing", "no logits by distance"],
  ["no_distance", "missing", "no preference of distance"],
  ["no_lengths", "missing", "lengths unknown"],
  ["nope", "about", "no RoPE"],
  ["random_weights", "about", "random weights"],
];
const ORDER = KINDS.map(([name]) => name);

export function flagOf({ blob }: Run, name: string): Flag {
  const [, kind, title] = KINDS[ORDER.indexOf(name)] ?? [name, "doubt", name.replaceAll("_", " ")];
  const sentences = blob.flags ?? {};
  return { name, kind, title, sentence: Object.hasOwn(sentences, name) ? sentences[name] : "" };
}

/** These flags, the most important first; flags that this version does not know come last. */
export function ranked(run: Run, names: Iterable<string>): Flag[] {
  const rank = ({ name }: Flag) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  return [...new Set(names)].map((name) => flagOf(run, name)).sort((a, b) => rank(a) - rank(b));
}

/** A doubt, with the heads that have it at a checkpoint and those that have it anywhere in the run. */
export interface Doubt {
  flag: Flag;
  heads: number[];
  everHeads: number[];
  /** The number of heads at each checkpoint of the run. */
  counts: number[];
}

/** Doubts about the heads of a run, without baselines. */
export function doubts(run: Run, at: number): Doubt[] {
  const found = new Map<string, { heads: number[]; ever: Set<number>; counts: number[] }>();
  for (const { index } of run.heads)
    for (const step of run.steps)
      for (const name of run.flags(step.index, index)) {
        if (!found.has(name)) found.set(name, { heads: [], ever: new Set(), counts: run.steps.map(() => 0) });
        const one = found.get(name)!;
        if (step.index === at) one.heads.push(index);
        one.ever.add(index);
        ++one.counts[step.step];
      }
  return ranked(run, found.keys())
    .filter(({ kind }) => kind === "doubt")
    .map((flag) => {
      const { heads, ever, counts } = found.get(flag.name)!;
      return { flag, heads, everHeads: [...ever], counts };
    });
}
