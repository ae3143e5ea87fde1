"""Options about the model: its dtype, documents, sliding layers, and sampled heads."""

import json
import random
import re
import struct

import pytest
import torch
from safetensors.torch import save_file

import engine
import tiny_models
from model_bench import SLIDING, assert_identical, bench, largest, tensors, worst  # noqa: F401 (fixtures)
from tiny_models import CONTEXT, MODELS


def first_line(bench, name, tmp_path, *options):
    """What capture prints first, and the dtype that it then records."""
    out = tmp_path / "out"
    result = engine.run("capture", bench.folder(name), "--corpus", bench.corpus, "--context", CONTEXT, "--min-tokens", 1,
                        "--device", "cpu", "--label", "here", "--out", out, *options)  # fmt: skip
    assert result.code == 0, result.stderr
    return result.stderr.splitlines()[0].split("here: ")[1], json.loads((out / "capture.json").read_text())["dtype"]


def test_small_float32_weights_stay_float32(bench, tmp_path):
    said, dtype = first_line(bench, "llama_gqa", tmp_path)
    assert (said, dtype) == ("running in float32 on cpu (weights are stored in float32, under 2 GiB)", "float32")
    announced = engine.run("inspect", bench.folder("llama_gqa"), "--device", "cpu")
    assert re.search(r"^arithmetic +float32 on cpu \(weights are stored in float32, under 2 GiB\)$", announced.stdout, re.M)


def test_other_weights_take_what_the_hardware_multiplies(bench, tmp_path):
    said, dtype = first_line(bench, "llama_linear_mqa", tmp_path)
    assert (said, dtype) in [
        ("running in bfloat16 on cpu (weights are stored in bfloat16)", "bfloat16"),
        ("running in float32 on cpu (this processor does not multiply bfloat16 itself)", "float32"),
    ]


def test_a_given_dtype_is_taken(bench, tmp_path):
    assert first_line(bench, "llama_gqa", tmp_path, "--dtype", "bfloat16") == ("running in bfloat16 on cpu (as asked)", "bfloat16")


def test_learned_positions_end_where_they_end(bench, tmp_path):
    """capture and run behave alike; other families are measured beyond their config's limit, with a warning."""
    folder = bench.folder("gpt2")
    most = json.loads((folder / "config.json").read_text())["n_positions"]
    says = f"context {most + 1} exceeds its {most} learned positions; use at most {most}\n"
    refused = engine.run("capture", folder, "--corpus", bench.corpus, "--context", most + 1, "--out", tmp_path / "out")
    assert refused.code == 3 and refused.stderr == f"error: {folder}: {says}"
    (tmp_path / "e.yaml").write_text(
        f"name: T\ncorpus: {{path: {bench.corpus}}}\nphases:\n  - name: One\n    context: {most + 1}\n    checkpoints: [{{label: A, path: {folder}}}]\n"
    )
    refused = engine.run("run", tmp_path / "e.yaml", "--out", tmp_path / "run")
    assert refused.code == 3 and refused.stderr == f"error: {tmp_path}/e.yaml:5: 'A': {says}"


def test_documents_limit(bench):
    captured = engine.read_streams(bench.capture(bench.folder("llama_gqa"), "--documents", 2))
    full = bench.captured("llama_gqa", SLIDING)
    assert_identical(captured, {stream: {key: documents[key] for key in (7, 3)} for stream, documents in full.items()})


# Sliding layers


def test_sliding_layers_are_left_out_by_default(bench):
    layer = MODELS["gemma3_text"].config["layer_types"].index("full_attention")
    expected = {stream: value for stream, value in bench.captured("gemma3_text", SLIDING).items() if stream[0] == layer}
    assert_identical(bench.captured("gemma3_text"), expected)


def test_a_window_as_long_as_the_context_does_not_slide(bench):
    window = MODELS["gemma3_text_bias"].config["sliding_window"]
    folder = bench.folder("gemma3_text_bias")
    assert {layer for layer, _, _ in engine.read_streams(bench.capture(folder, context=window))} == {0, 1, 2}
    assert {layer for layer, _, _ in engine.read_streams(bench.capture(folder, context=window + 1))} == {0, 2}


def test_only_sliding_layers(bench, tmp_path):
    result = engine.run("capture", bench.folder("mistral_sliding"), "--corpus", bench.corpus, "--out", tmp_path / "out",
                        "--context", CONTEXT, "--min-tokens", 1, "--dtype", "float32", "--quiet")  # fmt: skip
    assert result.code in (2, 3)
    assert re.fullmatch(r"error: .*--sliding.*\n", result.stderr)
    assert not (tmp_path / "out").exists()


# Models without RoPE


@pytest.mark.parametrize("name", ["gpt2", "bloom"])
def test_a_study_of_a_model_without_rope(bench, name, tmp_path):
    """Every row says so; numbers that need RoPE are empty, and no others."""
    checkpoints = [dict(label="init", random=0), dict(label="here", path=str(bench.folder(name)))]
    phase = dict(name="All", context=CONTEXT, checkpoints=checkpoints)
    experiment = dict(name="Without", device="cpu", corpus=dict(path=str(bench.corpus), min_tokens=1), phases=[phase])
    (tmp_path / "run.yaml").write_text(json.dumps(experiment))
    done = engine.run("run", tmp_path / "run.yaml", "--out", tmp_path / "out", "--format", "json")
    assert done.code == 0, done.stderr
    rows = (tmp_path / "out" / "qk.csv").read_text().splitlines()
    index = rows[0].split(",").index("rope")
    assert {row.split(",")[index] for row in rows[1:]} == {"0"}
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    for label in ("init", "here"):
        assert summary["rope"]["mean_r_q"][label] == dict(value=None, se=None)
        assert summary["nope"]["mean_r_q"][label] == summary["mean_r_q"][label] and summary["mean_r_q"][label]["value"] is not None
    assert len(list((tmp_path / "out" / "figures").glob("*.json"))) == 11


# Sampled heads and stopping early


def sampled_streams(layers, config, count, seed):
    """Query heads as Python's random samples them, and their KV heads."""
    heads = config["num_attention_heads"]
    group = heads // config["num_key_value_heads"]
    chosen = random.Random(seed).sample([(layer, head) for layer in layers for head in range(heads)], count)
    return {(layer, head, "q") for layer, head in chosen} | {(layer, head // group, "k") for layer, head in chosen}


@pytest.mark.parametrize("count, seed", [(1, 0), (1, 3), (5, 1)])
def test_sampled_heads(bench, count, seed):
    captured = engine.read_streams(bench.capture(bench.folder("llama_gqa"), "--heads", count, "--seed", seed))
    full = bench.captured("llama_gqa", SLIDING)
    wanted = sampled_streams(range(4), MODELS["llama_gqa"].config, count, seed)
    assert_identical(captured, {stream: full[stream] for stream in wanted})


def test_sampled_heads_skip_sliding_layers(bench):
    captured = engine.read_streams(bench.capture(bench.folder("gemma3_text"), "--heads", 1, "--seed", 5))
    full = bench.captured("gemma3_text")
    wanted = sampled_streams([2], MODELS["gemma3_text"].config, 1, 5)
    assert_identical(captured, {stream: full[stream] for stream in wanted})


def test_nothing_past_the_last_sampled_head_is_used(bench, tmp_path):
    """Layers 2 and 3, and all of layer 1 except q and k, are NaN; seed 1 samples a head of layer 1."""
    config = MODELS["llama_gqa"].config
    wanted = sampled_streams(range(4), config, 1, 1)
    assert {layer for layer, _, _ in wanted} == {1}
    weights = tensors(bench.folder("llama_gqa") / "model.safetensors")
    for name, tensor in weights.items():
        late = re.search(r"layers\.[23]\.|layers\.1\.(mlp|post|self_attn\.[vo])|^model\.norm|^lm_head", name)
        weights[name] = torch.full_like(tensor, torch.nan) if late else tensor
    save_file(weights, tmp_path / "model.safetensors")
    tiny_models.write_config(tmp_path, tiny_models.read_config(bench.folder("llama_gqa")))
    captured = engine.read_streams(bench.capture(tmp_path, "--heads", 1, "--seed", 1))
    full = bench.captured("llama_gqa", SLIDING)
    assert_identical(captured, {stream: full[stream] for stream in wanted})


# File layout


def test_header_without_padding(bench, tmp_path):
    """Older writers did not pad the header, so weights may start at any byte."""
    content = (bench.folder("llama_gqa") / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header, data = content[8 : 8 + length].rstrip(), content[8 + length :]
    header += b" " * (len(header) % 2 == 0)  # an odd length
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
    tiny_models.write_config(tmp_path, tiny_models.read_config(bench.folder("llama_gqa")))
    # Not equal bit for bit: matrix products may round differently where weights are not aligned.
    error, stream = worst(engine.read_streams(bench.capture(tmp_path)), bench.expected("llama_gqa"), largest)
    assert error <= 1e-4, stream
