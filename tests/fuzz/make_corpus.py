"""Writes the hand-made seeds of tests/fuzz/corpus: small valid files, and a few near misses."""
import gzip
import io
import json
import os
import struct
import sys
import zipfile
from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet as parquet
import torch

CORPUS = Path(__file__).parent / "corpus"
SIZES = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8, "F64": 8, "U8": 1}


def safetensors(tensors, metadata=None):
    """The bytes of a file with tensors {name: (dtype, shape, bytes or None for zeros)}."""
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for name, (dtype, shape, content) in tensors.items():
        size = SIZES[dtype]
        for dimension in shape:
            size *= dimension
        content = bytes(size) if content is None else content
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + size]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def write(target, name, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def write_safetensors():
    write("safetensors", "weights", safetensors(
        {"model.embed_tokens.weight": ("F32", [2, 3], None), "norm": ("BF16", [4], None), "empty": ("F16", [0, 7], None)},
        {"format": "pt"}))
    write("safetensors", "none", safetensors({}))
    write("safetensors", "overlap", safetensors({"a": ("U8", [2], None)}).replace(b"[0,2]", b"[1,3]"))


class Call:
    """Asks for a program to be run by whoever unpickles it."""

    def __reduce__(self):
        return os.system, ("true",)


def write_pytorch():
    weights = {"model.embed_tokens.weight": torch.zeros(2, 3), "norm": torch.zeros(4, dtype=torch.bfloat16),
               "turned": torch.zeros(3, 2, dtype=torch.half).t(), "steps": torch.tensor(7), "note": "text"}
    weights["tied"] = weights["model.embed_tokens.weight"][1:]
    cube = torch.zeros(2, 3, 4)
    views = {"turned": cube.permute(2, 0, 1), "steps": cube[:, ::2, 1:], "none": cube[:0]}
    for name, content in {"weights": weights, "state": torch.nn.Linear(2, 2).state_dict(), "views": views,
                          "parameter": {"w": torch.nn.Parameter(torch.zeros(1))}, "call": {"w": Call()},
                          "repeated": {"w": torch.zeros(1).expand(3)}}.items():
        buffer = io.BytesIO()
        torch.save(content, buffer)
        write("pytorch", name, buffer.getvalue())
        with zipfile.ZipFile(buffer) as archive:
            write("pytorch", f"{name}.pickle", archive.read("archive/data.pkl"))


def llama(**changes):
    return {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
            "hidden_size": 16, "intermediate_size": 32, "vocab_size": 64, "max_position_embeddings": 128,
            "rms_norm_eps": 1e-6, "rope_theta": 1e4, "hidden_act": "silu", **changes}


def write_configs():
    configs = {
        "llama": llama(rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                     "high_freq_factor": 4.0, "original_max_position_embeddings": 64}),
        "yarn": llama(model_type="ministral3", head_dim=4, rope_parameters={
            "rope_type": "yarn", "rope_theta": 1e6, "factor": 16.0, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0,
            "mscale_all_dim": 1.0, "original_max_position_embeddings": 64, "llama_4_scaling_beta": 0.1,
            "attention_factor": 1.0, "truncate": False}),
        "gemma3": llama(model_type="gemma3_text", head_dim=4, query_pre_attn_scalar=4, sliding_window=8,
                        sliding_window_pattern=2, rope_local_base_freq=1e4, hidden_activation="gelu_pytorch_tanh"),
        "mllama": {"model_type": "mllama", "text_config": llama(
            model_type="mllama_text_model", cross_attention_layers=[1])},
        "gpt_neox": llama(model_type="gpt_neox", rotary_pct=0.5, rotary_emb_base=10000, hidden_act="gelu",
                          use_parallel_residual=True, layer_norm_eps=1e-5, attention_bias=True),
        "smollm3": llama(model_type="smollm3", no_rope_layers=[1, 0], layer_types=["full_attention", "sliding_attention"],
                         sliding_window=16, use_sliding_window=True, no_rope_layer_interval=4),
        "glm": llama(model_type="glm4", partial_rotary_factor=0.5, head_dim=8, attention_bias=True),
        "olmo3": llama(model_type="olmo3", layer_types=["full_attention", "sliding_attention"], sliding_window=16),
        "qwen2": llama(model_type="qwen2", use_sliding_window=True, sliding_window=16, max_window_layers=1),
        "apertus": llama(model_type="apertus", hidden_act="xielu", rope_scaling={"type": "linear", "factor": 2}),
        "mistral": llama(model_type="mistral", sliding_window=None, rope_scaling={"type": "dynamic", "factor": 2}),
    }
    for name, config in configs.items():
        write("config", name, json.dumps(config))


