"""Plasticity from capture to table: compared with numpy on the vectors of all tokens; and the same numbers, however a capture was made."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

import bands_reference
import engine
import plasticity_reference as reference
import tiny_models
from plasticity_captures import BLOCKS, CONTEXT, DOCUMENTS, analyze, capture, lengths, write_corpus
from plasticity_reference import COLUMNS


class Captured:
    def __init__(self, name, root):
        self.root = root
        self.model = tiny_models.write(tiny_models.MODELS[name], root / "model")
        self.corpus = write_corpus(root / "tokens.jsonl", lengths())
        self.out = capture(self.model, self.corpus, root / "run", "--vectors", "all", "--sliding")
        self.heads, self.curves = analyze(self.out, root / "tables")
        self.vectors = {key: [documents[i] for i in range(DOCUMENTS)] for key, documents in engine.read_streams(self.out).items()}
        info = json.loads((self.out / "capture.json").read_text())
        self.kept, self.group = list(info["kept"]), info["config"]["n_q_heads"] // info["config"]["n_kv_heads"]
        self.sizes = np.array([2.0 * sum(lengths()[b::BLOCKS]) for b in range(BLOCKS)])

    def streams(self, layer, head):
        return self.vectors[layer, head, "q"], self.vectors[layer, head // self.group, "k"]


# Queries share keys; NoPE layers, on which equal tokens have equal keys; interleaved pairs.
@pytest.fixture(scope="module", params=["llama_gqa", "smollm3_list_sliding", "glm4_yarn"])
def captured(request, tmp_path_factory):
    return Captured(request.param, tmp_path_factory.mktemp(request.param))


def test_the_sample_is_what_numpy_draws(captured):
    assert captured.kept == ["lags", "plasticity", "pre_rope", "rows"]
    tensors = load_file(captured.out / "moments.safetensors")
    assert not [name for name in tensors if name.startswith("plasticity") and "block_" in name]
    for kind in ("query", "key"):
        stored = tensors[f"plasticity.{kind}.sample"]
        assert stored.dtype == np.float16
        for i, (layer, head) in enumerate(zip(tensors[f"{kind}.layer"], tensors[f"{kind}.head"])):
            found = stored[i].reshape(DOCUMENTS, reference.BUCKETS, -1)
            expected = np.zeros(found.shape)
            for index, vector in reference.sample(captured.vectors[layer, head, kind[0]], CONTEXT).items():
                expected[index] = vector
            assert (found == expected).all()
    tokens = [[reference.token(i, b, CONTEXT, n) for b in range(reference.BUCKETS)] for i, n in enumerate(lengths())]
    position = np.array([[0 if t is None else t + 1 for t in row] for row in tokens])
    assert (tensors["plasticity.key.position"] == position.ravel()).all()
    assert position[0].min() >= 5 and not position[24].any() and position[3, :3].all() and not position[3, 5:].any()
    assert (tensors["plasticity.key.block"] == np.arange(DOCUMENTS) % BLOCKS + 1).all()


def test_curves_and_columns_are_those_of_numpy(captured):
    """Float32 products may order two keys differently where they are nearly equal; this is rare and the effect is small."""
    apart = []
    for row in captured.heads.query("layer < 2").to_dict("records"):
        q, k = (reference.sample(x, CONTEXT) for x in captured.streams(row["layer"], row["q_head"]))
        rows = [reference.curve(q, k, CONTEXT)] + [reference.curve(q, k, CONTEXT, range(b, DOCUMENTS, BLOCKS)) for b in range(BLOCKS)]
        table = captured.curves.query(f"layer == {row['layer']} and q_head == {row['q_head']}")
        assert table.x.tolist() == list(rows[0]) and len(table) == 14
        values = np.array([list(one.values()) for one in rows])
        apart.extend(table.value - values[0])
        apart.extend(table.value_se - bands_reference.jackknife(values[0], values[1:], captured.sizes))
        numbers = [reference.columns(one, ~np.isnan(values[0])) for one in values]
        for key in COLUMNS:
            value, *replicates = (one[key] for one in numbers)
            apart.append(row[key] - value)
            apart.append(row[f"{key}_se"] - bands_reference.jackknife(value, replicates, captured.sizes))
    apart = np.abs(apart)
    assert apart.max() < 2e-3 and (apart < 1e-8).mean() > 0.8, (apart.max(), (apart < 1e-8).mean())


def test_the_sample_stands_for_all_tokens(captured):
    """It differs from the plasticity over every token of every bucket by no more than its standard errors."""
    off = []
    for row in captured.heads.query("q_head == 1 and layer < 2").to_dict("records"):
        q, k = captured.streams(row["layer"], row["q_head"])
        table = captured.curves.query(f"layer == {row['layer']} and q_head == 1").set_index("x")
        for b in (3, 8):
            positions = reference.bucket(b, CONTEXT)
            found = table.loc[(positions[0] + positions[-1]) / 2]
            off.append((found.value - reference.of_all_tokens(q, k, CONTEXT, b)) / found.value_se)
    assert np.abs(off).max() < 4 and np.sqrt(np.mean(np.square(off))) < 1.8, off


def test_means_are_in_the_summary_and_in_figures(captured):
    summary = json.loads((captured.root / "tables" / "summary.json").read_text())
    for key in COLUMNS:
        mean = summary[f"mean_{key}"]["run"]
        assert abs(mean["value"] - captured.heads[key].mean()) < 1e-8 and mean["se"] > 0
    curve = summary["curves"]["run"]["plasticity"]
    assert np.allclose(curve["value"], captured.curves.groupby("x").value.mean(), atol=1e-8) and min(curve["se"]) > 0
    done = engine.run("figures", captured.root / "tables" / "qk.csv", "--out", captured.root / "figures", "--format", "json")
    assert done.code == 0, done.stderr
    spec = json.loads((captured.root / "figures" / "plasticity.vl.json").read_text())
    drawn = [row["plasticity"] for row in spec["datasets"]["curves"]]
    assert np.allclose(drawn, curve["value"], atol=1e-8)
    means = {row["series"]: row["mean"] for row in spec["datasets"]["means"]}
    assert abs(means["last fifth"] - captured.heads.ap_last20.mean()) < 1e-8
