"""Bad input: one clear line that names the thing, a non-zero exit, nothing left behind, never a crash.

Each case takes a small checkpoint and corpus that work and breaks one thing.
"""

import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import engine

USAGE, INPUT, SYSTEM = 2, 3, 4
VOCAB, HIDDEN, INNER, LAYERS, HEADS, KV_HEADS, WIDTH = 32, 16, 24, 2, 4, 2, 4
WEIGHTS = "model.safetensors"
QUERY = "model.layers.0.self_attn.q_proj.weight"

CONFIG = dict(
    model_type="llama", architectures=["LlamaForCausalLM"], vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=INNER,
    num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, rms_norm_eps=1e-5, hidden_act="silu",
    max_position_embeddings=64, rope_theta=10000.0, torch_dtype="float32",
)  # fmt: skip


def make_tensors():
    random = np.random.default_rng(0)
    shapes = {"model.embed_tokens.weight": [VOCAB, HIDDEN]}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        shapes |= {
            prefix + "input_layernorm.weight": [HIDDEN],
            prefix + "self_attn.q_proj.weight": [HEADS * WIDTH, HIDDEN],
            prefix + "self_attn.k_proj.weight": [KV_HEADS * WIDTH, HIDDEN],
            prefix + "self_attn.v_proj.weight": [KV_HEADS * WIDTH, HIDDEN],
            prefix + "self_attn.o_proj.weight": [HIDDEN, HEADS * WIDTH],
            prefix + "post_attention_layernorm.weight": [HIDDEN],
            prefix + "mlp.gate_proj.weight": [INNER, HIDDEN],
            prefix + "mlp.up_proj.weight": [INNER, HIDDEN],
            prefix + "mlp.down_proj.weight": [HIDDEN, INNER],
        }
    shapes |= {"model.norm.weight": [HIDDEN], "lm_head.weight": [VOCAB, HIDDEN]}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def layout(tensors):
    """Header and data of a safetensors file."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, values in tensors.items():
        start = len(data)
        data += values.tobytes()
        kind = {"float32": "F32", "uint8": "U8", "int64": "I64"}[str(values.dtype)]
        header[name] = dict(dtype=kind, shape=list(values.shape), data_offsets=[start, len(data)])
    return header, data


def write_file(path: Path, header, data: bytes, length=None):
    """`header` as an object, or as the bytes to write in its place; `length` as the file claims it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)


class Setup:
    """A model, a corpus and an output folder, with everything around it under watch."""

    def __init__(self, root: Path):
        self.root = root
        self.model, self.place, self.scratch = root / "model", root / "place", root / "scratch"
        for folder in (self.model, self.place, self.scratch):
            folder.mkdir()
        self.out = self.place / "out"
        self.corpus = root / "tokens.jsonl"
        self.context = 48
        self.options = []
        self.config = dict(CONFIG)
        self.write_config()
        self.tensors = make_tensors()
        self.write_weights()
        self.write_corpus([dict(id=5, tokens=list(range(VOCAB)) + [3] * 16)])

    def write_config(self, **changes):
        self.config |= changes
        (self.model / "config.json").write_text(json.dumps(self.config))

    def without(self, *keys):
        for key in keys:
            del self.config[key]
        self.write_config()

    def write_weights(self, **changes):
        write_file(self.model / WEIGHTS, *layout(self.tensors | changes))

    def header(self):
        return layout(self.tensors)

    def write_corpus(self, lines):
        self.corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def shard(self, weight_map=None):
        """The same weights as two shards with an index."""
        (self.model / WEIGHTS).unlink()
        names = list(self.tensors)
        files = {name: f"model-0000{1 + (index > 8)}-of-00002.safetensors" for index, name in enumerate(names)}
        for file in sorted(set(files.values())):
            write_file(self.model / file, *layout({name: self.tensors[name] for name in names if files[name] == file}))
        files |= weight_map or {}
        self.write_index(dict(metadata={}, weight_map=files))
        return files

    def write_index(self, index):
        (self.model / (WEIGHTS + ".index.json")).write_text(json.dumps(index))

    def run(self, **options):
        return engine.run(
            "capture", self.model, "--corpus", self.corpus, "--out", self.out, "--context", self.context, "--min-tokens", 1,
            "--vectors", "all", "--dtype", "float32", "--quiet", *self.options, timeout=60,
            environment=dict(TMPDIR=str(self.scratch)), **options,
        )  # fmt: skip


