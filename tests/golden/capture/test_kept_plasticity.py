"""Samples of pairs in shards, processes, interrupted and extended captures; and files without them."""

import json
import os
import random
import shutil
import subprocess
import time

import numpy as np
import pandas
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import engine
import plain_models
import plasticity_reference as reference
import tiny_models
from plasticity_captures import CONTEXT, DOCUMENTS, analyze, arguments, capture, lengths, write_corpus
from plasticity_reference import COLUMNS
from trust_study import Study, good, tables

MPIRUN = os.environ.get("ROPEWALK_MPIRUN", "")
ALLOW = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A capture in one go, without vectors, and its inputs."""
    root = tmp_path_factory.mktemp("whole")
    model = plain_models.write(tiny_models.MODELS["llama_gqa"], root / "model")
    corpus = write_corpus(root / "tokens.jsonl", lengths())
    return capture(model, corpus, root / "run"), model, corpus


def same_sample(one, two):
    names = [name for name in load_file(two / "moments.safetensors") if name.startswith("plasticity")]
    assert len(names) == 4
    tensors = [load_file(folder / "moments.safetensors") for folder in (one, two)]
    for name in names:
        assert tensors[0][name].dtype == tensors[1][name].dtype and (tensors[0][name] == tensors[1][name]).all(), name


def same_numbers(one, two, root):
    tables = [analyze(folder, root / f"tables{i}") for i, folder in enumerate((one, two))]
    for mine, theirs in zip(*tables):
        for column in [*COLUMNS, "value"]:
            if column in mine:
                assert (mine[column] == theirs[column]).all()
                assert np.abs(mine[f"{column}_se"] - theirs[f"{column}_se"]).max() < 1e-8


def test_shards_are_merged(whole, tmp_path):
    out, model, corpus = whole
    shards = [capture(model, corpus, tmp_path / f"shard{i}", "--shard", f"{i}/3") for i in range(3)]
    done = engine.run("merge", *reversed(shards), "--out", tmp_path / "merged", "--quiet")
    assert done.code == 0, done.stderr
    same_sample(tmp_path / "merged", out)
    same_numbers(tmp_path / "merged", out, tmp_path)
    assert list(json.loads((tmp_path / "merged" / "capture.json").read_text())["kept"]) == ["lags", "plasticity", "pre_rope"]
    plain = engine.run(*[a for a in arguments(model, corpus, tmp_path / "plain", "--shard", "1/3") if a != "--plasticity"])
    assert plain.code == 0, plain.stderr
    done = engine.run("merge", shards[0], tmp_path / "plain", shards[2], "--out", tmp_path / "less", "--quiet")
    assert done.code == 0, done.stderr
    heads, curves = analyze(tmp_path / "less", tmp_path / "less_tables")
    assert heads[COLUMNS].isna().all().all() and len(curves) == 0, "a sum lacks what a part lacks"


@pytest.mark.skipif(not MPIRUN, reason="built without MPI")
def test_two_processes(whole, tmp_path):
    out, model, corpus = whole
    command = [MPIRUN, "-n", "2", engine.program(), *map(str, arguments(model, corpus, tmp_path / "joint"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **ALLOW}, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    same_sample(tmp_path / "joint", out)
    same_numbers(tmp_path / "joint", out, tmp_path)


def test_moments_that_do_not_fit_into_memory(whole, tmp_path):
    out, model, corpus = whole
    spooled = capture(model, corpus, tmp_path / "spooled", "--memory", "1MiB")
    assert (spooled / "moments.safetensors").read_bytes() == (out / "moments.safetensors").read_bytes()


def test_killed_and_resumed_and_extended(tmp_path):
    study = Study(tmp_path / "study", ("A", "B"))
    study.write_corpus(study.rows * 6)
    study.write(plasticity=True, corpus={"path": "corpus.jsonl"})
    out, fresh = tmp_path / "out", tmp_path / "fresh"
    start = time.monotonic()
    good(study.run(fresh))
    took = time.monotonic() - start
    dice = random.Random(3)
    for _ in range(10):
        engine.kill_after(dice.uniform(0.2, 0.9) * took, "run", study.root / "study.yaml", "--out", out, "--format", "json", "--quiet")
    good(study.run(out))
    assert tables(out) == tables(fresh) and not pandas.read_csv(out / "heads.csv").ap_overall.isna().any()
    same_sample(out / "checkpoints" / "A", fresh / "checkpoints" / "A")

    few = tmp_path / "few"
    study.write(plasticity=True, corpus={"path": "corpus.jsonl", "documents": len(study.rows)})
    good(study.run(few))
    study.write(plasticity=True, corpus={"path": "corpus.jsonl"})
    assert "documents exist already" in good(study.run(few)).stderr
    same_sample(few / "checkpoints" / "A", fresh / "checkpoints" / "A")


def test_a_capture_without_it_gets_it_and_one_with_it_is_kept(tmp_path):
    study = Study(tmp_path / "study", ("A",))
    out = tmp_path / "out"
    good(study.run(out))
    heads = pandas.read_csv(out / "heads.csv")
    assert heads[COLUMNS].isna().all().all()
    assert not (out / "figures" / "plasticity.vl.json").exists()
    study.write(plasticity=True)
    assert "A: plasticity measured in addition to what exists" in good(study.run(out)).stderr
    assert (out / "figures" / "plasticity.vl.json").exists()
    study.write(plasticity=False)
    assert "measured again" not in good(study.run(out)).stderr
    good(study.run(tmp_path / "fresh"))
    for name in ("heads.csv", "curves.csv", "changes.csv", "summary.json"):
        assert (out / name).read_bytes() == (tmp_path / "fresh" / name).read_bytes(), "tables are of what is asked for"
    assert not (out / "figures" / "plasticity.vl.json").exists()


def test_what_float16_does_not_hold_is_float32(whole, tmp_path):
    _, model, corpus = whole
    shutil.copytree(model, tmp_path / "model")
    weights = load_file(model / "model.safetensors")
    for kind in ("weight", "bias"):
        weights[f"model.layers.1.self_attn.q_proj.{kind}"] *= 3e6
    save_file(weights, tmp_path / "model" / "model.safetensors", {"format": "pt"})
    out = capture(tmp_path / "model", corpus, tmp_path / "run", "--vectors", "all")
    tensors, vectors = load_file(out / "moments.safetensors"), engine.read_streams(out)
    sample = tensors["plasticity.query.sample"]
    assert sample.dtype == np.float32 and tensors["plasticity.key.sample"].dtype == np.float16
    assert np.isfinite(sample).all() and np.abs(sample).max() > 65504
    for i, (layer, head) in enumerate(zip(tensors["query.layer"], tensors["query.head"])):
        documents = [vectors[layer, head, "q"][j] for j in range(DOCUMENTS)]
        for index, vector in reference.sample(documents, CONTEXT).items():
            assert (sample[i].reshape(DOCUMENTS, reference.BUCKETS, -1)[index] == vector).all()
    heads, _ = analyze(out, tmp_path / "tables")
    assert heads.ap_overall.notna().all()


@pytest.mark.parametrize(
    "sizes, context, blocks, columns, points",
    [
        ([CONTEXT], CONTEXT, 1, 0, 0),  # no other document
        ([CONTEXT] * 2, CONTEXT, 2, 0, 0),  # one other document, but two are compared
        ([CONTEXT] * 3, CONTEXT, 1, 4, 14),  # one block: no errors
        ([CONTEXT] * 3, CONTEXT, 3, 4, 14),  # too few remain without a block, so there are no errors
        ([40] * 9, CONTEXT, 3, 4, 4),  # documents end in their sixth bucket
        ([20] * 9, 20, 3, 4, 11),  # buckets of one or two tokens, the first of which are left out
        ([9] * 9, 9, 3, 4, 3),
        ([5] * 9, 5, 3, 0, 0),
        ([3] * 9, 3, 3, 0, 0),
    ],
)
def test_too_little_of_it_is_empty(whole, tmp_path, sizes, context, blocks, columns, points):
    _, model, _ = whole
    corpus = write_corpus(tmp_path / "tokens.jsonl", sizes)
    out = capture(model, corpus, tmp_path / "run", blocks=blocks, context=context)
    heads, curves = analyze(out, tmp_path / "tables")
    assert heads[COLUMNS].notna().all(axis=0).sum() == columns and heads[COLUMNS].isna().all(axis=0).sum() == 4 - columns
    assert (curves.value.notna().groupby([curves.layer, curves.q_head]).sum() == points).all()
    assert curves.flag[curves.value.isna()].str.contains("no_pairs").all()
    if blocks < 2 or len(sizes) <= 3:
        assert heads.ap_overall_se.isna().all()
    assert "nan" not in (tmp_path / "tables" / "summary.json").read_text().lower()


@pytest.mark.parametrize(
    "name, change, says",
    [
        ("plasticity.key.position", lambda x: x * 0 + 7000, "'plasticity.key.position' contains 7000, expected whole numbers from 0 to 112"),
        ("plasticity.key.position", lambda x: x * 0 + 0.5, "contains 0.5, expected whole numbers"),
        ("plasticity.key.block", lambda x: x * 0 + 9, "'plasticity.key.block' contains 9, expected whole numbers from 0 to 8"),
        ("plasticity.query.sample", lambda x: x[:, :-1], "tensor 'plasticity.query.sample' is F16 [16, 10239], expected F16 [16, 10240]"),
        ("plasticity.query.sample", lambda x: x.astype(np.int16), "tensor 'plasticity.query.sample' is I16"),
        ("plasticity.key.sample", lambda x: x * np.float16("nan"), "'plasticity.key.sample' holds values that are not finite"),
    ],
)
def test_numbers_that_make_no_sense(whole, tmp_path, name, change, says):
    out, _, _ = whole
    (tmp_path / "run").mkdir()  # without capture.json, which has the file's hash
    with safe_open(out / "moments.safetensors", "np") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    tensors[name] = np.ascontiguousarray(change(tensors[name]))
    save_file(tensors, tmp_path / "run" / "moments.safetensors", metadata)
    done = engine.run("analyze", tmp_path / "run", "--out", tmp_path / "tables")
    assert done.code == 3 and says in done.stderr, done.stderr
    assert not (tmp_path / "tables" / "qk.csv").exists()
