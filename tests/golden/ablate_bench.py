"""Ablations of a tiny model, enough of whose heads may be control sets."""

import dataclasses
import json

import numpy as np
import pytest

import engine
import plain_models
import tiny_models
from tiny_models import MODELS

CONTEXT = 64
SETS = ["0.1,2.3", "top:dist_range:10%", "layer:2"]
TABLES = ("ablate.csv", "ablate_positions.csv", "ablate_documents.csv", "ablate_controls.csv")
# Five layers, of which 1 and 3 do not turn, of eight query heads: enough for twenty different control sets.
WIDE = dataclasses.replace(
    MODELS["smollm3_interval"], dtype="float32", config={**MODELS["smollm3_interval"].config, "hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 4}
)


def make_texts(seed, count, length=CONTEXT + 10):
    rng = np.random.default_rng(seed)
    return {i: rng.integers(0, tiny_models.VOCAB, length).tolist() for i in range(count)}


class Bench:
    def __init__(self, root):
        self.root = root
        self.model = plain_models.write(WIDE, root / "model")
        self.corpus = tiny_models.write_corpus(root / "read.jsonl", make_texts(1, 12))
        self.others = tiny_models.write_corpus(root / "others.jsonl", make_texts(2, 6))
        self.capture = self.captured(self.model, root / "capture")
        self.count = 0

    def captured(self, model, out, *options):
        done = engine.run("capture", model, "--corpus", self.corpus, "--out", out, "--context", CONTEXT, "--dtype", "float32", "--label", "tiny", "--quiet", *options)
        assert done.code == 0, done.stderr
        return out

    def command(self, out, sets, edits, *options, capture=None, corpus=None):
        heads = [word for one in ([sets] if isinstance(sets, str) else sets) for word in ("--heads", one)]
        return ["ablate", capture or self.capture, "--corpus", corpus or self.others, *heads, "--edit", edits,
                "--out", out, "--format", "json", "--quiet", *options]  # fmt: skip

    def run(self, sets, edits, *options, out=None, **files):
        self.count += 1
        out = out or self.root / f"out-{self.count}"
        done = engine.run(*self.command(out, sets, edits, *options, **files), timeout=600)
        assert done.code == 0, done.stderr
        return out

    def refused(self, sets, edits, *options, code, out=None, **files):
        """The one line of an error; nothing may have been written."""
        folder = out or self.root / "refused"
        done = engine.run(*self.command(folder, sets, edits, *options, **files), timeout=600)
        assert done.code == code, done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        assert out or not folder.exists()
        return done.stderr


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("ablate"))


@pytest.fixture(scope="module")
def whole(bench):
    """Two sets, one of which has all its controls, and several edits."""
    return bench.run(SETS, "distance,window:6,head:zero")


def finished(out):
    """{(edit, heads): (loss, kl)}, sums of [documents, bins]."""
    files = [json.loads(path.read_text()) for path in sorted((out / "edits").iterdir())]
    return {(file["edit"], file["heads"]): (np.array(file["loss"]), np.array(file.get("kl", 0.0))) for file in files}