@pytest.fixture
def setup(tmp_path):
    return Setup(tmp_path)


def assert_one_line(result, codes, pattern, root):
    assert result.code >= 0, f"killed by signal {-result.code}: {result.stderr}"
    assert result.code in codes, (result.code, result.stderr)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: "), result.stderr
    message = lines[0].replace(f"{root}/", "")  # the folder's name repeats the case's, which must not count
    assert re.search(pattern, message), f"{message!r} lacks {pattern!r}"


def fails(setup, code, pattern, **options):
    """The run stops as it should and leaves everything as it was."""
    place, model = snapshot(setup.place), snapshot(setup.model)
    codes = code if isinstance(code, tuple) else (code,)
    assert_one_line(setup.run(**options), codes, pattern, setup.root)
    assert snapshot(setup.place) == place, "nothing left beside the output"
    assert snapshot(setup.scratch) == {}, "no temporary files"
    assert snapshot(setup.model) == model, "the checkpoint is untouched"


def snapshot(folder):
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()} | {
        str(path.relative_to(folder)): None for path in folder.rglob("*") if not path.is_file()
    }


# The set-up works: whatever fails below fails for the one thing that was broken


def test_unbroken(setup):
    result = setup.run()
    assert (result.code, result.stderr) == (0, "")
    assert (setup.out / "vectors/l01h03q/data.parquet").is_file()
    assert os.listdir(setup.place) == ["out"]
    assert os.listdir(setup.scratch) == []


def test_unbroken_shards(setup):
    setup.shard()
    result = setup.run()
    assert (result.code, result.stderr) == (0, "")


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


def shifted(setup):
    """One byte in front: every float starts at an odd offset."""
    tensors = {"odd": np.zeros(1, np.uint8)} | setup.tensors
    write_file(setup.model / WEIGHTS, *layout(tensors))


def overlap(setup):
    header, data = setup.header()
    header["model.layers.0.self_attn.k_proj.weight"]["data_offsets"] = header["model.layers.0.self_attn.v_proj.weight"]["data_offsets"]
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
    "duplicate name": (duplicate_name, QUERY_PATTERN),
    "misaligned": (shifted, r"(model\.\S+|lm_head)\.weight"),
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
    "shard at an absolute path": (outside("{}/x.safetensors"), INPUT, r"/x\.safetensors"),
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


def test_only_pickled_weights(setup):
    (setup.model / WEIGHTS).rename(setup.model / "pytorch_model.bin")
    fails(setup, INPUT, r"\.bin.*safetensors")


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


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"3", b'{"model_type": "llama\xff"}', b'{"model_type": "llama", "rope_theta": NaN}',
                                  b'{"a":' * 100_000, b'{"model_type": "llama", "model_type": "qwen2"}'],
                         ids=["empty", "cut", "a list", "a number", "not UTF-8", "NaN", "deep", "duplicate key"])
def test_config_file(setup, text):
    (setup.model / "config.json").write_bytes(text)
    fails(setup, INPUT, r"config\.json")


# Corpora of token ids


def line(**document):
    return json.dumps(document).encode() + b"\n"


CORPORA = {
    "id beyond the vocabulary": (line(id=5, tokens=[1, VOCAB, 2]), rf"\b{VOCAB}\b"),
    "id far beyond the vocabulary": (line(id=5, tokens=[1, 2**31, 2]), "2147483648"),
    "id beyond 64 bits": (line(id=5, tokens=[1, 2**64 + 1]), r"tokens\.jsonl.*1"),
    "id negative": (line(id=5, tokens=[1, -1]), "-1"),
    "id fractional": (line(id=5, tokens=[1, 2.5]), r"tokens\.jsonl.*1"),
    "id is text": (line(id=5, tokens=[1, "2"]), r"tokens\.jsonl.*1"),
    "bad id in the second document": (line(id=5, tokens=[1] * 9) + line(id=6, tokens=[VOCAB + 7]), rf"\b{VOCAB + 7}\b"),
    "tokens is a number": (line(id=5, tokens=7), r"tokens\.jsonl.*1"),
    "neither tokens nor text": (line(id=5, words=[1, 2]), r"tokens\.jsonl.*1"),
    "line is a list": (b"[1, 2]\n", r"tokens\.jsonl.*1"),
    "line is not JSON": (line(id=5, tokens=[1]) + b"{oops\n", r"tokens\.jsonl.*2"),
    "line has NaN": (b'{"id": NaN, "tokens": [1, 2]}\n', r"tokens\.jsonl.*1"),
    "line is not UTF-8": (b'{"id": "\xff\xfe", "tokens": [1, 2]}\n', r"tokens\.jsonl.*1"),
    "empty document": (line(id=5, tokens=[]), r"tokens\.jsonl"),
    "no documents": (b"", r"tokens\.jsonl"),
    "blank lines": (b"\n\n", r"tokens\.jsonl"),
}


