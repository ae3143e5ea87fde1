"""Every architecture against transformers, on tiny random checkpoints made on the spot.

Tolerances, per stream (layer, head, q or k), in units of the stream's root mean square:
float32: the largest difference is at most 1e-4. bfloat16: the root mean square of the difference is
at most 2e-2, from transformers in bfloat16 and also from transformers in float32, which is the truth
both approximate.
"""

import json
import math
import random
import re
import shutil
import struct

import numpy as np
import pyarrow
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load_file
from safetensors.torch import save_file
from transformers import AutoConfig

import engine
import plain_models
import reference
import tiny_models
from tiny_models import CONTEXT, MODELS

NAMES = list(MODELS)
# One of each architecture, where the rest would only repeat it
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
            # Only dynamic RoPE carries something from one text to the next.
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


def table_rows(document):
    """The `model_type`s that a document's tables list."""
    lines = (engine.repository() / document).read_text().splitlines()
    return {name for line in lines if line.startswith("|") for name in re.findall(r"`(\w+)`", line)}


def test_every_family_is_compared_and_documented(bench, tmp_path):
    """What the program reads is what has a tiny model here and a row in the tables."""
    folder = tmp_path / "model"
    shutil.copytree(bench.folder("llama_gqa"), folder)
    tiny_models.write_config(folder, dict(tiny_models.read_config(folder), model_type="unheard_of"))
    said = engine.run("inspect", folder).stderr
    assert all(name in said for name in ("Moments", "tap", "watch")), "what measures any family"
    listed = re.search("supported are ([^;]*)", said).group(1)
    supported = set(re.findall(r"\w+", listed))
    outer = {"gemma3", "mllama", "mistral3"}  # whose text part is a family
    assert supported == {model.model_type for model in MODELS.values()} - outer
    assert supported <= table_rows("docs/architectures.md")
    assert supported - {"mllama_text_model"} | outer <= table_rows("README.md")


# What the tests stand on


@pytest.mark.parametrize("name", [name for name in NAMES if plain_models.can_write(MODELS[name])])
def test_plain_checkpoints_are_those_of_transformers(bench, name, tmp_path):
    """What other tests write without transformers, byte for byte; config.json beside its version."""
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


def first_line(bench, name, tmp_path, *options):
    """What capture says first, and the dtype that it then noted."""
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
    """capture and run alike; other families are measured beyond what their config states, with a warning."""
    folder = bench.folder("gpt2")
    most = json.loads((folder / "config.json").read_text())["n_positions"]
    says = f"context {most + 1} is beyond its {most} learned positions; take at most {most}\n"
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
    """Every row says so, what is said of heads with RoPE is empty, and nothing else is."""
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
    assert len(list((tmp_path / "out" / "figures").glob("*.json"))) == 10


# Sampled heads and stopping early


def sampled_streams(layers, config, count, seed):
    """Query heads as Python samples them, and their KV heads."""
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


def tensors(file):
    with safe_open(file, "pt") as opened:
        return {name: opened.get_tensor(name) for name in opened.keys()}


def test_nothing_past_the_last_sampled_head_is_used(bench, tmp_path):
    """Layers 2 and 3, and all of layer 1 but q and k, are poisoned; seed 1 samples a head of layer 1."""
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
    """Older writers did not pad the header, so weights may start at any byte of the file."""
    content = (bench.folder("llama_gqa") / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header, data = content[8 : 8 + length].rstrip(), content[8 + length :]
    header += b" " * (len(header) % 2 == 0)  # an odd length
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
    tiny_models.write_config(tmp_path, tiny_models.read_config(bench.folder("llama_gqa")))
    # Not bit for bit: matrix products may round differently where weights are not aligned.
    error, stream = worst(engine.read_streams(bench.capture(tmp_path)), bench.expected("llama_gqa"), largest)
    assert error <= 1e-4, stream
