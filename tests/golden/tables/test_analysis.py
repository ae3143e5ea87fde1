"""Tables from moments and from vectors, compared with scikit-learn and numpy on the same vectors."""

import json

import numpy as np
import pandas
import pytest

import analysis_reference as expected
import engine
import plain_models
import tiny_models

CONTEXT = 160
DOCUMENTS = 20
MODELS = ["llama_gqa", "smollm3_interval", "gpt_neox_parallel"]


@pytest.fixture(scope="module", params=MODELS)
def study(request, tmp_path_factory):
    """One capture with moments and every vector, and both tables computed from it."""
    root = tmp_path_factory.mktemp(request.param)
    model = plain_models.write(tiny_models.MODELS[request.param], root / "model")
    rng = np.random.default_rng(5)
    vocabulary = json.loads((model / "config.json").read_text())["vocab_size"]
    texts = [rng.integers(0, vocabulary, rng.integers(60, CONTEXT + 1)).tolist() for _ in range(DOCUMENTS)]
    corpus = root / "tokens.jsonl"
    corpus.write_text("".join(json.dumps({"id": i, "tokens": t}) + "\n" for i, t in enumerate(texts)))
    capture = engine.run("capture", model, "--corpus", corpus, "--out", root / "run", "--context", CONTEXT, "--min-tokens", 1,
                         "--vectors", "all", "--dtype", "float32", "--sliding", "--quiet")  # fmt: skip
    assert capture.code == 0, capture.stderr
    for source in ("moments", "vectors"):
        done = engine.run("analyze", root / "run", "--from", source, "--out", root / source, "--quiet")
        assert done.code == 0, done.stderr
    return root


def read(study, source):
    table = pandas.read_csv(study / source / "qk.csv", keep_default_na=True)
    return table, json.loads((study / source / "summary.json").read_text())


def read_vectors(study):
    """{(layer, head, kind): {example_id, position, vector}}, one row per token."""
    streams = {}
    for key, documents in engine.read_streams(study / "run").items():
        streams[key] = {
            "example_id": np.concatenate([np.full(len(x), i) for i, x in documents.items()]),
            "position": np.concatenate([np.arange(len(x)) for x in documents.values()]),
            "vector": np.concatenate(list(documents.values())),
        }
    return streams


def reference(study):
    """{(layer, head): (rows, eigenvalues)} from the vectors the capture wrote."""
    streams = read_vectors(study)
    info = json.loads((study / "run" / "capture.json").read_text())
    group = info["config"]["n_q_heads"] // info["config"]["n_kv_heads"]
    heads = {}
    for (layer, head, kind), q in streams.items():
        if kind == "q":
            k = streams[layer, head // group, "k"]
            heads[layer, head] = expected.analyze_head(q["vector"], q["position"], k["vector"], k["position"])
    return heads


@pytest.mark.parametrize("source", ["moments", "vectors"])
def test_table(study, source):
    table, _ = read(study, source)
    print("near a decision:", expected.compare_table(table, reference(study)))


@pytest.mark.parametrize("source", ["moments", "vectors"])
def test_summary(study, source):
    table, summary = read(study, source)
    pc0 = table[table.pc == 0]
    label = summary["checkpoints"][0]["label"]
    value = lambda key: summary[key][label]["value"]
    assert value("mean_r_q") == pytest.approx(pc0.r_q.mean(), abs=1e-8)
    assert value("mean_r_k") == pytest.approx(pc0.r_k.mean(), abs=1e-8)
    assert value("mean_abs_r_k") == pytest.approx(pc0.r_k.abs().mean(), abs=1e-8)
    assert value("sd_r_q") == pytest.approx(pc0.r_q.std(ddof=1), abs=1e-8)
    assert value("pc0_explained_variance") == pytest.approx(pc0.explained_variance.mean(), abs=1e-8)
    for name in expected.CLASSES:
        assert summary["taxonomy"][label][name]["value"] == pytest.approx((pc0["class"] == name).mean(), abs=1e-12)
    last = json.loads((study / "run" / "capture.json").read_text())["config"]["layers"] - 1
    bins = pc0.layer.map(lambda layer: expected.depth_bin(layer, last))
    for key, column in [("depth_r_q", pc0.r_q), ("depth_r_k", pc0.r_k), ("depth_abs_r_k", pc0.r_k.abs())]:
        for b, cell in enumerate(summary[key][label]):
            inside = column[bins == b]
            assert (cell is None) == inside.empty
            if cell:
                assert cell["value"] == pytest.approx(inside.mean(), abs=1e-8)
    for split, flag in (("rope", 1), ("nope", 0)):
        inside = pc0[pc0.rope == flag]
        mean = summary[split]["mean_r_q"][label]["value"]
        assert mean == (None if inside.empty else pytest.approx(inside.r_q.mean(), abs=1e-8))


def test_figures_accept_the_summary(study):
    """The summary belongs to the table: `figures` would refuse another's."""
    table, summary = read(study, "moments")
    assert summary["checkpoints"][0]["last_layer"] >= table.layer.max()
    done = engine.run("figures", study / "moments" / "qk.csv", "--summary", study / "moments" / "summary.json",
                      "--out", study / "figures", "--format", "json", "--quiet")  # fmt: skip
    assert done.code == 0, done.stderr
    rows = json.loads((study / "figures" / "position_signal.vl.json").read_text())["datasets"]["means"]
    label = summary["checkpoints"][0]["label"]
    assert [row["se"] for row in rows] == [summary[key][label]["se"] for key in ("mean_r_q", "mean_r_k", "mean_abs_r_k")]


def test_jackknife(study):
    """Standard errors from leaving out blocks of documents, recomputed from the vectors themselves."""
    table, _ = read(study, "moments")
    streams = read_vectors(study)
    info = json.loads((study / "run" / "capture.json").read_text())
    group = info["config"]["n_q_heads"] // info["config"]["n_kv_heads"]
    blocks = info["blocks"]
    chosen = table[(table.pc == 0)].iloc[:: max(1, len(table[table.pc == 0]) // 6)]
    for row in chosen.itertuples():
        q, k = streams[row.layer, row.q_head, "q"], streams[row.layer, row.q_head // group, "k"]
        full = np.array([row.explained_variance, row.r_q, row.r_k])
        replicates, sizes = [], []
        for b in range(blocks):
            keep_q, keep_k = q["example_id"] % blocks != b, k["example_id"] % blocks != b
            rows, _ = expected.analyze_head(
                q["vector"][keep_q], q["position"][keep_q], k["vector"][keep_k], k["position"][keep_k], 1)  # fmt: skip
            if np.dot(rows[0][1:], full[1:]) < 0:
                rows[0][1:] *= -1
            replicates.append(rows[0])
            sizes.append((~keep_q).sum())
        replicates, sizes = np.array(replicates), np.array(sizes, float)
        h = sizes.sum() / sizes
        pseudo = h[:, None] * full - (h - 1)[:, None] * replicates
        centre = blocks * full - ((1 - 1 / h)[:, None] * replicates).sum(0)
        se = np.sqrt((((pseudo - centre) ** 2) / (h - 1)[:, None]).mean(0))
        if row.pc0_stability > 0.9:
            assert [row.explained_variance_se, row.r_q_se, row.r_k_se] == pytest.approx(se, rel=2e-2, abs=1e-5)
