"""Rows of attention against transformers' eager attention: every column, of every family."""

import json
import os
import subprocess

import numpy as np
import pandas
import pytest
import torch
from safetensors.numpy import load_file

import bands_reference
import engine
import reference
import rows_reference
import tiny_models
from tiny_models import CONTEXT, MODELS

BLOCKS = 3
MPIRUN = os.environ.get("ROPEWALK_MPIRUN", "")
ALLOW = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
NAMES = [name for name in MODELS if not name.endswith("_ties")]


def arguments(model, corpus, out, *options):
    return ["capture", model, "--corpus", corpus, "--out", out, "--context", CONTEXT, "--min-tokens", 1, "--dtype", "float32", "--sliding", "--blocks", BLOCKS,
            "--label", "run", "--quiet", *options]  # fmt: skip


def capture(model, corpus, out, *options):
    done = engine.run(*arguments(model, corpus, out, *options))
    assert (done.code, done.stderr) == (0, ""), done.stderr
    return out


def analyze(folder, out):
    done = engine.run("analyze", folder, "--out", out, "--quiet")
    assert done.code == 0, done.stderr
    return pandas.read_csv(out / "heads.csv"), pandas.read_csv(out / "curves.csv").query("curve == 'attended'")


class Eager:
    """One document through transformers."""

    def __init__(self, tokens, weights, turns, vectors, before, config):
        self.tokens, self.vectors = np.array(tokens), vectors
        attending = [i for i in range(config["layers"]) if i not in config["skipped_layers"]]
        turning = [i for i in attending if i not in config["nope_layers"]] if config["rope"] else []
        assert len(weights) == len(attending) and len(turns) == len(turning)
        self.weights = dict(zip(attending, weights))
        self.turns = dict(zip(turning, turns))
        kv_heads = range(config["n_kv_heads"])
        self.before = {layer: torch.tensor(np.stack([before[layer, head, "k"] for head in kv_heads])) for layer in turning}
        self.moved = {}

    def keys_at(self, layer, t, order):
        """Keys after RoPE, where the one at each place is another: [KV heads, T, d], the same for all heads of a layer."""
        if (layer, t) not in self.moved:
            self.moved[layer, t] = self.turns[layer](self.before[layer][:, order]).double().numpy()
        return self.moved[layer, t]


def eager_passes(folder, texts, config):
    texts = {index: tokens[:CONTEXT] for index, tokens in enumerate(texts.values())}
    attention = reference.attention(folder, texts)
    vectors, before = (reference.capture(folder, texts, CONTEXT, pre_rope=early) for early in (False, True))
    of = lambda streams, index: {stream: documents[index] for stream, documents in streams.items()}
    return [Eager(tokens, *attention[index], of(vectors, index), of(before, index), config) for index, tokens in texts.items()]


def scale_of(config, layer):
    return config["attention_scale_of_layer"].get(str(layer), config["attention_scale"])


def numbers(eager, layer, head, config, digest):
    """{t: (numbers, parts)} of all rows."""
    window, scale, group = config["sliding_windows"].get(str(layer)), scale_of(config, layer), config["n_q_heads"] // config["n_kv_heads"]
    q = eager.vectors[layer, head, "q"].astype(np.float64)
    k = eager.vectors[layer, head // group, "k"].astype(np.float64)
    count, cap = len(q), config.get("score_cap")
    p = eager.weights[layer][head]
    slope = slopes(config["n_q_heads"])[head] if config.get("alibi") else 0
    found = {}
    for t in range(rows_reference.FIRST, count):
        plain = q[t] @ k[: t + 1].T * scale
        bias = slope * (t - np.arange(t + 1))
        logits = plain - bias
        moved = None
        if t >= 64 and (layer in eager.turns or slope):
            first = max(rows_reference.FIRST, rows_reference.first_seen(t, window))
            order = np.arange(count)
            order[rows_reference.indexes(digest, first, t)] = np.arange(first, t + 1)
            keys = eager.keys_at(layer, t, order)[head // group] if layer in eager.turns else k[order]
            moved = (q[t] @ keys[first : t + 1].T * scale - bias[first:], order[first : t + 1])
        final = cap * np.tanh(plain / cap) - bias if cap else logits
        learned = 1 - p[t, : t + 1].sum() if config.get("sinks") else 0.0
        made = rows_reference.row(t, p[t, : t + 1], logits, eager.tokens, window, learned, moved)
        made[rows_reference.NUMBERS.index("largest")] = final[rows_reference.first_seen(t, window) :].max()
        found[t] = made, rows_reference.parts(t, p[t, : t + 1], window, PARTS)
    return found


PARTS = 1 + (CONTEXT - 1).bit_length()


def slopes(heads):
    power = 1 << (heads.bit_length() - 1)
    series = lambda n: [2 ** (-(2 ** -(np.log2(n) - 3)) * (i + 1)) for i in range(n)]
    return (series(power) + series(2 * power)[::2])[:heads]


def close(found, expected):
    """To 2e-3 of it, of small ones to 2e-3 of .05; empty where it is undefined."""
    return (np.isnan(found) and np.isnan(expected)) or abs(found - expected) <= 2e-3 * max(abs(expected), 0.05)


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_those_of_eager_attention(tmp_path, name):
    folder = tiny_models.write(MODELS[name], tmp_path / "model")
    texts = tiny_models.documents()
    corpus = tiny_models.write_corpus(tmp_path / "tokens.jsonl", texts)
    out = capture(folder, corpus, tmp_path / "out", "--rows", "all")
    heads, curves = analyze(out, tmp_path / "tables")
    tensors, config = load_file(out / "moments.safetensors"), json.loads((out / "capture.json").read_text())["config"]
    group = config["n_q_heads"] // config["n_kv_heads"]
    eager = eager_passes(folder, texts, config)
    digests = tensors["document.prefix_digest"].astype(np.uint64).tolist()
    octaves = 1 + rows_reference.octave(CONTEXT - 1)
    for i, (layer, head) in enumerate(zip(tensors["query.layer"].tolist(), tensors["query.head"].tolist())):
        sums, attended, edges = np.zeros((octaves, len(rows_reference.NUMBERS))), np.zeros(PARTS), []
        for index, document in enumerate(eager):
            found = numbers(document, layer, head, config, digests[index])
            for t, (row, parts) in found.items():
                sums[rows_reference.octave(t)] += row
                attended += parts
            edges.append(strongest(document.weights[layer][head], index))
        stored = tensors["rows.query.sums"][i].reshape(octaves, -1)
        assert np.abs(stored - sums).max() < 1e-3 * sums[:, 0].max(), [rows_reference.NUMBERS[j] for j in np.abs(stored - sums).max(0).argsort()[-3:]]
        row = heads[(heads.layer == layer) & (heads.q_head == head)].iloc[0]
        for key, value in rows_reference.columns(sums.sum(0)).items():
            assert close(row[key], value), (layer, head, key, row[key], value)
        curve = curves[(curves.layer == layer) & (curves.q_head == head)]
        assert curve.x.tolist() == [0, *(1 << j for j in range(PARTS - 1))]
        assert all(close(a, b) for a, b in zip(curve.value, attended / sums[:, 0].sum()))
        longest = [max(np.linalg.norm(one.vectors[layer, h, kind], axis=1).max() for one in eager) for h, kind in ((head, "q"), (head // group, "k"))]
        assert abs(row.logit_bound / (scale_of(config, layer) * longest[0] * longest[1]) - 1) < 1e-4
        assert row.logit_peak <= row.logit_bound * (1 + 1e-6) + 1e-6
        expected = sorted((edge for document in edges for edge in document), key=lambda edge: -edge[3])[:24]
        named = tensors["rows.query.edges"][i].reshape(24, 4)
        assert np.abs(named[: len(expected), 3] - [edge[3] for edge in expected]).max() < 1e-4
        for (document, t, j, p), around in zip(named[: len(expected)], tensors["rows.query.edge_tokens"][i].reshape(24, 2, 25)):
            assert abs(eager[int(document)].weights[layer][head][int(t), int(j)] - p) < 1e-4
            padded = np.pad(eager[int(document)].tokens + 1, 12)
            assert (around == [padded[int(t) : int(t) + 25], padded[int(j) : int(j) + 25]]).all()
        assert not named[len(expected) :].any()


def strongest(p, document):
    """(document, t, j, p) of the two strongest p of late keys that are not the token's own."""
    late = [(document, t, j, p[t, j]) for t in range(5, len(p)) for j in range(4, t)]
    return [edge for edge in sorted(late, key=lambda edge: -edge[3])[:2] if edge[3] > 0]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    root = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(3)
    corpus = root / "tokens.jsonl"
    corpus.write_text("".join(json.dumps({"id": i, "tokens": rng.integers(0, 90, n).tolist()}) + "\n" for i, n in enumerate([CONTEXT] * 20 + [30, 70, 4, 100])))
    return tiny_models.write(MODELS["smollm3_list_sliding"], root / "model"), corpus, root


def test_errors_are_those_of_blocks(study):
    model, corpus, root = study
    out = capture(model, corpus, root / "errors", "--rows", "16")
    heads, curves = analyze(out, root / "tables")
    tensors = load_file(out / "moments.safetensors")
    tokens = np.array([len(json.loads(line)["tokens"]) for line in corpus.read_text().splitlines()])
    sizes = np.array([2.0 * tokens[b::BLOCKS].sum() for b in range(BLOCKS)])
    for i, row in enumerate(heads.to_dict("records")):
        total = tensors["rows.query.sums"][i].reshape(-1, len(rows_reference.NUMBERS)).sum(0)
        blocks = tensors["rows.query.block_sums"][i].reshape(BLOCKS, -1, len(rows_reference.NUMBERS)).sum(1)
        value, *replicates = (rows_reference.columns(sums) for sums in (total, *(total - blocks)))
        for key in set(value) - set(rows_reference.WITHOUT_ERROR):
            error = bands_reference.jackknife(value[key], np.array([one[key] for one in replicates]), sizes)
            assert row[key] == pytest.approx(value[key], rel=1e-7, abs=1e-9, nan_ok=True), key
            assert row[f"{key}_se"] == pytest.approx(error, rel=1e-3, abs=1e-6, nan_ok=True), key
        for key in rows_reference.WITHOUT_ERROR:
            assert np.isnan(row[f"{key}_se"]) and not np.isnan(row[key])


def test_sampled_rows_are_some_of_all(study):
    """The rows that are drawn, and the shares of their numbers, hang on the document and the number of rows alone."""
    model, corpus, root = study
    out = capture(model, corpus, root / "some", "--rows", "5")
    tensors = load_file(out / "moments.safetensors")
    lengths = [len(json.loads(line)["tokens"]) for line in corpus.read_text().splitlines()]
    expected = np.zeros(1 + rows_reference.octave(CONTEXT - 1))
    for digest, length in zip(tensors["document.prefix_digest"].astype(np.uint64).tolist(), lengths):
        for t in rows_reference.draw_rows(digest, length, 5):
            expected[rows_reference.octave(t)] += 1
    sums = tensors["rows.query.sums"].reshape(-1, len(expected), len(rows_reference.NUMBERS))
    assert (sums[:, :, 0] == expected).all()
    assert json.loads((out / "capture.json").read_text())["kept"]["rows"] == {"numerics": 1, "count": 5}


def same_rows(one, two):
    """Every number of rows: edges and counts bit for bit, as are those of one process; sums to what their order leaves open."""
    mine, theirs = (load_file(folder / "moments.safetensors") for folder in (one, two))
    names = [name for name in theirs if name.startswith("rows.")]
    assert len(names) == 10 and {name for name in mine if name.startswith("rows.")} == set(names)
    for name in names:
        if name.endswith(("sums", "attended")):
            rounding = 1e-12 if theirs[name].dtype == np.float64 else 2e-7
            assert np.allclose(mine[name], theirs[name], rtol=rounding, atol=rounding), name
        else:
            assert mine[name].dtype == theirs[name].dtype and (mine[name] == theirs[name]).all(), name


def test_shards_and_processes_give_the_same(study, tmp_path):
    (model, corpus, _), root = study, tmp_path
    whole = capture(model, corpus, root / "whole", "--rows", "8")
    shards = [capture(model, corpus, root / f"shard{i}", "--rows", "8", "--shard", f"{i}/3") for i in range(3)]
    for name, order in (("merged", shards), ("reversed", shards[::-1])):
        done = engine.run("merge", *order, "--out", root / name, "--quiet")
        assert done.code == 0, done.stderr
        same_rows(root / name, whole)
    assert (root / "merged" / "moments.safetensors").read_bytes() == (root / "reversed" / "moments.safetensors").read_bytes()
    for threads in (1, 2):
        some = capture(model, corpus, root / f"threads{threads}", "--rows", "8", "--threads", str(threads))
        assert (some / "moments.safetensors").read_bytes() == (whole / "moments.safetensors").read_bytes(), threads
    spooled = capture(model, corpus, root / "spooled", "--rows", "8", "--memory", "1MiB")
    assert (spooled / "moments.safetensors").read_bytes() == (whole / "moments.safetensors").read_bytes()
    if MPIRUN:
        command = [MPIRUN, "-n", "2", engine.program(), *map(str, arguments(model, corpus, root / "joint", "--rows", "8"))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **ALLOW}, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        same_rows(root / "joint", whole)


def test_none_are_kept_where_none_are_wanted(study):
    model, corpus, root = study
    out = capture(model, corpus, root / "none", "--rows", "0")
    assert "rows" not in json.loads((out / "capture.json").read_text())["kept"]
    heads, curves = analyze(out, root / "none_tables")
    assert heads[rows_reference.COLUMNS].isna().all().all() and curves.empty
    done = engine.run("capture", model, "--corpus", corpus, "--out", root / "wrong", "--rows", "some", "--quiet")
    assert done.code == 2 and "found 'some', expected a whole number, 0 for none, or all" in done.stderr