@pytest.mark.parametrize("case", CORPORA)
def test_corpus(setup, case):
    text, pattern = CORPORA[case]
    setup.corpus.write_bytes(text)
    fails(setup, INPUT, pattern)


def test_documents_too_short(setup):
    """The message says how long the longest is."""
    setup.write_corpus([dict(id=1, tokens=[1] * 11), dict(id=2, tokens=[2] * 13)])
    result = engine.run("capture", setup.model, "--corpus", setup.corpus, "--out", setup.out, "--context", 48,
                        "--min-tokens", 40, "--quiet")  # fmt: skip
    assert_one_line(result, (INPUT,), r"\b13\b", setup.root)
    assert os.listdir(setup.place) == []


def test_corpus_of_unknown_format(setup):
    setup.corpus = setup.corpus.rename(setup.corpus.with_suffix(".docx"))
    fails(setup, (USAGE, INPUT), r"tokens\.docx")


# Corpora of text, and tokenizers

TOKENIZER = dict(
    version="1.0", truncation=None, padding=None, added_tokens=[], normalizer=None,
    pre_tokenizer=dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True),
    post_processor=None, decoder=None,
    model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None,
               fuse_unk=False, byte_fallback=False, vocab={letter: index for index, letter in enumerate("abcdefghijĠ")}, merges=[]),
)  # fmt: skip


def use_text(setup, text: bytes, tokenizer):
    setup.corpus = setup.corpus.with_name("corpus.txt")
    setup.corpus.write_bytes(text)
    if tokenizer is not None:
        content = tokenizer if isinstance(tokenizer, bytes) else json.dumps(tokenizer).encode()
        (setup.model / "tokenizer.json").write_bytes(content)


def test_unbroken_text(setup):
    use_text(setup, b"abc def a bad cab", TOKENIZER)
    result = setup.run()
    assert (result.code, result.stderr) == (0, "")


