"""Captured vectors in the published layout, and tiny models under public names, for a fake Hub."""

import io

import numpy as np
import pyarrow
import pyarrow.parquet

DATASET = "viktoroo/sniffed-qk"
CARD = "# Vectors\n\n| setting | value |\n|---|---|\n| `head_sampling_num_query_heads` | {queries} |\n| `head_sampling_num_key_heads` | {keys} |\n"
EXAMPLES, TOKENS, CONTEXT = 20, 6, 4096


def stream(seed: int, slope: float, d: int) -> bytes:
    """Vectors of a few tokens of every example; `slope` decides how strong position is along one direction."""
    noise = np.random.default_rng(seed)
    example = np.repeat(np.arange(EXAMPLES), TOKENS)
    position = noise.integers(0, CONTEXT, EXAMPLES * TOKENS)
    vectors = noise.normal(size=(len(example), d)).astype(np.float32)
    vectors[:, 0] += (slope * 4 * (position / CONTEXT - 0.5)).astype(np.float32)
    vectors[:, 1] += 2  # a mean
    flat = pyarrow.array(vectors.ravel())
    table = pyarrow.table({
        "bucket": pyarrow.array(position * 16 // CONTEXT, pyarrow.int32()),
        "example_id": pyarrow.array(example * 1_000_003 % 2**31, pyarrow.int32()),
        "position": pyarrow.array(position, pyarrow.int32()),
        "vector": pyarrow.FixedSizeListArray.from_arrays(flat, d),
        "sliding_window": pyarrow.array([None] * len(example), pyarrow.int32())})  # fmt: skip
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


def capture_files(seed: int, heads, queries=16, keys=4, d=128, slope=1.0) -> dict[str, bytes]:
    """The files of one branch: these (layer, query head) and their keys."""
    files = {"README.md": CARD.format(queries=queries, keys=keys).encode()}
    for layer, head in heads:
        files[f"l{layer:02}h{head:02}q/data.parquet"] = stream(seed * 1000 + layer * 20 + head, slope, d)
        key = head // (queries // keys)
        files[f"l{layer:02}h{key:02}k/data.parquet"] = stream(seed * 1000 + 700 + layer * 20 + key, -slope / 2, d)
    return files


def write_folder(files: dict[str, bytes], folder):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder
