"""Models larger than --memory: the same bytes, within the announced memory."""

import json
import re

import pytest
import torch

import engine
import plain_models
import tiny_families
import tiny_models
from model_bench import assert_identical
from tiny_models import CONTEXT


def test_memory_budget(tmp_path):
    """A budget far below the weights: the same bits, within the budget and within what `inspect` announces."""
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
    # The bound would mean nothing if the announcement contained the whole model, or if the program's own share were announced too large: an empty
    # model shows its real size.
    assert budget + memory["activations_bytes"] < weights / 2
    small = plain_models.write(tiny_models.MODELS["llama_gqa"], tmp_path / "small")
    texts = tiny_models.write_corpus(tmp_path / "few.jsonl", tiny_models.documents())
    nothing = ["capture", small, "--corpus", texts, "--context", CONTEXT, "--min-tokens", 1]
    program = engine.peak_memory(tmp_path / "note", *nothing, "--quiet", "--dtype", "float32", "--out", tmp_path / "nothing")
    assert memory["program_bytes"] <= program + (32 << 20)


@pytest.fixture(scope="module")
def long_analysis(tmp_path_factory):
    """A study whose analyses need more memory than its weights: a head of 64 dimensions in 128 blocks."""
    root = tmp_path_factory.mktemp("long")
    config = dict(vocab_size=tiny_models.VOCAB, hidden_size=256, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
                  max_position_embeddings=256, rms_norm_eps=1e-5, rope_parameters=tiny_families.rope_settings())  # fmt: skip
    for label in "ABC":
        plain_models.write(tiny_models.TinyModel(f"long{label}", "LlamaForCausalLM", "llama", config), root / label)
    generator = torch.Generator().manual_seed(9)
    tiny_models.write_corpus(root / "tokens.jsonl", {key: torch.randint(tiny_models.VOCAB, (32,), generator=generator).tolist() for key in range(160)})
    checkpoints = [{"label": label, "path": label} for label in "ABC"]

    def run(memory, out):
        """The log of a run with this budget."""
        path = root / f"{memory}.yaml"
        path.write_text(json.dumps({"name": "Long", "corpus": {"path": "tokens.jsonl"}, "dtype": "float32", "blocks": 128, "memory": memory,
                                    "phases": [{"name": "P", "context": 32, "checkpoints": checkpoints}]}))  # fmt: skip
        return ["run", path, "--format", "json", "--threads", 4, "--out", out]

    run.model = root / "A"
    return run


def test_analyses_within_the_budget(long_analysis, tmp_path):
    """Analyses wait for measurements, and use fewer cores: the same tables, within what a capture may use."""
    inspected = json.loads(engine.run("inspect", long_analysis.model, "--context", 32, "--json").stdout)["memory"]
    # What allocators keep depends on the order in which threads run.
    on_top = inspected["program_bytes"] + inspected["activations_bytes"] + (32 << 20)
    free = engine.peak_memory(tmp_path / "note", *long_analysis("2GiB", tmp_path / "free"), "--quiet")
    assert free > (256 << 20) + on_top, "or the test would mean nothing"
    tight = engine.peak_memory(tmp_path / "note", *long_analysis("256MiB", tmp_path / "tight"), "--quiet")
    assert tight <= (256 << 20) + on_top
    for name in ("qk.csv", "heads.csv", "bands.csv", "curves.csv"):
        assert (tmp_path / "tight" / name).read_bytes() == (tmp_path / "free" / name).read_bytes()


def test_a_budget_below_what_an_analysis_takes_is_said_first(long_analysis, tmp_path):
    said = engine.run(*long_analysis("100MiB", tmp_path / "out"))
    assert said.code == 0, said.stderr
    line = said.stderr.splitlines()[0]
    found = re.fullmatch(r"warning: memory: a budget of 100.0 MiB is too small for the analysis of 'A', whose moments \(([\d.]+) MiB\) and work on one core "
                         r"\(([\d.]+) MiB\) need ([\d.]+) MiB: this run will use that much; fewer blocks or heads need less", line)  # fmt: skip
    assert found and abs(float(found[1]) + float(found[2]) - float(found[3])) < 0.2, line
    dry = engine.run(*long_analysis("100MiB", tmp_path / "dry"), "--dry-run")
    assert f"within {found[3]} MiB of memory" in dry.stdout
    enough = engine.run(*long_analysis(f"{float(found[3]) + 0.2}MiB", tmp_path / "dry"), "--dry-run")
    assert "too small" not in enough.stderr


@pytest.mark.parametrize("family", ["mixtral", "gpt_oss"])  # experts by themselves, and in stacks
def test_mixture_larger_than_memory(tmp_path, family):
    """Weights four times the budget, in which not even one layer fits: the same bytes, within the budget."""
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
