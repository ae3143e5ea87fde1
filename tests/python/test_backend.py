"""Models that transformers runs (`backend: transformers`): compared with our own pass, and with numpy from vectors that hooks caught."""

import json
import re

import numpy as np
import pandas
import pytest

import lacking_families
import reference
import tiny_models
from backend_study import BLOCKS, assert_same_moments, capture_of, experiment, program, refusal
from tiny_models import CONTEXT, MODELS

# BLOOM does not use the attention interface. Grouped products need sizes that are multiples of 16 bytes, which those experts do not
# have. gpt-oss with limits of its own: transformers takes them from no config.json.
WITHOUT = {"bloom", "bloom_six", "qwen3_moe_sliding"}
OURS = [name for name in MODELS if name not in WITHOUT and not name.startswith("gpt_oss")]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backend")
    tiny_models.write_corpus(folder / "tokens.jsonl", tiny_models.documents())
    return folder


@pytest.fixture(scope="module")
def both(root):
    """One study of every family through our own pass, one through transformers; the latter in one companion."""
    models = {name: tiny_models.write(MODELS[name], root / name) for name in OURS}
    for backend in ("ropewalk", "transformers"):
        file = experiment(root / f"{backend}.yaml", root / "tokens.jsonl", models, backend=backend)
        program("run", file, "--out", root / backend, "--format", "json", "--quiet", timeout=3000)
    return root


@pytest.mark.parametrize("name", OURS)
def test_moments_are_those_of_our_own_pass(both, name):
    own, own_info = capture_of(both / "ropewalk" / "checkpoints" / name)
    made, info = capture_of(both / "transformers" / "checkpoints" / name)
    assert "backend" not in own_info and info["backend"]["name"] == "transformers"
    assert all(info[key] == own_info[key] for key in ("config", "corpus", "heads", "context", "dtype", "device"))
    if own_info["config"].get("query_scaling") is not None:  # vectors are not rotated back
        own = {key: values for key, values in own.items() if not key.startswith("pre_rope.")}
    assert_same_moments(own, made, 1e-5)


def tables(root, backend):
    """qk.csv of PC0 and heads.csv, one row per head each."""
    qk, heads = (pandas.read_csv(root / backend / name) for name in ("qk.csv", "heads.csv"))
    return qk[qk.pc == 0].reset_index(drop=True), heads


def test_tables_are_those_of_our_own_pass(both):
    own, made = tables(both, "ropewalk"), tables(both, "transformers")
    flags = pandas.concat([table.flag.fillna("") for table in (*own, *made)], axis=1).agg(";".join, axis=1)
    sure = (own[1].gap01 < 0.9) & ~flags.str.contains("sign_uncertain|near_tie")
    assert sure.sum() > 100
    scaled = own[1].checkpoint.isin([name for name in OURS if MODELS[name].model_type in ("ministral3", "mistral3")])
    for mine, theirs in zip(own, made):
        assert list(mine.columns) == list(theirs.columns) and (mine[["checkpoint", "layer", "q_head"]] == theirs[["checkpoint", "layer", "q_head"]]).all(axis=None)
        for column in mine.columns[mine.dtypes.map(lambda kind: kind.kind in "fi")]:
            one, other = mine[column][sure], theirs[column][sure]
            assert ((one.isna() == other.isna()) | scaled[sure]).all(), f"{column}: known in both, but where vectors are not rotated back"
            assert not ((one - other).abs() / one.abs().clip(lower=1) > 1e-4).any(), column


def test_tables_say_what_ran(both):
    summary = json.loads((both / "transformers" / "summary.json").read_text())
    assert all(re.fullmatch(r"transformers [\d.]+ with torch \S+", one["backend"]) for one in summary["checkpoints"])
    assert not any("backend" in one for one in json.loads((both / "ropewalk" / "summary.json").read_text())["checkpoints"])
    assert json.loads((both / "transformers" / "manifest.json").read_text())["settings"]["backend"] == "transformers"


def sums(documents):
    """Mean, products and position products of a stream, from all vectors that hooks caught."""
    vectors = np.concatenate(list(documents.values())).astype(float)
    positions = np.concatenate([np.arange(len(one)) for one in documents.values()]).astype(float)
    centred = vectors - vectors.mean(0)
    return {
        "mean": vectors.mean(0), "products": (centred.T @ centred)[np.triu_indices(vectors.shape[1])],
        "position": centred.T @ (positions - positions.mean()),
    }  # fmt: skip


@pytest.mark.parametrize("name", lacking_families.MODELS)
def test_families_that_we_lack(root, name):
    folder, out = lacking_families.write(name, root / name), root / f"out-{name}"
    options = ["--corpus", root / "tokens.jsonl", "--out", out, "--context", CONTEXT, "--min-tokens", 1, "--blocks", BLOCKS, "--sliding"]
    assert "--backend transformers" in refusal("capture", folder, *options)
    program("capture", folder, *options, "--dtype", "float32", "--backend", "transformers", "--quiet")
    streams = reference.capture(folder, tiny_models.documents(), CONTEXT)
    tensors, info = capture_of(out)
    assert sorted({layer for layer, _ in info["heads"]}) == lacking_families.LAYERS[name]
    assert "pre_rope" not in info["kept"] and "lags" in info["kept"]
    rows = [(kind, row, (int(layer), int(head), kind[0])) for kind in ("query", "key")
            for row, (layer, head) in enumerate(zip(tensors[f"{kind}.layer"], tensors[f"{kind}.head"]))]  # fmt: skip
    assert {key for _, _, key in rows} == set(streams)
    for kind, row, key in rows:
        for field, right in sums(streams[key]).items():
            np.testing.assert_allclose(tensors[f"{kind}.{field}"][row], right, rtol=0, atol=1e-5 * np.abs(right).max(), err_msg=f"{key} {field}")
    program("analyze", out, "--out", root / f"tables-{name}", "--quiet")
    heads = pandas.read_csv(root / f"tables-{name}" / "heads.csv")
    assert len(heads) == len(info["heads"]) and heads.r2cv_q.notna().any()
    assert heads.flag.str.contains("not_measured").all(), "numbers before RoPE"
