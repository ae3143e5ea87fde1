"""Captures and studies in several MPI processes."""

import json
import os
import subprocess

import numpy as np
import pandas
import pytest

import engine
import plain_models
import tiny_models

CONTEXT = 96
LAST_TOKEN = tiny_models.VOCAB - 1  # does not occur in ordinary documents
# As root, with more processes than cores: a waiting process leaves the core to the others.
ALLOW = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
         "OMPI_MCA_mpi_yield_when_idle": "1"}  # fmt: skip
MPIRUN = os.environ.get("ROPEWALK_MPIRUN", "")


def command(count, *arguments):
    return [MPIRUN, "-n", str(count), engine.program(), *map(str, arguments)]


def mpirun(count, *arguments, timeout=300):
    done = subprocess.run(
        command(count, *arguments), capture_output=True, text=True, timeout=timeout, env={**os.environ, **ALLOW}, stdin=subprocess.DEVNULL
    )
    return engine.Result(done.returncode, done.stdout, done.stderr)


def errors(result):
    """The program's own messages, without mpirun's."""
    return [line for line in result.stderr.splitlines() if line.startswith("error:")]


def write_tokens(path, documents):
    path.write_text("".join(json.dumps({"tokens": tokens}) + "\n" for tokens in documents))
    return path


class Study:
    def __init__(self, root):
        self.root = root
        self.model = plain_models.write(tiny_models.MODELS["llama_gqa"], root / "model")
        rng = np.random.default_rng(1)
        self.documents = [rng.integers(0, LAST_TOKEN, rng.integers(40, CONTEXT + 1)).tolist() for _ in range(40)]
        self.corpus = write_tokens(root / "tokens.jsonl", self.documents)

    def arguments(self, out, *options, model=None, corpus=None):
        return ["capture", model or self.model, "--corpus", corpus or self.corpus, "--out", self.root / out, "--context", CONTEXT,
                "--min-tokens", 1, "--dtype", "float32", "--label", "tiny", *options]  # fmt: skip

    def alone(self, out, *options):
        done = engine.run(*self.arguments(out, *options, "--quiet"))
        assert done.code == 0, done.stderr
        return self.root / out

    def together(self, count, out, *options):
        done = mpirun(count, *self.arguments(out, *options, "--quiet"))
        assert done.code == 0, done.stderr
        assert (done.stdout, errors(done)) == ("", [])
        return self.root / out

    def table(self, capture):
        folder = capture.parent / f"{capture.name}_tables"
        done = engine.run("analyze", capture, "--out", folder, "--quiet")
        assert done.code == 0, done.stderr
        return pandas.read_csv(folder / "qk.csv")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("processes"))


@pytest.fixture(scope="module")
def whole(study):
    return study.alone("whole")


def expect_equal(one, two):
    """Every r within 1e-9; a number with nine digits may be rounded either way."""
    keys = ["layer", "q_head", "pc", "class", "flag", "n_q", "n_k", "n_blocks"]
    assert one[keys].equals(two[keys])
    for column in ("r_q", "r_k", "explained_variance"):
        assert np.abs(one[column] - two[column]).max() <= 1.000001e-9, column
    for column in ("r_q_se", "r_k_se", "pc0_stability"):  # of blocks in float32
        assert np.abs(one[column] - two[column]).max() <= 1e-6, column
