"""Every architecture is compared with transformers, on tiny random checkpoints that the tests make.

Tolerances, per stream (layer, head, q or k), in units of the stream's root mean square:
float32: the largest difference is at most 1e-4. bfloat16: the root mean square of the difference is
at most 2e-2, from transformers in bfloat16 and also from transformers in float32, which is the truth
both approximate.
"""

import json
import math
import re
import shutil

import numpy as np
import pyarrow
import pytest
import torch
from safetensors.numpy import load_file
from transformers import AutoConfig

import engine
import plain_models
import reference
import tiny_models
from model_bench import FAMILIES, NAMES, SLIDING, assert_identical, bench, largest, rms, tensors, worst  # noqa: F401 (fixtures)
from tiny_models import CONTEXT, MODELS


def table_rows(heading):
    """The `model_type`s that the table under a heading of docs/architectures.md lists."""
    text = (engine.repository() / "docs" / "architectures.md").read_text()
    lines = text.split(f"\n## {heading}\n")[1].split("\n## ")[0].splitlines()
    return {name for line in lines if line.startswith("|") for name in re.findall(r"`(\w+)`", line)}


def test_every_family_is_compared_and_documented(bench, tmp_path):
    """The families that the program reads are those with a tiny model here and a row in the tables."""
    folder = tmp_path / "model"
    shutil.copytree(bench.folder("llama_gqa"), folder)
    tiny_models.write_config(folder, dict(tiny_models.read_config(folder), model_type="unheard_of"))
    said = engine.run("inspect", folder).stderr
    assert all(name in said for name in ("Moments", "tap", "watch")), "what measures any family"
    listed = re.search("supported are ([^;]*)", said).group(1)
    supported = set(re.findall(r"\w+", listed))
    outer = {"gemma3", "mllama", "mistral3"}  # models whose text part is a family
    assert supported == {model.model_type for model in MODELS.values()} - outer
    assert supported <= table_rows("What a family does")
    assert supported - {"mllama_text_model"} | outer <= table_rows("Families")


# The tests' own tools


@pytest.mark.parametrize("name", [name for name in NAMES if plain_models.can_write(MODELS[name])])
def test_plain_checkpoints_are_those_of_transformers(bench, name, tmp_path):
    """Checkpoints that other tests write without transformers are the same byte for byte, and so is config.json except for the version."""
    theirs, ours = bench.folder(name), plain_models.write(MODELS[name], tmp_path / "plain")
    assert (ours / "model.safetensors").read_bytes() == (theirs / "model.safetensors").read_bytes()
    wanted = tiny_models.read_config(theirs)
    del wanted["transformers_version"]
    assert tiny_models.read_config(ours) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_reference_runs_the_model_unchanged(bench, name):
    """Recording must not change the forward pass: compare with plain eager attention."""
    tokens = bench.texts[7][:CONTEXT]
    recorded = reference.hidden_states(reference.load(bench.folder(name)), tokens)
    plain = reference.hidden_states(reference.load(bench.folder(name), attention="eager"), tokens)
    assert largest((recorded - plain).numpy()) <= 1e-4 * rms(plain.numpy())


@pytest.mark.parametrize("name", [name for name in NAMES if MODELS[name].old])
def test_transformers_reads_the_old_spelling_alike(bench, name, tmp_path):
    def settings(folder):
        config = AutoConfig.from_pretrained(folder).get_text_config()
        rope = {key: value for key, value in config.rope_parameters.items() if key != "type"}
        return rope, [getattr(config, key, None) for key in ("layer_types", "no_rope_layers", "sliding_window")]

    twin = tiny_models.write_old_spelling(MODELS[name], bench.folder(name), tmp_path / "twin")
    assert "rope_parameters" not in (twin / "config.json").read_text()
    assert settings(twin) == settings(bench.folder(name))


# The engine


@pytest.mark.parametrize("name", NAMES)
def test_float32(bench, name):
    error, stream = worst(bench.captured(name, SLIDING), bench.expected(name), largest)
    assert error <= 1e-4, stream


