"""Damaged checkpoints: safetensors files, shards and their index, config.json."""

import json
import re
import shutil
import struct

import numpy as np
import pytest

from breakable import HIDDEN, INPUT, QUERY, SYSTEM, WEIGHTS, fails, layout, setup, write_file


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
    """A header that is really 200 MB long, as a hole in the file."""
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
    """Every float starts at an odd offset, which is no problem for readers."""
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
