"""Captures of tiny models, and their tables of bands and curves."""

import json

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

import engine

CONTEXT, DOCUMENTS, BLOCKS = 112, 24, 8


def write_corpus(path, lengths):
    rng = np.random.default_rng(3)
    path.write_text("".join(json.dumps({"id": i, "tokens": rng.integers(0, 90, n).tolist()}) + "\n" for i, n in enumerate(lengths)))
    return path


def lengths():
    """One document is shorter than the tokens that are left out."""
    found = np.random.default_rng(4).integers(60, CONTEXT, DOCUMENTS)
    found[5], found[9], found[16] = 3, CONTEXT, CONTEXT
    return found


def analyze(capture, out, *options):
    done = engine.run("analyze", capture, "--out", out, "--quiet", *options)
    assert done.code == 0, done.stderr
    return out


def without(capture, target, prefixes):
    """The moments of a capture without some tensors, or without the lengths of documents; and without its capture.json, which has the file's hash."""
    target.mkdir()
    with safe_open(capture / "moments.safetensors", "np") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys() if name == "document.tokens" or not name.startswith(prefixes)}
    if "document.tokens" in prefixes:
        tensors["document.tokens"][:] = 0  # unknown
    save_file(tensors, target / "moments.safetensors", metadata)
    return target
