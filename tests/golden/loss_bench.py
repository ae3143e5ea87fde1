"""Losses of tiny models, measured by the program and computed with transformers."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import engine
import reference
import tiny_models
from tiny_models import CONTEXT, MODELS


class Bench:
    def __init__(self, root):
        self.root = root
        self.texts = tiny_models.documents()
        self.corpus = tiny_models.write_corpus(root / "tokens.jsonl", self.texts)
        self.count = 0
        self._made = {}

    def folder(self, name):
        if name not in self._made:
            self._made[name] = tiny_models.write(MODELS[name], self.root / name)
        return self._made[name]

    def loss(self, model, *options, corpus=None, dtype="float32", context=CONTEXT):
        self.count += 1
        out = self.root / f"out-{self.count}"
        done = engine.run("loss", model, "--corpus", corpus or self.corpus, "--out", out, "--context", context, "--min-tokens", 1,
                          "--dtype", dtype, "--label", "tiny", "--quiet", *options)  # fmt: skip
        assert done.code == 0, done.stderr
        assert (done.stdout, done.stderr) == ("", "")
        return out

    def refused(self, model, *options, code, corpus=None):
        out = self.root / "refused"
        done = engine.run("loss", model, "--corpus", corpus or self.corpus, "--out", out, "--quiet", *options)
        assert done.code == code, done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        assert not out.exists()
        return done.stderr


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("loss"))


@torch.no_grad()
def expected(folder, texts, dtype=torch.float32, fresh=False):
    """The loss of every prediction in nats: one array per document, by the position of the predicting token."""
    network, losses = reference.load(folder, dtype), []
    for tokens in texts.values():
        network = reference.load(folder, dtype) if fresh else network
        ids = torch.tensor([tokens[:CONTEXT]])
        logits = network(input_ids=ids, use_cache=False).logits[0, :-1].double()
        losses.append(torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="none").numpy())
    return losses


def bins(losses):
    """{first position: (nats per token, tokens)}"""
    found = {}
    longest = max(map(len, losses))
    for begin, end in [(0, 1)] + [(2**i, 2 ** (i + 1)) for i in range(longest.bit_length())]:
        inside = np.concatenate([loss[begin:end] for loss in losses])
        if len(inside):
            found[begin] = (inside.mean(), len(inside))
    return found


def tensors(folder, label):
    return load_file(folder / "checkpoints" / label / "moments.safetensors")
