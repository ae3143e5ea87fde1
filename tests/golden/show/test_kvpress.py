"""kvpress itself reads what `export` writes: `make test-kvpress`, which creates the environment that kvpress needs."""

import json
import os
import random
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer, models

import engine
import tiny_models
from tiny_models import MODELS, VOCAB

PYTHON = engine.repository() / ".venv-kvpress/bin/python"
LENGTH, TEXTS = 90, 6
TOLERANCE = 1e-4  # in root mean squares of a head's queries
NAMES = ["llama_gqa", "llama_llama3_mha", "qwen2_bias", "qwen3_yarn", "mistral_full"]


def write_texts(root):
    """Texts with as many characters as tokens, because kvpress cuts characters and ropewalk tokens."""
    draw = random.Random(1)
    texts = ["".join(draw.choices([chr(33 + i) for i in range(VOCAB - 4)], k=LENGTH)) for _ in range(TEXTS)]
    (root / "texts").mkdir()
    (root / "texts" / "train.jsonl").write_text("".join(json.dumps(dict(text=text)) + "\n" for text in texts))
    return root / "texts"


def write_tokenizer(folder):
    vocabulary = {chr(33 + i): i for i in range(VOCAB)}
    Tokenizer(models.BPE(vocab=vocabulary, merges=[])).save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(dict(tokenizer_class="PreTrainedTokenizerFast")))


class Pressed:
    def __init__(self, name, root):
        folder, texts = tiny_models.write(MODELS[name], root / "model"), write_texts(root)
        write_tokenizer(folder)
        capture = engine.run("capture", folder, "--corpus", texts, "--out", root / "capture", "--context", LENGTH, "--dtype", "float32")
        assert capture.code == 0, capture.stderr
        for to in ("kvpress", "q-filters"):
            done = engine.run("export", root / "capture", "--to", to, "--out", root / "exported" / to)
            assert done.code == 0, done.stderr
        tool = engine.repository() / "tests/golden/kvpress_tool.py"
        done = subprocess.run([PYTHON, tool, folder, texts, root / "exported", root / "out"], capture_output=True, text=True,
                              env={**os.environ, "HF_HOME": str(root / "hub"), "HF_HUB_OFFLINE": "1"})  # fmt: skip
        assert done.returncode == 0, done.stderr
        self.exported = {**load_file(root / "exported/kvpress/model.safetensors"),
                         **load_file(root / "exported/q-filters/model.safetensors")}  # fmt: skip
        self.collected = load_file(root / "out/collected.safetensors")
        self.loaded = load_file(root / "out/loaded.safetensors")
        self.presses = json.loads((root / "out/presses.json").read_text())


@pytest.fixture(scope="module", params=NAMES)
def pressed(request, tmp_path_factory):
    assert PYTHON.exists(), "run make test-kvpress, which makes .venv-kvpress"
    return Pressed(request.param, tmp_path_factory.mktemp(request.param))


def test_its_collector_finds_the_same(pressed):
    mean, cov = pressed.collected["query_mean"], pressed.collected["query_cov"]
    size = np.sqrt((mean**2).mean(-1) + np.trace(cov, axis1=-2, axis2=-1) / mean.shape[-1])  # [layers, heads]
    apart = dict(mean=np.abs(pressed.exported["query_mean"] - mean).max(-1) / size,
                 cov=np.abs(pressed.exported["query_cov"] - cov).max((-2, -1)) / size**2)  # fmt: skip
    print({name: f"{difference.max():.1e}" for name, difference in apart.items()})
    assert all(difference.max() <= TOLERANCE for difference in apart.values()), apart


def test_it_loads_what_was_written(pressed):
    assert set(pressed.loaded) == {"query_mean", "query_cov", "q_filters"}
    for name, tensor in pressed.loaded.items():
        assert tensor.tobytes() == pressed.exported[name].tobytes(), name


def test_presses_run(pressed):
    layers = len(pressed.exported["query_mean"])
    for name, kept in pressed.presses.items():
        assert [np.array(keys).shape[1] for keys in kept] == [32] * layers, name
    assert pressed.presses["ours"] == pressed.presses["own"], "the same keys as with the collector's statistics"
    assert pressed.presses["ours"] != pressed.presses["q_filters"]
