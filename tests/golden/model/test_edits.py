"""Every edit of a pass equals a run of transformers with our own attention function, to 1e-5 nats per token.

Families with grouped queries: plain RoPE; a soft cap and windows; learned sinks, windows and YaRN; interleaved pairs in a part of the head;
queries scaled by position. In some groups only one query head is edited; the others must not change.
"""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import edit_reference
import tiny_models
from tiny_models import CONTEXT, MODELS

TOOL = pathlib.Path(os.environ["ROPEWALK_BUILD"]) / "tests/golden/edit_tool"
FAMILIES = ["llama_gqa", "gemma2", "gpt_oss", "glm", "ministral3"]
TOLERANCE = 1e-5  # nats per token
HEADS = [[0, 1], [2, 0], [2, 3]]  # two of the four share a key
INTERLEAVED = {"glm"}


def edits_of(name):
    """One edit of each kind."""
    rng = np.random.default_rng(3)
    width = MODELS[name].config["head_dim"]
    rows = lambda scale, size: (scale * rng.standard_normal(size)).tolist()  # noqa: E731
    names = [f"{layer}.{head}" for layer, head in HEADS]
    keys = [f"{layer}.{head // 2}" for layer, head in HEADS]

    def axis():
        along = rng.standard_normal(width)
        return dict(axis=(along / np.linalg.norm(along)).tolist(), mean_q=rows(1, width), mean_k=rows(1, width))

    logits = {head: rows(1.5, CONTEXT) for head in names}
    slopes = dict(q={head: rows(0.02, width) for head in names}, k={head: rows(0.02, width) for head in keys})
    kinds = [
        dict(name="distance", kind="distance", logits=logits, keep_mass=True),
        dict(name="distance:mean", kind="distance", logits=logits, keep_mass=False),
        dict(name="window:5", kind="window", tokens=5),
        dict(name="still:40", kind="still", cut=40),
        dict(name="still:0", kind="still", cut=0),
        dict(name="zero-band:40", kind="zero-band", cut=40),
        dict(name="flatten", kind="flatten", mean_position=30.5, **slopes),
        dict(name="flatten:q", kind="flatten", mean_position=30.5, q=slopes["q"], k={}),
        dict(name="flatten:k", kind="flatten", mean_position=30.5, q={}, k=slopes["k"]),
        dict(name="axis", kind="axis", axes={head: axis() for head in names}),
        dict(name="head", kind="head"),
        dict(name="head:zero", kind="head:zero"),
    ]
    return [dict(edit, heads=HEADS, interleaved=name in INTERLEAVED) for edit in kinds]


def by_bin(values):
    """Sums of a document's tokens per bin of position, in as many bins as CONTEXT has."""
    ends = [(0, 1)] + [(2**i, 2 ** (i + 1)) for i in range(7)]
    return np.array([values[begin:end].sum() for begin, end in ends])


def run_tool(folder, corpus, edits, device="cpu", dtype="float32"):
    command = [TOOL, folder, corpus, str(CONTEXT), device, dtype]
    done = subprocess.run(command, input=json.dumps(edits), text=True, capture_output=True, timeout=600, check=True)
    found = json.loads(done.stdout)
    assert "error" not in found, found
    return found


@pytest.fixture(scope="module", params=FAMILIES)
def measured(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("edits")
    folder = tiny_models.write(MODELS[request.param], root / "model")
    texts = {key: tokens[:CONTEXT] for key, tokens in tiny_models.documents().items()}
    corpus = tiny_models.write_corpus(root / "tokens.jsonl", texts)
    edits = edits_of(request.param)
    found = {dtype: run_tool(folder, corpus, edits, dtype=dtype) for dtype in ("float32", "bfloat16")}
    return edits, found, edit_reference.Edited(folder, list(texts.values()))


def assert_close(found, expected, tokens):
    gap = np.abs(np.array(found) - np.stack([by_bin(values) for values in expected])).sum(1)
    assert (gap <= TOLERANCE * np.maximum(tokens, 1)).all(), gap


def test_equals_transformers(measured):
    edits, found, reference = measured
    found = found["float32"]
    tokens = np.array([len(text) - 1 for text in reference.texts])
    unedited, _ = reference.measure(None)
    assert_close(found["unedited"], unedited, tokens)
    for edit, of in zip(edits, found["edits"], strict=True):
        losses, divergences = reference.measure(edit)
        moved = [np.abs(loss - plain).mean() for loss, plain in zip(losses, unedited) if len(loss)]
        assert max(moved) > 2e-3, f"{edit['name']} changes something that is seen"
        assert_close(of["loss"], losses, tokens)
        assert_close(of["kl"], divergences, tokens)



def test_in_bfloat16(measured):
    """Attention of all heads but the edited ones is then bfloat16: the loss, which is a hundred times as large as an edit's change, stays close."""
    _, found, _ = measured
    for exact, rounded in zip(found["float32"]["edits"], found["bfloat16"]["edits"], strict=True):
        assert np.array(rounded["loss"]).sum() == pytest.approx(np.array(exact["loss"]).sum(), rel=1e-2)
        assert np.array(rounded["kl"]).sum() == pytest.approx(np.array(exact["kl"]).sum(), rel=0.2)
