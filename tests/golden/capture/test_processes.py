"""Several real processes under mpirun: the numbers of one process, a process that dies, mistakes."""

import json
import os
import subprocess

import numpy as np
import pandas
import pytest
import torch
from safetensors.torch import load_file

import engine
from mpi_jobs import ALLOW, CONTEXT, MPIRUN, errors, expect_equal, mpirun, study, whole  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(not MPIRUN, reason="built without MPI")


def expect_same_moments(one, two):
    """Where no block is shared, sums are added up in the same order, except those without blocks."""
    one, two = (load_file(folder / "moments.safetensors") for folder in (one, two))
    assert one.keys() == two.keys() and "lags.query.block_sum" in one
    for name, values in one.items():
        if name in ("pre_rope.query.products", "pre_rope.key.products"):
            assert torch.allclose(values, two[name], rtol=1e-12, atol=1e-12), name
        else:
            assert torch.equal(values, two[name]), name


def expect_equal_series(one, two):
    """Frequencies and distances, with errors: only the rounding of sums differs."""
    for table in ("bands", "curves"):
        first, second = (pandas.read_csv(capture.parent / f"{capture.name}_tables" / f"{table}.csv") for capture in (one, two))
        assert len(first) > 0
        pandas.testing.assert_frame_equal(first, second, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_equals_one_process(study, whole, count):
    joint = study.together(count, f"joint{count}")
    expect_equal(study.table(whole), study.table(joint))
    expect_equal_series(whole, joint)
    stated = [json.loads((folder / "capture.json").read_text()) for folder in (joint, whole)]
    assert all(info.pop("seconds") > 0 and info.pop("moments") for info in stated) and stated[0] == stated[1]
    if 16 % count == 0:
        expect_same_moments(joint, whole)


def test_loss_equals_one_process(study, tmp_path):
    """Values of documents are never added up, so they are equal bit for bit."""
    words = ["loss", study.model, "--corpus", study.corpus, "--context", CONTEXT, "--min-tokens", 1, "--dtype", "float32", "--label", "tiny", "--quiet", "--out"]
    assert engine.run(*words, tmp_path / "alone").code == 0
    for count, few in ((3, []), (2, ["--documents", 1])):
        together, alone = tmp_path / f"of{count}", tmp_path / "alone"
        done = mpirun(count, *words, together, *few)
        assert done.code == 0 and errors(done) == [], done.stderr
        if few:
            alone = tmp_path / "one"
            assert engine.run(*words, alone, *few).code == 0
        for name in ("loss.csv", "loss_documents.csv", "moments.safetensors"):
            assert (together / name).read_bytes() == (alone / name).read_bytes(), (count, name)


def test_fewer_documents_than_processes(study):
    few = study.together(4, "few", "--documents", 3)
    assert json.loads((few / "capture.json").read_text())["documents"] == 3
    expect_equal(study.table(study.alone("few_alone", "--documents", 3)), study.table(few))


def test_more_processes_than_blocks(study):
    joint = study.together(4, "blocks", "--blocks", 3)
    expect_equal(study.table(study.alone("blocks_alone", "--blocks", 3)), study.table(joint))


def test_moments_that_do_not_fit(study, whole):
    """Every process stores its moments in a scratch file."""
    spooled = study.together(2, "spooled", "--memory", "384KiB")
    expect_same_moments(spooled, whole)


def test_shards_stand_alone(study, whole, tmp_path):
    """A job of an array is independent of the others, even if mpirun starts several of them."""
    words = " ".join(map(str, study.arguments(tmp_path / "part$OMPI_COMM_WORLD_RANK", "--quiet")))
    script = f"exec {engine.program()} {words} --shard $OMPI_COMM_WORLD_RANK/3"
    done = subprocess.run([MPIRUN, "-n", "3", "sh", "-c", script], capture_output=True, text=True, env={**os.environ, **ALLOW}, timeout=300)
    assert done.returncode == 0, done.stderr
    parts = [tmp_path / f"part{i}" for i in range(3)]
    done = engine.run("merge", *parts, "--out", tmp_path / "merged", "--quiet")
    assert (done.code, done.stderr) == (0, "")
    one, two = study.table(whole), study.table(tmp_path / "merged")
    assert np.abs(one[["r_q", "r_k"]] - two[["r_q", "r_k"]]).max(axis=None) <= 1.000001e-9