def write_experiments():
    write("experiment", "whole", """name: My run
model: EleutherAI/pythia-160m
tokenizer: tokens.json
corpus: {path: texts.jsonl, documents: 32, min_tokens: 8, field: text, id: id}
heads: {count: 4, seed: 1}
portraits: [init, 10K]
dtype: float32
device: cpu
memory: 8 GiB
blocks: 16
sliding: true
vectors: log-uniform
components: 10
phases:
  - name: One
    context: 2048
    config: &c {rope_theta: 1.0e4, rope_scaling: {rope_type: linear, factor: 2, list: [1, true, "x"]}, sliding_window: null}
    checkpoints:
      - {label: init, random: 0}
      - {label: 10K, path: a/b}
      - {label: 20K, revision: main}
  - {name: Two, config: *c, revisions: "step*000"}
""")
    write("experiment", "small", "name: x\ncorpus: {path: a.txt}\nphases: [{name: p, checkpoints: [{label: a, path: b}]}]\n")


def write_dataset_cards():
    write("dataset_card", "whole", """---
license: mit
configs:
- config_name: a
  default: true
  data_dir: d
  data_files:
  - split: test
    path: &p [x/*, y.jsonl]
  - {split: train, path: *p}
- config_name: b
  data_files: "**/*.parquet"
- data_files: {dev: z}
---
# Texts
""")


def moments(first=0):
    """Two documents, the first of which has this number."""
    blocks, streams, d = 2, 1, 2

    def array(dtype, values):
        return numpy.array(values, dtype).tobytes()
    tensors = {"document.index": ("I64", [2], array("<i8", [first, first + 1])), "document.digest": ("I64", [2], array("<i8", [first, first])),
               "document.prefix_digest": ("I64", [2], None), "block.documents": ("I64", [blocks], array("<i8", [1, 1])),
               "block.tokens": ("I64", [blocks], array("<i8", [5, 6])),
               "block.position_mean": ("F64", [blocks], array("<f8", [2, 2.5])),
               "block.position_scatter": ("F64", [blocks], array("<f8", [10, 17.5]))}
    for kind in ("query", "key"):
        packed = d * (d + 1) // 2
        tensors |= {f"{kind}.layer": ("I64", [streams], None), f"{kind}.head": ("I64", [streams], None),
                    f"{kind}.mean": ("F64", [streams, d], None), f"{kind}.position": ("F64", [streams, d], None),
                    f"{kind}.products": ("F64", [streams, packed], None),
                    f"{kind}.block_mean": ("F64", [streams, blocks, d], None),
                    f"{kind}.block_position": ("F32", [streams, blocks, d], None),
                    f"{kind}.block_products": ("F32", [streams, blocks, packed], None)}
    return safetensors(tensors, {"ropewalk": '{"format":1}'})


def write_moments():
    write("moments", "two_blocks", moments())


def write_merge():
    """The first file behind its length, then the second."""
    highest = 2**63 - 2
    for name, numbers in {"four_documents": (0, 2), "gap": (7, 1 << 40), "twice": (0, 0), "highest": (highest, 0)}.items():
        first, second = (moments(number) for number in numbers)
        write("merge", name, struct.pack("<I", len(first)) + first + second)


