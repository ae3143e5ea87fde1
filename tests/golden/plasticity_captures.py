"""Captures with samples of pairs, and their tables."""

import json

import numpy as np
import pandas

import engine

CONTEXT, DOCUMENTS, BLOCKS = 112, 40, 8


def lengths():
    """Most documents have full length; some end early, one before the first tokens do."""
    found = np.full(DOCUMENTS, CONTEXT)
    found[[3, 10, 17, 24]] = 30, 60, 111, 3
    return found


def write_corpus(path, sizes):
    rng = np.random.default_rng(3)
    path.write_text("".join(json.dumps({"id": i, "tokens": rng.integers(0, 90, n).tolist()}) + "\n" for i, n in enumerate(sizes)))
    return path


def arguments(model, corpus, out, *options, context=CONTEXT, blocks=BLOCKS):
    return ["capture", model, "--corpus", corpus, "--out", out, "--context", context, "--min-tokens", 1, "--dtype", "float32",
            "--blocks", blocks, "--label", "run", "--plasticity", "--quiet", *options]  # fmt: skip


def capture(*given, **named):
    done = engine.run(*arguments(*given, **named))
    assert (done.code, done.stderr) == (0, ""), done.stderr
    return given[2]


def analyze(folder, out):
    done = engine.run("analyze", folder, "--out", out, "--quiet")
    assert done.code == 0, done.stderr
    return pandas.read_csv(out / "heads.csv"), pandas.read_csv(out / "curves.csv").query("curve == 'plasticity'")
