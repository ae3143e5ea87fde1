"""Captures of tiny models, and the queries and keys that transformers computes."""

import numpy as np
import pytest
from safetensors import safe_open

import engine
import reference
import tiny_models
from tiny_models import CONTEXT, MODELS

NAMES = list(MODELS)
# One model per architecture, for tests where others would only repeat it
FAMILIES = list({model.model_type: name for name, model in reversed(MODELS.items())}.values())[::-1]
SLIDING = "--sliding"  # capture sliding layers too


class Bench:
    """Checkpoints, corpora, captures and references, each made once."""

    def __init__(self, root):
        self.root = root
        self.texts = tiny_models.documents()
        self.corpus = tiny_models.write_corpus(root / "tokens.jsonl", self.texts)
        self._made = {}

    def once(self, key, make):
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def folder(self, name):
        return self.once(("folder", name), lambda: tiny_models.write(MODELS[name], self.root / name))

    def expected(self, name, **options):
        def make():
            # Only dynamic RoPE keeps a state from one text to the next.
            return reference.capture(self.folder(name), self.texts, CONTEXT, fresh="dynamic" in name, **options)

        return self.once(("expected", name, *sorted(options.items())), make)

    def captured(self, name, *options, dtype="float32"):
        def make():
            out = self.root / f"{name}-{len(self._made)}"
            return engine.read_streams(
                engine.capture(self.folder(name), self.corpus, out, *options, context=CONTEXT, dtype=dtype)
            )

        return self.once(("captured", name, dtype, *options), make)

    def capture(self, folder, *options, corpus=None, context=CONTEXT):
        """A capture that no other test shares; returns its folder."""
        out = self.root / f"out-{len(self._made)}"
        self._made[out] = True
        return engine.capture(folder, corpus or self.corpus, out, *options, context=context)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("models"))


def rms(values):
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


def worst(captured, expected, measure):
    """The stream with the largest `measure` of its difference, in units of its root mean square."""
    assert captured.keys() == expected.keys(), "the same layers and heads"
    found = []
    for stream, documents in expected.items():
        assert captured[stream].keys() == documents.keys(), stream
        for key, vectors in documents.items():
            assert captured[stream][key].shape == vectors.shape, (stream, key)
        truth = np.concatenate(list(documents.values()))
        got = np.concatenate([captured[stream][key] for key in documents])
        assert np.isfinite(got).all(), stream
        found.append((measure(got - truth) / rms(truth), stream))
    return max(found)


def largest(difference):
    return float(np.abs(difference).max())


def assert_identical(captured, expected):
    assert captured.keys() == expected.keys()
    for stream, documents in expected.items():
        assert captured[stream].keys() == documents.keys(), stream
        for key, vectors in documents.items():
            assert captured[stream][key].tobytes() == vectors.tobytes(), (stream, key)


def tensors(file):
    with safe_open(file, "pt") as opened:
        return {name: opened.get_tensor(name) for name in opened.keys()}