def write_parquets():
    def table(name, columns, **options):
        path = CORPUS / "parquet" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pyarrow.table(columns), path, **options)
    texts = ["one text", "another", "ünï"]
    table("text", {"text": texts, "id": [1, 2, 3]}, compression="none", store_schema=False)
    table("snappy", {"text": texts * 30, "id": ["a", "b", "c"] * 30}, compression="snappy", row_group_size=40)
    table("tokens", {"tokens": [[1, 2], [3], [4, 5, 6]]}, compression="gzip", use_dictionary=False)
    table("dictionary", {"text": pyarrow.array(texts).dictionary_encode(), "id": pyarrow.array([1, 2, 3], "uint64")},
          compression="zstd")
    table("fixed", {"tokens": pyarrow.array([[1, 2], [3, 4]], pyarrow.list_(pyarrow.uint16(), 2))}, compression="none",
          data_page_version="2.0")
    table("delta", {"text": pyarrow.array(texts, pyarrow.large_string())}, compression="none", use_dictionary=False,
          column_encoding={"text": "DELTA_BYTE_ARRAY"})


def write_jsonls():
    lines = '{"text": "one", "id": 1}\n\n{"text": "t\\u00e4\\ud83d\\ude00", "id": "x"}\r\n{"tokens": [1, 2, 3]}'
    write("jsonl", "lines", lines)
    write("jsonl", "mark", "\ufeff" + lines)
    write("jsonl", "gzip", gzip.compress(lines.encode(), mtime=0))
    write("jsonl", "zstd", pyarrow.Codec("zstd").compress(lines.encode(), asbytes=True))
    write("jsonl", "members", gzip.compress(b'{"text": "a"}\n', mtime=0) + gzip.compress(b'{"text": "b"}', mtime=0) + bytes(4))


def write_tables():
    """qk.csv, heads.csv, bands.csv, curves.csv and loss.csv, with a form feed between them."""
    columns = "model,checkpoint,phase,order,layer,q_head,kv_head,rope"
    qk = columns + ",pc,explained_variance,r_q,r_k,r_q_se,r_k_se,class,flag\n" + "".join(
        f"m,{label},p,{order},0,{head},0,1,0,0.5,0.9,-0.8,0.01,0.02,position-dominated,\n" for order, label in enumerate("ab") for head in range(2))  # fmt: skip
    heads = columns + ",r2cv_q,r2cv_q_se,mrl_q,flag\nm,a,p,0,0,0,0,1,0.7,0.1,0.5,\nm,b,p,1,0,1,0,1,,,,constant_q\n"
    bands = columns + ",pair,theta,energy_q,energy_q_se,mrl_k,flag\nm,a,p,0,0,0,0,1,0,1,2.5,0.1,0.3,\nm,a,p,0,0,0,0,1,1,0.1,1e3,,0.3,\n"
    curves = columns + ",curve,x,x_end,x_mean,value,value_se,flag\nm,a,p,0,0,1,0,1,dist_pred,0,1,0,1.5,0.1,\nm,a,p,0,0,1,0,1,dist_pred,1,2,1,-1.5,,\nm,b,p,1,0,0,0,1,theirs,0,,,1,1,\n"
    loss = "model,checkpoint,phase,order,position,position_end,loss,loss_se,documents,tokens,flag\nm,a,p,0,,,3.5,0.1,8,800,\nm,a,p,0,0,1,4.5,,8,8,no_se\n"
    write("tables", "whole", "\f".join((qk, heads, bands, curves, loss)))
    write("tables", "qk", qk)
    write("tables", "quoted", qk.replace("m,a", '"m, ""x""",a').replace("\n", "\r\n"))
    write("tables", "series", "\f".join((qk, "", bands.replace(",1,0.1,1e3", ",1,1e-320,nan"), curves)))


def main():
    for make in (write_safetensors, write_pytorch, write_configs, write_experiments, write_dataset_cards, write_moments, write_merge,
                 write_parquets, write_tables, write_jsonls):
        make()


if __name__ == "__main__":
    sys.exit(main())
