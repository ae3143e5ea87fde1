"""Models larger than --memory: the same bytes, within what is announced."""

import json

import pytest
import torch

import engine
import plain_models
import tiny_models
from test_models import assert_identical
from tiny_models import CONTEXT


def test_memory_budget(tmp_path):
    """A budget far below the weights: the same bits, within the budget and what `inspect` announces."""
    folder = tiny_models.write(tiny_models.big_llama(), tmp_path / "model")
    weights = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    context, budget = 200, 64 << 20
    generator = torch.Generator().manual_seed(9)
    texts = {key: torch.randint(tiny_models.VOCAB, (context - 7 * key,), generator=generator).tolist() for key in range(12)}
    corpus = tiny_models.write_corpus(tmp_path / "tokens.jsonl", texts)
    common = ["capture", folder, "--corpus", corpus, "--context", context, "--min-tokens", 1, "--vectors", "all",
              "--dtype", "float32", "--quiet"]  # fmt: skip

    engine.peak_memory(tmp_path / "note", *common, "--out", tmp_path / "free")
    held = engine.peak_memory(tmp_path / "note", *common, "--out", tmp_path / "tight", "--memory", "64MiB")
    assert_identical(engine.read_streams(tmp_path / "tight"), engine.read_streams(tmp_path / "free"))

    announced = engine.run("inspect", folder, "--context", context, "--memory", "64MiB", "--json")
    assert announced.code == 0, announced.stderr
    memory = json.loads(announced.stdout)["memory"]
    assert held <= budget + memory["activations_bytes"] + memory["program_bytes"]
    # The bound would mean nothing if the announcement covered the whole model, or the program were
    # announced larger than it is: a model of nothing shows how large that is.
    assert budget + memory["activations_bytes"] < weights / 2
    small = plain_models.write(tiny_models.MODELS["llama_gqa"], tmp_path / "small")
    texts = tiny_models.write_corpus(tmp_path / "few.jsonl", tiny_models.documents())
    nothing = ["capture", small, "--corpus", texts, "--context", CONTEXT, "--min-tokens", 1]
    program = engine.peak_memory(tmp_path / "note", *nothing, "--quiet", "--dtype", "float32", "--out", tmp_path / "nothing")
    assert memory["program_bytes"] <= program + (32 << 20)


@pytest.mark.parametrize("family", ["mixtral", "gpt_oss"])  # experts by themselves, and in stacks
def test_mixture_larger_than_memory(tmp_path, family):
    """Weights four times the budget, not even a layer of which fits: the same bytes, within the budget."""
    folder = tiny_models.write(tiny_models.big_mixture(family), tmp_path / "model")
    weights = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    budget = weights // 4
    generator = torch.Generator().manual_seed(9)
    texts = {key: torch.randint(tiny_models.VOCAB, (100 - 7 * key,), generator=generator).tolist() for key in range(6)}
    corpus = tiny_models.write_corpus(tmp_path / "tokens.jsonl", texts)
    common = ["capture", folder, "--corpus", corpus, "--context", 100, "--min-tokens", 1, "--vectors", "all",
              "--dtype", "float32", "--quiet"]  # fmt: skip
    engine.peak_memory(tmp_path / "note", *common, "--out", tmp_path / "free")
    held = engine.peak_memory(tmp_path / "note", *common, "--out", tmp_path / "tight", "--memory", budget)
    assert_identical(engine.read_streams(tmp_path / "tight"), engine.read_streams(tmp_path / "free"))
    same = [(tmp_path / name / "moments.safetensors").read_bytes() for name in ("free", "tight")]
    assert same[0] == same[1]

    announced = engine.run("inspect", folder, "--context", 100, "--memory", budget, "--json")
    memory = json.loads(announced.stdout)["memory"]
    one_layer = weights // 3
    assert memory["weights_bytes"] < budget < one_layer, "experts one at a time"
    assert held <= budget + memory["activations_bytes"] + memory["program_bytes"]
