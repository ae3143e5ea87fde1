"""bands.csv, curves.csv and their columns of heads.csv, compared with numpy on the vectors of all tokens; and what remains when a capture knows
less.
"""

import json

import numpy as np
import pandas
import pytest

import bands_reference
import engine
import tiny_models
from bands_captures import BLOCKS, CONTEXT, DOCUMENTS, analyze, lengths, without, write_corpus
from bands_reference import BANDS, COLUMNS, CURVES


# Half-split, llama3, YaRN with its factor, interleaved and partial, partial alone, two thetas, NoPE layers, queries scaled by
# position, no RoPE at all, a bias of distance.
FAMILIES = ["llama_gqa", "llama_llama3_mha", "llama_yarn_mscale", "glm4_yarn", "gpt_neox_parallel", "gemma3_text", "smollm3_list_sliding", "ministral3", "gpt2", "bloom"]  # fmt: skip
FIRST = ["model", "checkpoint", "phase", "order", "step", "tokens", "layer", "q_head", "kv_head", "rope"]


class Analyzed:
    """One model's tables, and all their numbers from numpy: {head: (bands, columns, curves)}, over all documents and without each block."""

    def __init__(self, name, root):
        folder = tiny_models.write(tiny_models.MODELS[name], root / "model")
        corpus = write_corpus(root / "tokens.jsonl", lengths())
        out = engine.capture(folder, corpus, root / "run", "--sliding", "--blocks", BLOCKS, "--rows", 0, context=CONTEXT)
        self.root, self.capture = analyze(out, root / "tables"), out
        read = lambda name: pandas.read_csv(self.root / name)
        self.heads, self.bands, self.curves = read("heads.csv"), read("bands.csv"), read("curves.csv")
        self.summary = json.loads((self.root / "summary.json").read_text())
        info, streams = json.loads((out / "capture.json").read_text()), engine.read_streams(out)
        d = next(iter(next(iter(streams.values())).values())).shape[1]
        self.layers = bands_reference.layers_of(folder, d, CONTEXT)
        self.slopes = bands_reference.alibi_slopes(folder)
        self.scale, self.group = info["config"]["attention_scale"], info["config"]["n_q_heads"] // info["config"]["n_kv_heads"]
        documents = {key: [vectors[i] for i in range(DOCUMENTS)] for key, vectors in streams.items()}
        self.before = {key: [self.layers[key[0]].unturned(x, key[2] == "q") for x in xs] for key, xs in documents.items()}
        self.documents, self.lengths = documents, [len(x) for x in next(iter(documents.values()))]
        self.sizes = np.array([2.0 * sum(self.lengths[b::BLOCKS]) for b in range(BLOCKS)])
        self.found = {key[:2]: [self.measure(*key[:2], b) for b in (None, *range(BLOCKS))] for key in documents if key[2] == "q"}

    def measure(self, layer, head, without):
        chosen = [i for i in range(DOCUMENTS) if i % BLOCKS != without]
        q, k = (layer, head, "q"), (layer, head // self.group, "k")
        take = lambda of, key: [of[key][i] for i in chosen]
        return bands_reference.head(self.layers[layer], take(self.documents, q), take(self.documents, k), take(self.before, q),
                                    take(self.before, k), self.scale, CONTEXT, self.lengths, self.slopes[head])  # fmt: skip

    def numbers(self, head, part, key):
        """The value over all documents, and the standard error."""
        full, *replicates = (one[part][key] for one in self.found[head])
        return full, bands_reference.jackknife(full, replicates, self.sizes)


@pytest.fixture(scope="module", params=FAMILIES)
def analyzed(request, tmp_path_factory):
    return Analyzed(request.param, tmp_path_factory.mktemp(request.param))


def close(found, expected, rel, message, least=1e-7):
    """Relative to the size of a head's numbers: a number near 0 among larger ones has the same absolute error."""
    found, expected = np.atleast_1d(found).astype(float), np.atleast_1d(expected).astype(float)
    assert (np.isnan(found) == np.isnan(expected)).all(), (message, found, expected)
    scale = np.nanmax(np.abs(expected)) if not np.isnan(expected).all() else 0.0
    assert (np.abs(found - expected) <= rel * np.maximum(np.abs(expected), 0.05 * scale) + least)[~np.isnan(expected)].all(), (message, found, expected)


def test_columns_of_heads(analyzed):
    assert not set(COLUMNS) - set(analyzed.heads.columns)
    for row in analyzed.heads.to_dict("records"):
        head = row["layer"], row["q_head"]
        for key in COLUMNS:
            value, error = analyzed.numbers(head, 1, key)
            close(row[key], value, 1e-5, (head, key), 1e-6)
            if key != "dist_argmax":
                close(row[f"{key}_se"], error, 1e-4, (head, key), 1e-6)
        flags = str(row["flag"]).split(";")
        layer = analyzed.layers[head[0]]
        assert ("nope" in flags) == (not layer.turns) == (row["rope"] == 0)
        constant = not layer.turns and not analyzed.slopes[head[1]]
        assert ("no_distance" in flags) == constant
        assert np.isnan(row["dist_context"]) if constant else row["dist_context"] == min(CONTEXT, layer.window or CONTEXT)
        assert constant or row["dist_argmax_se"] > 0, "a best distance is never known for certain"
        assert not {"no_pre_rope", "no_lags", "no_lengths", "theta_by_length", "single_distances"} & set(flags)


def test_bands(analyzed):
    assert list(analyzed.bands.columns) == [*FIRST, "pair", "theta", *(name for key in BANDS for name in (key, f"{key}_se")), "flag"]
    tables = dict(list(analyzed.bands.groupby(["layer", "q_head"])))
    assert set(tables) == set(analyzed.found)
    for head, table in tables.items():
        layer = analyzed.layers[head[0]]
        assert table.pair.tolist() == list(range(len(layer.theta)))
        np.testing.assert_allclose(table.theta, layer.theta, rtol=1e-6)
        for key in BANDS:
            value, error = analyzed.numbers(head, 0, key)
            close(table[key], value, 1e-5, (head, key), 1e-6)
            close(table[f"{key}_se"], error, 1e-4, (head, key), 1e-6)


def test_energy_is_the_same_before_rope(analyzed):
    for head, table in analyzed.bands.groupby(["layer", "q_head"]):
        layer = analyzed.layers[head[0]]
        for kind, number in (("q", head[1]), ("k", head[1] // analyzed.group)):
            if kind == "q" and layer.beta:
                continue  # scaled by position
            x = np.concatenate(analyzed.before[head[0], number, kind])
            energy = layer.factor**2 * (x[:, layer.first] ** 2 + x[:, layer.second] ** 2).mean(0)
            np.testing.assert_allclose(table[f"energy_{kind}"], energy, rtol=2e-6)


def test_curves(analyzed):
    assert list(analyzed.curves.columns) == [*FIRST, "curve", "x", "x_end", "x_mean", "value", "value_se", "flag"]
    tables = dict(list(analyzed.curves.groupby(["layer", "q_head", "curve"])))
    assert set(tables) == {(*head, key) for head in analyzed.found for key in CURVES}
    for (layer, q_head, key), table in tables.items():
        windows = bands_reference.distance_windows(CONTEXT, analyzed.layers[layer].window)
        assert list(zip(table.x, table.x_end)) == windows
        np.testing.assert_allclose(table.x_mean, analyzed.found[layer, q_head][0][2]["mean"], rtol=1e-8)
        value, error = analyzed.numbers((layer, q_head), 2, key)
        close(table.value, value, 1e-5, (layer, q_head, key), 1e-6)
        close(table.value_se, error, 1e-4, (layer, q_head, key), 1e-6)


def mean_over(analyzed, heads, part, key):
    rows = [np.mean([analyzed.found[head][case][part][key] for head in heads], axis=0) for case in range(BLOCKS + 1)]
    return rows[0], bands_reference.jackknife(rows[0], rows[1:], analyzed.sizes)


def test_means_over_heads(analyzed):
    (label,) = (entry["label"] for entry in analyzed.summary["checkpoints"])
    turning = [head for head in analyzed.found if analyzed.layers[head[0]].turns]
    sets = {}
    for head in turning:
        sets.setdefault(tuple(analyzed.layers[head[0]].theta), []).append(head)
    found = analyzed.summary.get("bands", {}).get(label, [])
    assert len(found) == len(sets)
    for entry in found:
        heads = next(heads for theta, heads in sets.items() if np.allclose(theta, entry["theta"], rtol=1e-6))
        for key in BANDS:
            value, error = mean_over(analyzed, heads, 0, key)
            assert entry[key]["heads"] == [len(heads)] * len(entry["theta"])
            close(entry[key]["value"], value, 1e-5, key, 1e-6)
            close(entry[key]["se"], error, 1e-4, key, 1e-6)
    still = [head for head in analyzed.found if head not in turning]
    for group, heads in ((analyzed.summary, [*analyzed.found]), (analyzed.summary["rope"], turning), (analyzed.summary["nope"], still)):
        curves = group.get("curves", {}).get(label, {})
        assert bool(curves) == bool(heads)
        windows = lambda head: analyzed.layers[head[0]].window or 0
        sets = [[head for head in heads if windows(head) == one] for one in dict.fromkeys(map(windows, heads))]
        heads = max(sets, key=len) if sets else []  # those that share their windows
        for key in CURVES if heads else []:
            value, error = mean_over(analyzed, heads, 2, key)
            assert max(curves[key]["heads"]) == len(heads)
            close(curves[key]["value"], value, 1e-5, key, 1e-6)
            close(curves[key]["se"], error, 1e-4, key, 1e-6)


def test_predicted_logits_are_those_of_random_pairs(analyzed):
    """For queries and keys of any documents, rotated apart, the mean logit is the prediction, whatever else the vectors contain."""
    rng, draws = np.random.default_rng(0), 40_000
    layer = analyzed.layers[1]
    q, k = (np.concatenate([x[4:] for x in analyzed.before[1, 0, kind]]) for kind in "qk")
    curve = analyzed.curves.query("layer == 1 and q_head == 0 and curve == 'dist_pred'")
    for begin, end, value in zip(curve.x, curve.x_end, curve.value):
        distances = np.arange(begin, end)
        pairs = np.maximum(np.subtract.outer(np.array(analyzed.lengths) - bands_reference.FIRST, distances), 0).sum(0)
        lag = rng.choice(distances, draws, p=pairs / pairs.sum())
        a, b = q[rng.integers(0, len(q), draws)], k[rng.integers(0, len(k), draws)]
        turn = np.exp(1j * layer.theta.astype(np.float64) * lag[:, None])
        za, zb = (x[:, layer.first] + 1j * x[:, layer.second] for x in (a, b))
        rest = np.setdiff1d(np.arange(q.shape[1]), [*layer.first, *layer.second])
        logits = layer.factor**2 * (za * turn * zb.conj()).real.sum(1) + (a[:, rest] * b[:, rest]).sum(1)
        scales = {one: bands_reference.mean_scale(layer, analyzed.lengths, one) for one in distances}
        logits = analyzed.scale * logits * np.vectorize(scales.get)(lag) - analyzed.slopes[0] * lag
        assert abs(logits.mean() - value) < 5 * logits.std() / np.sqrt(draws), begin
