"""A small checkpoint and corpus that work, so that a test can break one thing at a time.

Bad input must cause one clear line that names the problem, and a non-zero exit code; it must leave no files behind and never cause a crash.
`fails` checks all of this.
"""

import json
import re
import struct
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


def file_bytes(header, data: bytes, length=None) -> bytes:
    """`header` is an object, or the bytes to write instead; `length` is the length that the file claims."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def write_file(path: Path, header, data: bytes, length=None):
    path.write_bytes(file_bytes(header, data, length))


class Setup:
    """A model, a corpus and an output folder; checks everything around them for changes."""

    def __init__(self, root: Path):
        self.root = root
        self.model, self.parent, self.scratch = root / "model", root / "place", root / "scratch"
        for folder in (self.model, self.parent, self.scratch):
            folder.mkdir()
        self.out = self.parent / "out"
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
    message = lines[0].replace(f"{root}/", "")  # the folder's name contains the test's, which must not count
    assert re.search(pattern, message), f"{message!r} lacks {pattern!r}"


def fails(setup, code, pattern, **options):
    """The run stops correctly, and changes no file."""
    parent, model = snapshot(setup.parent), snapshot(setup.model)
    codes = code if isinstance(code, tuple) else (code,)
    assert_one_line(setup.run(**options), codes, pattern, setup.root)
    assert snapshot(setup.parent) == parent, "nothing left beside the output"
    assert snapshot(setup.scratch) == {}, "no temporary files"
    assert snapshot(setup.model) == model, "the checkpoint is untouched"


def snapshot(folder):
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()} | {
        str(path.relative_to(folder)): None for path in folder.rglob("*") if not path.is_file()
    }


def leftovers(out):
    """Names that only a running program may have in a folder."""
    return [path.name for path in out.rglob("*") if ".tmp-" in path.name or path.name.startswith(".scratch")]


def results(out):
    """Every file's bytes, without what depends on the place or the time."""
    skipped = ("manifest.json", "report.html", ".lock")
    files = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file() and path.name not in skipped}
    # The duration differs from run to run.
    return {name: re.sub(rb'"seconds": [^,]*,', b"", data) if name.endswith("capture.json") else data for name, data in files.items()}
