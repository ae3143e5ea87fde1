"""Rows of attention written out once more with numpy: which are drawn, what each adds to the sums, and the columns of heads.csv that come of them."""

import functools

import numpy as np

STEP = 0x9E3779B97F4A7C15
WORD = (1 << 64) - 1
FIRST = 4
FAR = (64, 256, 1024, 4096)


def mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def joined(a, b):
    return mixed((mixed((a + STEP) & WORD) + b + STEP) & WORD)


class SplitMix:
    def __init__(self, seed):
        self.state = seed & WORD

    def below(self, n):
        self.state = (self.state + STEP) & WORD
        return mixed(self.state) % n


def draw_rows(digest, tokens, count):
    """`count`: a number, or None for all."""
    late = max(0, tokens - FIRST)
    parts = late if count is None else min(late, count)
    rows = []
    for part in range(parts):
        begin, end = late * part // parts, late * (part + 1) // parts
        rows.append(FIRST + begin + SplitMix(joined(digest, part)).below(end - begin))
    return rows


def octave(t):
    return t.bit_length() - FIRST.bit_length()


def shortest_run(keys):
    return max(1, (1 << (keys.bit_length() - 1)) // 64)


@functools.cache
def key_runs(digest, shortest, end):
    random = SplitMix(joined(digest, 2 * shortest))
    runs = [FIRST]
    while runs[-1] < end:
        runs.append(runs[-1] + shortest + random.below(shortest))
    return runs


@functools.cache
def indexes(digest, first, t):
    """Where each of the keys first … t comes to stand."""
    runs = key_runs(digest, shortest_run(t - first + 1), t + 1)
    parts = [(max(a, first), min(b, t + 1)) for a, b in zip(runs, runs[1:])]
    parts = [part for part in parts if part[0] < part[1]]
    random = SplitMix(joined(digest, 2 * t + 1))
    order = list(range(len(parts)))
    for i in range(len(order), 1, -1):
        j = random.below(i)
        order[i - 1], order[j] = order[j], order[i - 1]
    found, index = np.zeros(t - first + 1, int), first
    for part in order:
        begin, end = parts[part]
        found[begin - first : end - first] = np.arange(index, index + end - begin)
        index += end - begin
    return found


# In the order of RowNumber (kernels/rows/row_numbers.h).
NUMBERS = [
    "rows", "sink", "first4", "self", "learned", "late", "entropy", "reach", "largest", "previous_rows", "previous",
    *(f"far{w}_rows" for w in FAR), *(f"far{w}" for w in FAR), "echo_rows", "echo", "echo_chance", "copy_rows", "copy", "copy_chance",
    "moved_rows", "still_rows", "positional", "symbolic",
]  # fmt: skip
COLUMNS = [
    "sink", "first4", "sink_learned", "self", "previous", "echo", "echo_lift", "after_copy", "after_copy_lift", *(f"far{w}" for w in FAR), "entropy", "reach",
    "positional", "symbolic", "pairing", "logit_max", "logit_peak", "logit_bound", "n_rows",
]  # fmt: skip
WITHOUT_ERROR = ["logit_peak", "logit_bound", "n_rows"]


def first_seen(t, window):
    return max(0, t - window + 1) if window else 0


def row(t, p, logits, tokens, window, learned, moved):
    """Numbers of one row: what it gives to keys 0 … t, its logits of them, and of keys that were moved, in the order of their places, with which keys these are."""
    j = np.arange(t + 1)
    seen = j >= first_seen(t, window)
    late = seen & (j >= FIRST)
    number = dict.fromkeys(NUMBERS, 0.0)
    outcomes = np.append(p, learned)
    number |= {
        "rows": 1, "sink": p[0], "first4": p[:FIRST].sum(), "self": p[t], "learned": learned, "late": p[late].sum(), "largest": logits[seen].max(),
        "entropy": -(outcomes[outcomes > 0] * np.log(outcomes[outcomes > 0])).sum(), "reach": (p * np.log2(1 + t - j))[late].sum(),
    }  # fmt: skip
    if t > FIRST:
        number |= {"previous_rows": 1, "previous": p[t - 1]}
    for w in FAR:
        if t >= 2 * w and (not window or window > w):
            number |= {f"far{w}_rows": 1, f"far{w}": p[late & (t - j > w)].sum()}
    same = tokens[: t + 1] == tokens[t]
    behind = np.append(False, same[:-1]) & (j > FIRST)
    for name, such in (("echo", same & late & (j < t)), ("copy", behind & late & (j < t))):
        number |= {f"{name}_rows": float(such.any()), name: p[such].sum(), f"{name}_chance": p[late].sum() * such.sum() / late.sum()}
    if moved is not None and t >= 64:
        after, keys = moved
        first = max(FIRST, first_seen(t, window))
        before = logits[first:]
        floor = 1e-10 * (before**2).sum()
        if before.var() * len(before) <= floor or after.var() * len(before) <= floor:
            number["still_rows"] = 1
        else:
            number |= {"moved_rows": 1, "positional": np.corrcoef(after, before)[0, 1], "symbolic": np.corrcoef(after, logits[keys])[0, 1]}
    return np.array([number[name] for name in NUMBERS], float)


def parts(t, p, window, count):
    """What late keys get at distances 0, 1, [2, 4) …"""
    j = np.arange(t + 1)
    late = (j >= FIRST) & (j >= first_seen(t, window))
    edges = [0, *(1 << i for i in range(count))]
    return np.array([p[late & (t - j >= a) & (t - j < b)].sum() for a, b in zip(edges, edges[1:])])


def columns(sums):
    """Of sums over rows [28]."""
    n = dict(zip(NUMBERS, sums))
    over = lambda a, b: n[a] / n[b] if n[b] > 0 else np.nan
    made = {name: over(name, "rows") for name in ("sink", "first4", "self", "entropy")}
    made |= {"sink_learned": over("learned", "rows") if n["learned"] > 0 else np.nan, "previous": over("previous", "previous_rows"), "reach": over("reach", "late")}
    made |= {f"far{w}": over(f"far{w}", f"far{w}_rows") for w in FAR}
    made |= {"echo": over("echo", "echo_rows"), "echo_lift": over("echo", "echo_chance"), "after_copy": over("copy", "copy_rows"), "after_copy_lift": over("copy", "copy_chance")}
    made |= {"positional": over("positional", "moved_rows"), "symbolic": over("symbolic", "moved_rows"), "logit_max": over("largest", "rows"), "n_rows": n["rows"]}
    return made | {"pairing": 1 - made["positional"] - made["symbolic"]}


if __name__ == "__main__":
    print(draw_rows(0x0123456789ABCDEF, 4096, 4))
    print(key_runs(7, 32, 300), indexes(9, 4, 20).tolist())