@pytest.mark.parametrize("name", NAMES)
def test_bfloat16(bench, name):
    captured = bench.captured(name, SLIDING, dtype="bfloat16")
    error, stream = worst(captured, bench.expected(name), rms)
    assert error <= 2e-2, f"{stream} against float32"
    error, stream = worst(captured, bench.expected(name, dtype=torch.bfloat16), rms)
    assert error <= 2e-2, f"{stream} against bfloat16"


@pytest.mark.parametrize("name", [*FAMILIES, "llama_dynamic"])
def test_a_document_does_not_depend_on_the_others(bench, name, tmp_path):
    corpus = tiny_models.write_corpus(tmp_path / "one.jsonl", {3: bench.texts[3]})
    alone = engine.read_streams(bench.capture(bench.folder(name), SLIDING, corpus=corpus))
    among = bench.captured(name, SLIDING)
    assert_identical(alone, {stream: {3: documents[3]} for stream, documents in among.items()})


@pytest.mark.parametrize("name", [name for name in NAMES if MODELS[name].old])
def test_old_spelling(bench, name, tmp_path):
    twin = tiny_models.write_old_spelling(MODELS[name], bench.folder(name), tmp_path / "twin")
    assert_identical(engine.read_streams(bench.capture(twin, SLIDING)), bench.captured(name, SLIDING))


@pytest.mark.parametrize("name", FAMILIES)
def test_least_memory(bench, name, tmp_path):
    """The smallest budget that works: layer by layer, a mixture expert by expert; the same bytes."""
    common = ["capture", bench.folder(name), "--corpus", bench.corpus, "--context", CONTEXT, "--min-tokens", 1, "--dtype", "float32",
              "--vectors", "all", SLIDING]  # fmt: skip
    refused = engine.run(*common, "--memory", 1, "--out", tmp_path / "none")
    least = re.search(r"one layer's weights.* need ([\d.]+) KiB$", refused.stderr.rstrip()).group(1)
    done = engine.run(*common, "--memory", f"{math.ceil(float(least)) + 1}KiB", "--log-level", "debug", "--out", tmp_path / "tight")
    assert done.code == 0, done.stderr
    assert int(re.search(r"in (\d+) groups, weights streamed", done.stderr).group(1)) > 1
    assert_identical(engine.read_streams(tmp_path / "tight"), bench.captured(name, SLIDING))


@pytest.mark.parametrize("name", FAMILIES)
def test_pre_rope(bench, name):
    tensors = load_file(bench.capture(bench.folder(name), SLIDING) / "moments.safetensors")
    expected = bench.expected(name, pre_rope=True)
    for kind in ("query", "key"):
        for i, stream in enumerate(zip(tensors[f"{kind}.layer"], tensors[f"{kind}.head"])):
            x = np.concatenate(list(expected[*map(int, stream), kind[0]].values())).astype(np.float64)
            found = tensors[f"pre_rope.{kind}.sum"][i] + tensors[f"pre_rope.{kind}.first_sum"][i]
            assert np.abs(found - x.sum(0)).max() <= 1e-4 * np.abs(x).sum(0).max(), stream


def test_metadata_and_columns(bench):
    name = "gemma3_text"
    config = MODELS[name].config
    out = bench.capture(bench.folder(name), SLIDING)
    metadata = json.loads((out / "capture.json").read_text())
    shape = metadata["config"]
    assert shape["layers"] == config["num_hidden_layers"]
    assert shape["n_q_heads"] == config["num_attention_heads"]
    assert shape["n_kv_heads"] == config["num_key_value_heads"]
    assert shape["head_dim"] == config["head_dim"]
    assert metadata["context"] == CONTEXT
    assert metadata["dtype"] == "float32"
    for layer, kind in enumerate(config["layer_types"]):
        table = engine.read_table(out, layer, 0, "q")
        assert dict(zip(table.schema.names, table.schema.types)) == {
            "bucket": pyarrow.int32(),
            "example_id": pyarrow.int32(),
            "position": pyarrow.int32(),
            "vector": pyarrow.list_(pyarrow.float32(), config["head_dim"]),
            "sliding_window": pyarrow.int32(),
        }
        window = config["sliding_window"] if kind == "sliding_attention" else None
        assert set(table["sliding_window"].to_pylist()) == {window}
