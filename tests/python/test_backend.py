"""Models that transformers runs (`backend: transformers`): compared with our own pass, and with numpy from vectors that hooks caught."""

import json
import os
import re
import subprocess

import numpy as np
import pandas
import pytest
from safetensors.numpy import load_file

import lacking_families
import reference
import tiny_models
from tiny_models import CONTEXT, MODELS

BLOCKS = 3
# Without the attention interface; grouped products of experts with sizes that torch refuses on a CPU; and a limit of gates that
# transformers does not take from config.json.
WITHOUT = {"bloom", "bloom_six", "qwen3_moe_sliding"}
OURS = [name for name in MODELS if name not in WITHOUT and not name.startswith("gpt_oss")]
QUIET = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def program(*arguments, code=0, environment=None, timeout=600):
    done = subprocess.run([os.environ["ROPEWALK"], *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **QUIET, **(environment or {})}, timeout=timeout)
    assert done.returncode == code, done.stderr
    return done


def experiment(path, corpus, models, **keys):
    settings = dict(name="Backend", device="cpu", dtype="float32", blocks=BLOCKS, sliding=True, corpus={"path": str(corpus), "min_tokens": 1})
    entries = [{"label": label, "path": str(folder), "context": CONTEXT} for label, folder in models.items()]
    path.write_text(json.dumps({**settings, "models": entries, **keys}))
    return path


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


def capture_of(folder, label):
    where = folder / "checkpoints" / label
    return load_file(where / "moments.safetensors"), json.loads((where / "capture.json").read_text())


@pytest.mark.parametrize("name", OURS)
def test_moments_are_those_of_our_own_pass(both, name):
    own, own_info = capture_of(both / "ropewalk", name)
    made, info = capture_of(both / "transformers", name)
    assert "backend" not in own_info and info["backend"]["name"] == "transformers"
    assert info["config"] == own_info["config"] and info["corpus"] == own_info["corpus"] and info["heads"] == own_info["heads"]
    scaled = own_info["config"].get("query_scaling") is not None
    lacking = {key for key in own if scaled and key.startswith("pre_rope.")}
    assert set(made) == set(own) - lacking
    for key in made:
        mine, theirs = own[key].astype(float), made[key].astype(float)
        assert mine.shape == theirs.shape, key
        if mine.size == 0:
            continue
        size = np.abs(mine).reshape(len(mine), -1).max(1).max() if mine.ndim else abs(mine)
        if mine.ndim > 1:  # of a stream, its largest number is what others are relative to
            size = np.maximum(np.abs(mine).reshape(len(mine), -1).max(1), 1e-3 * size).reshape(-1, *[1] * (mine.ndim - 1))
        assert (np.abs(theirs - mine) <= 1e-5 * size).all(), key


def numbers(folder, table):
    return pandas.read_csv(folder / table)


def test_tables_are_those_of_our_own_pass(both):
    own, made = (numbers(both / backend, "qk.csv") for backend in ("ropewalk", "transformers"))
    assert (own[["checkpoint", "layer", "q_head", "pc"]] == made[["checkpoint", "layer", "q_head", "pc"]]).all(axis=None)
    flags = own.flag.fillna("") + made.flag.fillna("")
    sure = (own.gap01 < 0.9) & ~flags.str.contains("sign_uncertain|near_tie") & (own.pc == 0)
    assert sure.sum() > 100
    for column in ("r_q", "r_k", "explained_variance_q", "explained_variance_k"):
        if column in own:
            assert (own[column] - made[column])[sure].abs().max() < 1e-4, column
    own, made = (numbers(both / backend, "heads.csv") for backend in ("ropewalk", "transformers"))
    # Fits to few tokens magnify rounding by their condition number; these numbers are plain sums.
    for column in [name for name in ("logit_pos_share", "logit_std", "mean_within_r_q") if name in own]:
        assert np.nanmax((own[column] - made[column]).abs() / own[column].abs().clip(lower=1)) < 1e-3, column


def test_tables_say_what_ran(both):
    summary = json.loads((both / "transformers" / "summary.json").read_text())
    assert all(re.fullmatch(r"transformers [\d.]+ with torch \S+", one["backend"]) for one in summary["checkpoints"])
    assert not any("backend" in one for one in json.loads((both / "ropewalk" / "summary.json").read_text())["checkpoints"])
    assert json.loads((both / "transformers" / "manifest.json").read_text())["settings"]["backend"] == "transformers"


def sums(streams, key):
    """n, mean, products and position products of one stream, from all vectors that hooks caught."""
    vectors = np.concatenate(list(streams[key].values())).astype(float)
    positions = np.concatenate([np.arange(len(one)) for one in streams[key].values()]).astype(float)
    centred = vectors - vectors.mean(0)
    return vectors.mean(0), (centred.T @ centred)[np.triu_indices(vectors.shape[1])], centred.T @ (positions - positions.mean())


@pytest.mark.parametrize("name", lacking_families.MODELS)
def test_families_that_we_lack(root, name):
    folder = lacking_families.write(name, root / name)
    out = root / f"out-{name}"
    texts = tiny_models.documents()
    options = ["--corpus", root / "tokens.jsonl", "--out", out, "--context", CONTEXT, "--min-tokens", 1, "--blocks", BLOCKS, "--sliding"]
    refused = program("capture", folder, *options, code=3)
    assert "--backend transformers" in refused.stderr and refused.stderr.count("\n") == 1
    program("capture", folder, *options, "--dtype", "float32", "--backend", "transformers", "--quiet")
    streams = reference.capture(folder, texts, CONTEXT)
    tensors, info = load_file(out / "moments.safetensors"), json.loads((out / "capture.json").read_text())
    assert sorted({layer for layer, _ in info["heads"]}) == lacking_families.LAYERS[name]
    assert "pre_rope" not in info["kept"] and "lags" in info["kept"]
    expected = {(int(layer), int(head), kind[0]) for kind in ("query", "key") for layer, head in zip(tensors[f"{kind}.layer"], tensors[f"{kind}.head"])}
    assert expected == set(streams)
    for kind in ("query", "key"):
        for row, (layer, head) in enumerate(zip(tensors[f"{kind}.layer"], tensors[f"{kind}.head"])):
            for field, right in zip(("mean", "products", "position"), sums(streams, (int(layer), int(head), kind[0]))):
                np.testing.assert_allclose(tensors[f"{kind}.{field}"][row], right, atol=1e-5 * np.abs(right).max(), err_msg=f"{layer} {head} {field}")
    program("analyze", out, "--out", root / f"tables-{name}", "--quiet")
    heads = pandas.read_csv(root / f"tables-{name}" / "heads.csv")
    assert len(heads) == len(info["heads"]) and heads.flag.str.contains("not_measured").all()
