"""Forecasts of tiny models."""

import json

import numpy as np
import pytest

import engine
import plain_models
import tiny_models
from tiny_models import MODELS

LENGTH, TRAINED, CONTEXT, BLOCKS = 70, 48, 200, 5
SETTINGS = ["none", "nope", "theta:500000", "theta:x8", "theta:x1", "linear:4", "linear:1", "yarn:4", "llama3:8", "still:40", "still:inf"]


def make_texts(seed, count, length):
    rng = np.random.default_rng(seed)
    return {i: rng.integers(0, tiny_models.VOCAB, length).tolist() for i in range(count)}


class Bench:
    def __init__(self, root):
        self.root = root
        self.corpus = tiny_models.write_corpus(root / "read.jsonl", make_texts(1, 12, LENGTH))
        self.long = tiny_models.write_corpus(root / "long.jsonl", make_texts(2, 6, CONTEXT))
        self.count = 0
        self._made = {}

    def model(self, name):
        """A checkpoint folder and its capture."""
        if name not in self._made:
            folder = plain_models.write(MODELS[name], self.root / name)
            self._made[name] = folder, self.captured(folder, self.root / f"{name}-capture")
        return self._made[name]

    def captured(self, model, out, *options):
        done = engine.run("capture", model, "--corpus", self.corpus, "--out", out, "--context", LENGTH, "--dtype", "float32", "--label", "tiny",
                          "--blocks", BLOCKS, "--sliding", "--quiet", *options)  # fmt: skip
        assert done.code == 0, done.stderr
        return out

    def command(self, capture, settings, *options, out, context=CONTEXT):
        return ["forecast", capture, "--context", context, "--trained", TRAINED, *(f"--rope={one}" for one in settings),
                "--out", out, "--format", "json", "--quiet", *options]  # fmt: skip

    def run(self, name, settings, *options):
        self.count += 1
        out = self.root / f"out-{self.count}"
        done = engine.run(*self.command(self.model(name)[1], settings, *options, out=out), timeout=600)
        assert done.code == 0, done.stderr
        assert done.stderr == ""
        return out, done.stdout

    def refused(self, capture, settings, *options, code, context=CONTEXT):
        """The one line of an error; nothing may have been written."""
        out = self.root / "refused"
        done = engine.run(*self.command(capture, settings, *options, out=out, context=context), timeout=600)
        assert done.code == code, done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        assert not out.exists()
        return done.stderr

    def factors(self, name, pairs):
        """A file of LongRoPE's factors."""
        numbers = dict(short_factor=[1.0] * pairs, long_factor=[1 + 0.5 * f for f in range(pairs)])
        path = self.root / f"{name}-factors.json"
        path.write_text(json.dumps(numbers))
        return path, numbers


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("forecast"))
