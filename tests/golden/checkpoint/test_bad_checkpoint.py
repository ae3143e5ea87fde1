"""Damaged checkpoints: safetensors files, shards and their index, config.json."""

import json
import re
import shutil
import struct

import numpy as np
import pytest

from breakable import HIDDEN, INPUT, QUERY, SYSTEM, WEIGHTS, fails, layout, setup, write_file  # noqa: F401

# Safetensors files


def entry(name=QUERY, **changes):
    """Changes one tensor's entry in the header."""

    def apply(setup):
        header, data = setup.header()
        header[name] |= changes
        write_file(setup.model / WEIGHTS, header, data)

    return apply


def lacking(key):
    def apply(setup):
        header, data = setup.header()
        del header[QUERY][key]
        write_file(setup.model / WEIGHTS, header, data)

    return apply


def raw_file(content):
    return lambda setup: (setup.model / WEIGHTS).write_bytes(content)


def raw_header(header, length=None):
    return lambda setup: write_file(setup.model / WEIGHTS, header, b"", length)


def cut(size):
    """Keeps the first `size` bytes; a negative size drops the last."""

    def apply(setup):
        path = setup.model / WEIGHTS
        path.write_bytes(path.read_bytes()[:size])

    return apply


def huge_header(setup):
    """A header of 200 MB that is really there, as a hole in the file."""
    with open(setup.model / WEIGHTS, "wb") as file:
        file.write(struct.pack("<Q", 200_000_000))
        file.truncate(300_000_000)


def duplicate_name(setup):
    header, data = setup.header()
    text = json.dumps(header)
    write_file(setup.model / WEIGHTS, (text[:-1] + f', "{QUERY}": {json.dumps(header[QUERY])}}}').encode(), data)


def overlap(setup):
    """k_proj claims the bytes of v_proj."""
    header, data = setup.header()
    attention = "model.layers.0.self_attn."
    header[attention + "k_proj.weight"] = header[attention + "v_proj.weight"]
    write_file(setup.model / WEIGHTS, header, data)


def trailing_bytes(setup):
    header, data = setup.header()
    write_file(setup.model / WEIGHTS, header, data + bytes(64))


QUERY_PATTERN = re.escape(QUERY)
FILES = {
    "empty": (raw_file(b""), WEIGHTS),
    "shorter than its length field": (raw_file(b"\x10\0\0\0"), WEIGHTS),
    "cut inside the header": (cut(100), WEIGHTS),
    "cut inside the data": (cut(-4), rf"{WEIGHTS}|lm_head"),
    "trailing bytes": (trailing_bytes, WEIGHTS),
    "header length beyond the file": (raw_header({}, 1 << 20), WEIGHTS),
    "header length of 2^63": (raw_header({}, 1 << 63), WEIGHTS),
    "header length of 2^64 - 1": (raw_header({}, (1 << 64) - 1), WEIGHTS),
    "header length of 2^64 - 8": (raw_header({}, (1 << 64) - 8), WEIGHTS),
    "header length 0": (raw_header(b"", 0), WEIGHTS),
    "oversized header": (huge_header, WEIGHTS),
    "header is not JSON": (raw_header(b"\x80\x02pickled"), WEIGHTS),
    "header is cut JSON": (raw_header(b'{"a": {"dtype": "F32", '), WEIGHTS),
    "header is a list": (raw_header(b"[1, 2]"), WEIGHTS),
    "header is deeply nested": (raw_header(b'{"a":' * 200_000), WEIGHTS),
    "header is not UTF-8": (raw_header(b'{"\xff\xfe": {}}'), WEIGHTS),
    "header has NaN": (raw_header(b'{"a": {"dtype": "F32", "shape": [NaN], "data_offsets": [0, 4]}}'), WEIGHTS),
    "entry is a number": (raw_header({QUERY: 3}), QUERY_PATTERN),
    "name with a terminal command": (raw_header({"a\x1b[2J\nb": 3}), r"a\\x1b\[2J\\nb"),
    "duplicate name": (duplicate_name, QUERY_PATTERN),
    "overlapping": (overlap, r"self_attn\.[kv]_proj\.weight"),
    "offsets beyond the file": (entry(data_offsets=[10**9, 10**9 + 1024]), QUERY_PATTERN),
    "offsets of 2^63": (entry(data_offsets=[1 << 63, (1 << 63) + 1024]), QUERY_PATTERN),
    "offsets reversed": (entry(data_offsets=[4096, 3072]), QUERY_PATTERN),
    "offsets negative": (entry(data_offsets=[-1024, 0]), QUERY_PATTERN),
    "one offset": (entry(data_offsets=[0]), QUERY_PATTERN),
    "offsets are text": (entry(data_offsets=["0", "1024"]), QUERY_PATTERN),
    "shape product overflows": (entry(shape=[1 << 32, 1 << 32, 256]), QUERY_PATTERN),
    "shape product overflows to its size": (entry(shape=[(1 << 62) + 64, 4]), QUERY_PATTERN),
    "shape beyond 64 bits": (entry(shape=[1 << 64, 16]), QUERY_PATTERN),
    "shape negative": (entry(shape=[-16, -16]), QUERY_PATTERN),
    "shape fractional": (entry(shape=[16.5, 16]), QUERY_PATTERN),
    "shape is a number": (entry(shape=256), QUERY_PATTERN),
    "shape too large for its bytes": (entry(shape=[17, 16]), QUERY_PATTERN),
    "dtype of another size": (entry(dtype="F16"), QUERY_PATTERN),
    "dtype unknown": (entry(dtype="F77"), rf"{QUERY_PATTERN}.*F77"),
    "dtype is a number": (entry(dtype=32), QUERY_PATTERN),
    "no dtype": (lacking("dtype"), rf"{QUERY_PATTERN}.*dtype"),
    "no shape": (lacking("shape"), rf"{QUERY_PATTERN}.*shape"),
    "no offsets": (lacking("data_offsets"), rf"{QUERY_PATTERN}.*data_offsets"),
}