TOKENIZERS = {
    "none": (None, r"tokenizer\.json"),
    "not JSON": (b"{", r"tokenizer\.json"),
    "not UTF-8": (b'{"version": "\xff"}', r"tokenizer\.json"),
    "no model": ({key: TOKENIZER[key] for key in TOKENIZER if key != "model"}, "model"),
    "unknown model": (dict(TOKENIZER, model=dict(TOKENIZER["model"], type="Quantum")), "Quantum"),
    "unknown normalizer": (dict(TOKENIZER, normalizer=dict(type="Scramble")), "Scramble"),
    "unknown pre-tokenizer": (dict(TOKENIZER, pre_tokenizer=dict(type="Slice")), "Slice"),
    "unknown post-processor": (dict(TOKENIZER, post_processor=dict(type="Polish")), "Polish"),
    "id beyond the model's vocabulary": (
        dict(TOKENIZER, model=dict(TOKENIZER["model"], vocab=dict(TOKENIZER["model"]["vocab"], a=VOCAB + 3))), rf"\b{VOCAB + 3}\b"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOKENIZERS)
def test_tokenizer(setup, case):
    tokenizer, pattern = TOKENIZERS[case]
    use_text(setup, b"abc def a bad cab", tokenizer)
    fails(setup, INPUT, pattern)


def test_text_that_is_not_utf8(setup):
    use_text(setup, b"abc \xff\xfe def", TOKENIZER)
    fails(setup, INPUT, r"corpus\.txt.*UTF-8")


def test_empty_text(setup):
    use_text(setup, b"", TOKENIZER)
    fails(setup, INPUT, r"corpus\.txt")


# The command line

COMMANDS = {
    "unknown dtype": (["--dtype", "float8"], "float8"),
    "unknown device": (["--device", "abacus"], "abacus"),
    "unknown sampling": (["--vectors", "some"], "some"),
    "unknown option": (["--frobnicate"], "frobnicate"),
    "context 0": (["--context", "0"], "context"),
    "context negative": (["--context", "-5"], "context"),
    "context is text": (["--context", "long"], "context"),
    "memory without a unit that is known": (["--memory", "64XB"], "memory"),
    "memory negative": (["--memory", "-1GiB"], "memory"),
    "no heads": (["--heads", "0"], "heads"),
    "no documents": (["--documents", "0"], "documents"),
    "shard beyond the number of shards": (["--shard", "3/2"], "shard"),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_command_line(setup, case):
    options, pattern = COMMANDS[case]
    given = ["capture", setup.model, "--corpus", setup.corpus, "--out", setup.out]
    given += ["--context", setup.context] if "--context" not in options else []
    result = engine.run(*given, "--min-tokens", 1, "--quiet", *options)
    assert_one_line(result, (USAGE,), pattern, setup.root)
    assert os.listdir(setup.place) == []


@pytest.mark.parametrize("arguments, pattern", [(["capture"], "MODEL|model"), (["catpure", "x"], "catpure"),
                                                (["capture", "x", "--out", "y"], "corpus"),
                                                (["capture", "x", "--corpus", "y"], "out")])
def test_incomplete_command_line(arguments, pattern, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_one_line(engine.run(*arguments), (USAGE,), pattern, tmp_path)
    assert os.listdir(tmp_path) == []


def test_no_model(setup):
    setup.model = setup.model.with_name("nowhere")
    fails(setup, (INPUT, SYSTEM), "nowhere")


def test_model_is_a_file(setup):
    setup.model = setup.corpus
    fails(setup, (INPUT, SYSTEM), r"tokens\.jsonl")


def test_no_corpus(setup):
    setup.corpus = setup.corpus.with_name("nothing.jsonl")
    fails(setup, (INPUT, SYSTEM), r"nothing\.jsonl")


# Unreadable and full disks


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


def replace_by_dangling_link(path):
    path.unlink()
    path.symlink_to(path.with_name("gone"))


@pytest.mark.parametrize("replace", [replace_by_folder, replace_by_dangling_link])
@pytest.mark.parametrize("name", ["config.json", WEIGHTS])
def test_unreadable_model_file(setup, replace, name):
    replace(setup.model / name)
    fails(setup, (INPUT, SYSTEM), re.escape(name))


@pytest.mark.parametrize("replace", [replace_by_folder, replace_by_dangling_link])
def test_unreadable_corpus(setup, replace):
    replace(setup.corpus)
    fails(setup, (INPUT, SYSTEM), r"tokens\.jsonl")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything; the cases above stand in for it")
@pytest.mark.parametrize("name", ["config.json", WEIGHTS])
def test_no_permission(setup, name):
    (setup.model / name).chmod(0)
    fails(setup, SYSTEM, re.escape(name))


def test_output_is_a_file(setup):
    setup.out.write_text("mine")
    fails(setup, (USAGE, INPUT, SYSTEM), "out")
    assert setup.out.read_text() == "mine"


def test_output_inside_a_file(setup):
    (setup.place / "file").write_text("mine")
    setup.out = setup.place / "file" / "out"
    fails(setup, (USAGE, INPUT, SYSTEM), "file")


def test_full_disk(setup):
    fails(setup, SYSTEM, "place/out", before=engine.limit_files(4096))


def test_full_small_disk(setup):
    """A real full file system, where this machine allows one to be made."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", setup.place], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount; test_full_disk covers the same")
    try:
        fails(setup, SYSTEM, "place/out")
    finally:
        subprocess.run(["umount", setup.place], check=True)


def test_memory_budget_too_small(setup):
    setup.options = ["--memory", "1KiB"]
    fails(setup, (USAGE, SYSTEM), "memory")
