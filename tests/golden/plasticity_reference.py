"""Plasticity computed a second time with numpy: the drawn tokens and pairs, the resulting numbers, and what they estimate."""

import itertools

import numpy as np

BUCKETS, DOCUMENTS, PAIRS, FIRST = 16, 256, 64, 4
COLUMNS = ["ap_overall", "ap_first20", "ap_last20", "ap_drop"]
_64 = 2**64 - 1


def _draws(seed):
    """SplitMix64."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & _64
        z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & _64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _64
        yield z ^ (z >> 31)


def bucket(b, context):
    """The positions of a bucket."""
    return range(max(b * context // BUCKETS, FIRST), (b + 1) * context // BUCKETS)


def token(document, b, context, tokens):
    """The position that is drawn; None where the document ends before the bucket."""
    positions = bucket(b, context)
    if not positions:
        return None
    found = positions[next(_draws(2 * (BUCKETS * document + b))) % len(positions)]
    return found if found < tokens else None


def pairs(document, b, keys):
    found, draws = list(itertools.combinations(keys, 2)), _draws(2 * (BUCKETS * document + b) + 1)
    if len(found) <= PAIRS:
        return found
    for i in range(PAIRS):
        j = i + next(draws) % (len(found) - i)
        found[i], found[j] = found[j], found[i]
    return found[:PAIRS]


def rounded(x):
    """A vector rounded like in a file."""
    largest = np.abs(x).max()
    return x.astype(np.float16).astype(np.float64) if 2.0**-14 <= largest <= 65504 else x.astype(np.float64)


def sample(documents, context):
    """{(document, bucket): vector} of a stream."""
    found = {}
    for i, x in enumerate(documents[:DOCUMENTS]):
        for b in range(BUCKETS):
            t = token(i, b, context, len(x))
            if t is not None:
                found[i, b] = rounded(x[t])
    return found


def curve(q, k, context, without=()):
    """{centre: plasticity} from samples of a head, without some documents; NaN where undefined."""
    found = {}
    for b in range(2, BUCKETS):
        if not (positions := bucket(b, context)):
            continue
        queries = {i: x for (i, other), x in q.items() if other == b and i not in without}
        values = []
        for i in sorted({i for i, _ in k} - set(without)):
            others = np.array([x for j, x in queries.items() if j != i])
            m = len(others)
            if m < 2:
                continue
            if not (chosen := pairs(i, b, [e for e in range(b) if (i, e) in k])):
                continue
            logits = np.einsum("md,bd->bm", others, [k.get((i, e), np.zeros(others.shape[1])) for e in range(b)])
            first, second = np.array(chosen).T
            likes = (logits[first] > logits[second]) + 0.5 * (logits[first] == logits[second])  # [pairs, queries]
            disagree = likes.sum(1) * (1 - likes).sum(1) - (likes * (1 - likes)).sum(1)  # of two different queries
            values.extend(4 * disagree / (m * (m - 1)))
        found[(positions[0] + positions[-1]) / 2] = np.mean(values) if values else np.nan
    return found


def columns(values, known):
    """The mean of a curve over the points that the whole sample has."""
    values = np.array(values)[known]
    if not len(values):
        return dict.fromkeys(COLUMNS, np.nan)
    part = -(-len(values) // 5)
    first, last = values[:part].mean(), values[-part:].mean()
    return dict(zip(COLUMNS, (values.mean(), first, last, first - last)))


def of_all_tokens(q, k, context, b):
    """The number that a bucket's sample estimates: from all tokens of both buckets in the same documents. The queries of a document count as one."""
    values, positions = [], bucket(b, context)
    prefers = [x[positions.start : positions.stop].astype(np.float64) for x in q]
    for i, keys in enumerate(k):
        logits = [x @ keys.T.astype(np.float64) for j, x in enumerate(prefers) if j != i and len(x) == len(positions)]
        m = len(logits)
        for e, f in itertools.combinations(range(b), 2):
            first, second = bucket(e, context), bucket(f, context)
            if not first or not second or len(keys) < second.stop:
                continue
            sides = [(x[:, first.start : first.stop, None], x[:, None, second.start : second.stop]) for x in logits]
            likes = [((one > other) + 0.5 * (one == other)).mean(0) for one, other in sides]
            total, own = sum(likes), sum(x * (1 - x) for x in likes)
            values.append((4 * (total * (m - total) - own) / (m * (m - 1))).mean())
    return np.mean(values)