@pytest.mark.parametrize("case", FILES)
def test_safetensors_file(setup, case):
    damage, pattern = FILES[case]
    damage(setup)
    fails(setup, INPUT, pattern)


def test_numbers_behind_bytes_of_an_odd_number(setup):
    """Every float starts at an odd offset, which no reader minds."""
    assert setup.run().code == 0
    moments = setup.out / "moments.safetensors"
    expected = moments.read_bytes()
    shutil.rmtree(setup.out)
    write_file(setup.model / WEIGHTS, *layout({"odd": np.zeros(3, np.uint8)} | setup.tensors))
    assert (result := setup.run()).code == 0, result.stderr
    assert moments.read_bytes() == expected


# Tensors


@pytest.mark.parametrize("name", ["model.embed_tokens.weight", QUERY, "model.layers.1.self_attn.k_proj.weight",
                                  "model.layers.0.mlp.down_proj.weight", "model.layers.0.input_layernorm.weight"])
def test_missing_tensor(setup, name):
    del setup.tensors[name]
    setup.write_weights()
    fails(setup, INPUT, re.escape(name))


@pytest.mark.parametrize("shape", [(HIDDEN, HIDDEN + 1), (HIDDEN * HIDDEN,), (HIDDEN // 2, HIDDEN * 2), (HIDDEN, HIDDEN, 1), ()])
def test_wrong_shape(setup, shape):
    setup.write_weights(**{QUERY: np.zeros(shape, np.float32)})
    fails(setup, INPUT, QUERY_PATTERN)


def test_integer_weights(setup):
    setup.write_weights(**{QUERY: np.zeros((HIDDEN, HIDDEN), np.int64)})
    fails(setup, INPUT, rf"{QUERY_PATTERN}.*I64")


def test_missing_bias(setup):
    setup.write_config(attention_bias=True)
    fails(setup, INPUT, r"layers\.0\.self_attn\.\w_proj\.bias")


def test_weights_that_are_not_numbers(setup):
    weights = setup.tensors["model.layers.1.self_attn.q_proj.weight"].copy()
    weights[5, 0] = np.nan  # row 5: the second head
    setup.write_weights(**{"model.layers.1.self_attn.q_proj.weight": weights})
    fails(setup, INPUT, r"(?i)(?=.*layer 1)(?=.*head 1)(?=.*document)")


# Shards and their index


def missing_shard(setup):
    setup.shard()
    (setup.model / "model-00002-of-00002.safetensors").unlink()


def dangling_shard(setup):
    setup.shard()
    shard = setup.model / "model-00002-of-00002.safetensors"
    shard.unlink()
    shard.symlink_to(setup.model / "gone")


def index_names_absent_tensor(setup):
    files = setup.shard()
    # The index says shard 2, which does not hold it
    setup.write_index(dict(weight_map=files | {QUERY: "model-00002-of-00002.safetensors"}))


def index_lacks_tensor(setup):
    files = setup.shard()
    first = setup.model / files[QUERY]
    write_file(first, *layout({name: setup.tensors[name] for name in files if files[name] == first.name and name != QUERY}))
    setup.write_index(dict(weight_map={name: file for name, file in files.items() if name != QUERY}))


def tensor_in_two_shards(setup):
    files = setup.shard()
    second = setup.model / "model-00002-of-00002.safetensors"
    write_file(second, *layout({name: setup.tensors[name] for name in files if files[name] == second.name or name == QUERY}))


def outside(path):
    def apply(setup):
        shutil.copy(setup.model / WEIGHTS, setup.model.parent / "x.safetensors")
        setup.shard({QUERY: path.format(setup.model.parent)})

    return apply


def index_text(text):
    def apply(setup):
        setup.shard()
        (setup.model / (WEIGHTS + ".index.json")).write_bytes(text)

    return apply


INDEX = r"model\.safetensors\.index\.json"
SHARDS = {
    "missing shard": (missing_shard, (INPUT, SYSTEM), r"model-00002-of-00002\.safetensors"),
    "dangling shard": (dangling_shard, (INPUT, SYSTEM), r"model-00002-of-00002\.safetensors"),
    "tensor is not in its shard": (index_names_absent_tensor, INPUT, QUERY_PATTERN),
    "tensor is nowhere": (index_lacks_tensor, INPUT, QUERY_PATTERN),
    "tensor in two shards": (tensor_in_two_shards, INPUT, QUERY_PATTERN),
    "shard outside the folder": (outside("../x.safetensors"), INPUT, r"\.\./x\.safetensors"),
    "shard at an absolute path": (outside("{}/x.safetensors"), INPUT, r'shard "\S*x\.safetensors".*same folder'),
    "index is not JSON": (index_text(b"{"), INPUT, INDEX),
    "index is not UTF-8": (index_text(b'{"weight_map": {"\xff": "a"}}'), INPUT, INDEX),
    "index has no weight_map": (index_text(b"{}"), INPUT, "weight_map"),
    "weight_map is a list": (index_text(b'{"weight_map": []}'), INPUT, "weight_map"),
    "shard is a number": (index_text(b'{"weight_map": {"lm_head.weight": 1}}'), INPUT, r"lm_head\.weight"),
}


@pytest.mark.parametrize("case", SHARDS)
def test_shards(setup, case):
    damage, code, pattern = SHARDS[case]
    damage(setup)
    fails(setup, code, pattern)


def test_safetensors_under_the_name_of_a_pickle(setup):
    (setup.model / WEIGHTS).rename(setup.model / "pytorch_model.bin")
    fails(setup, INPUT, r"pytorch_model\.bin: is not a zip archive.*safetensors")


def test_no_weights(setup):
    (setup.model / WEIGHTS).unlink()
    fails(setup, INPUT, "safetensors")


# config.json


@pytest.mark.parametrize("key", ["model_type", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"])
def test_missing_key(setup, key):
    setup.without(key)
    fails(setup, INPUT, rf"config\.json.*{key}")


def test_missing_theta(setup):
    """Never a silent 10000: the message says what to write."""
    setup.without("rope_theta")
    fails(setup, INPUT, r"config\.json.*rope_theta")


def test_missing_theta_in_rope_parameters(setup):
    setup.without("rope_theta")
    setup.write_config(rope_parameters=dict(rope_type="linear", factor=2.0))
    fails(setup, INPUT, r"config\.json.*rope_theta")


LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
CONFIGS = {
    "unknown architecture": (dict(model_type="quillama"), "quillama"),
    "architecture is a number": (dict(model_type=7), "model_type"),
    "unknown activation": (dict(hidden_act="wobble"), "hidden_act.*wobble|wobble.*hidden_act"),
    "unknown RoPE type": (dict(rope_scaling=dict(rope_type="spiral", factor=2.0)), "spiral"),
    "unknown RoPE type, older key": (dict(rope_scaling=dict(type="spiral", factor=2.0)), "spiral"),
    "RoPE is a list": (dict(rope_scaling=[2.0]), "rope_scaling"),
    "RoPE type is a number": (dict(rope_scaling=dict(rope_type=2)), "rope_type"),
    "linear without factor": (dict(rope_scaling=dict(rope_type="linear")), "factor"),
    "factor 0": (dict(rope_scaling=dict(rope_type="linear", factor=0)), "factor"),
    "factor negative": (dict(rope_scaling=dict(rope_type="dynamic", factor=-2.0)), "factor"),
    "factor is text": (dict(rope_scaling=dict(rope_type="linear", factor="two")), "factor"),
    "llama3 without low_freq_factor": (
        dict(rope_scaling={key: LLAMA3[key] for key in LLAMA3 if key != "low_freq_factor"}), "low_freq_factor"),
    "llama3 with equal factors": (dict(rope_scaling=dict(LLAMA3, low_freq_factor=4.0)), "(low|high)_freq_factor"),
    "theta 0": (dict(rope_theta=0), "rope_theta"),
    "theta negative": (dict(rope_theta=-1e4), "rope_theta"),
    "theta is text": (dict(rope_theta="10000"), "rope_theta"),
    "no layers": (dict(num_hidden_layers=0), "num_hidden_layers"),
    "negative layers": (dict(num_hidden_layers=-2), "num_hidden_layers"),
    "fractional layers": (dict(num_hidden_layers=1.5), "num_hidden_layers"),
    "layers beyond all bounds": (dict(num_hidden_layers=10**15), "num_hidden_layers|layers"),
    "layers beyond 64 bits": (dict(num_hidden_layers=10**30), "num_hidden_layers"),
    "more layers than stored": (dict(num_hidden_layers=3), r"layers\.2\."),
    "no heads": (dict(num_attention_heads=0), "num_attention_heads"),
    "no KV heads": (dict(num_key_value_heads=0), "num_key_value_heads"),
    "KV heads do not divide": (dict(num_key_value_heads=3), "num_key_value_heads"),
    "heads do not divide": (dict(num_attention_heads=6), "num_attention_heads|head_dim"),
    "head_dim odd": (dict(head_dim=5), "head_dim"),
    "head_dim 0": (dict(head_dim=0), "head_dim"),
    "hidden size 0": (dict(hidden_size=0), "hidden_size"),
    "hidden size negative": (dict(hidden_size=-16), "hidden_size"),
    "hidden size of 2^62": (dict(hidden_size=1 << 62), "hidden_size|embed_tokens|q_proj"),
    "heads beyond reason": (dict(num_attention_heads=1 << 32), "num_attention_heads"),
    "vocabulary beyond 32 bits": (dict(vocab_size=1 << 32), "vocab_size"),
    "positions beyond 32 bits": (dict(max_position_embeddings=1 << 32), "max_position_embeddings"),
    "activation with weights of its own": (dict(hidden_act="xielu"), "hidden_act"),
    "hidden size is text": (dict(hidden_size="16"), "hidden_size"),
    "inner size negative": (dict(intermediate_size=-1), "intermediate_size"),
    "epsilon is text": (dict(rms_norm_eps="small"), "rms_norm_eps"),
    "epsilon negative": (dict(rms_norm_eps=-1.0), "rms_norm_eps"),
    "max positions 0": (dict(max_position_embeddings=0), "max_position_embeddings"),
    "bias is text": (dict(attention_bias="yes"), "attention_bias"),
    "NoPE list too short": (dict(model_type="smollm3", no_rope_layers=[1]), "no_rope_layers"),
    "NoPE interval 0": (dict(model_type="smollm3", no_rope_layer_interval=0), "no_rope_layer_interval"),
    "window 0": (dict(model_type="mistral", sliding_window=0), "sliding_window"),
    "window negative": (dict(model_type="mistral", sliding_window=-4), "sliding_window"),
    "layer types too short": (dict(model_type="smollm3", layer_types=["full_attention"]), "layer_types"),
    "unknown layer type": (dict(model_type="smollm3", layer_types=["full_attention", "zigzag"]), "zigzag"),
}  # fmt: skip


@pytest.mark.parametrize("case", CONFIGS)
def test_config(setup, case):
    changes, pattern = CONFIGS[case]
    setup.write_config(**changes)
    fails(setup, INPUT, pattern)


CONFIG_FILES = {
    "empty": b"",
    "cut": b"{",
    "a list": b"[]",
    "a number": b"3",
    "not UTF-8": b'{"model_type": "llama\xff"}',
    "NaN": b'{"model_type": "llama", "rope_theta": NaN}',
    "deeply nested": b'{"a":' * 100_000,
    "duplicate key": b'{"model_type": "llama", "model_type": "qwen2"}',
}


@pytest.mark.parametrize("case", CONFIG_FILES)
def test_config_file(setup, case):
    (setup.model / "config.json").write_bytes(CONFIG_FILES[case])
    fails(setup, INPUT, r"config\.json")
