"""The forward pass on 1, 2, 4, 8 and 16 threads, in float32 and, where the processor multiplies it, bfloat16: with moments and with all that a capture
keeps, against transformers' plain pass with as many threads, in turn. Used by cpu.py; run as `cpu.py threads [DTYPE [THREADS …]]` it writes
cpu_threads.json and keeps what this machine measured before. Without SmolLM2's weights it takes random ones of their shapes."""

import json
import os
import statistics
import subprocess
import time
from pathlib import Path

import arithmetic
import machine
import torch
from transformers import AutoModel, LlamaConfig, LlamaModel

COUNTS, DTYPES, TOKENS = (1, 2, 4, 8, 16), ["float32", "bfloat16"], 4096
SHAPES = machine.ROOT / ".cache" / "smollm2-shapes"


def model() -> tuple[str, Path]:
    """What it is called, and its folder."""
    if machine.SMOLLM2.exists():
        return "SmolLM2-135M", machine.SMOLLM2
    if not (SHAPES / "config.json").exists():
        torch.manual_seed(0)
        LlamaModel(LlamaConfig(
            vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
            max_position_embeddings=8192, rope_theta=1e5, tie_word_embeddings=True, use_cache=False, bos_token_id=1, eos_token_id=2,
        )).save_pretrained(SHAPES)  # fmt: skip
    return "SmolLM2-135M's shapes, random weights", SHAPES


def dtypes() -> list[str]:
    return DTYPES if machine.cpu_flags() & {"avx512_bf16", "amx_bf16"} else DTYPES[:1]


def measure(folder: Path, dtype: str, threads: int, tokens=TOKENS, rounds=machine.ROUNDS) -> dict:
    peer = AutoModel.from_pretrained(folder, dtype=getattr(torch, dtype), attn_implementation="sdpa").eval()
    ids = torch.randint(0, peer.config.vocab_size, (1, tokens))
    command = [machine.BUILD / "benchmarks" / "forward", folder, str(tokens), "1", "1", "cpu", dtype]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    seconds = {"ropewalk": [], "ropewalk_all": [], "transformers": []}
    with torch.inference_mode():
        peer(ids, use_cache=False)
        for _ in range(rounds):
            ours = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout)
            assert ours["threads"] == threads
            start = time.perf_counter()
            peer(ids, use_cache=False)
            for name, taken in zip(seconds, (ours["with"][0], ours["with_all"][0], time.perf_counter() - start), strict=True):
                seconds[name].append(taken)
    torch.set_num_threads(before)
    row = {
        "dtype": dtype, "threads": threads, "seconds": seconds, "median": {name: statistics.median(times) for name, times in seconds.items()},
        "times_faster": machine.ratio(seconds["transformers"], seconds["ropewalk"]),
        "times_faster_all": machine.ratio(seconds["transformers"], seconds["ropewalk_all"]),
        "floor": arithmetic.floor(peer.config, tokens, threads) if dtype == "float32" else None,
    }  # fmt: skip
    print({key: row[key] for key in ("dtype", "threads", "median", "times_faster", "times_faster_all", "floor")}, flush=True)
    return row


def rows(folder: Path, of_dtypes: list[str], counts: list[int], tokens=TOKENS) -> list[dict]:
    return [measure(folder, dtype, threads, tokens) for dtype in of_dtypes for threads in counts if threads <= os.cpu_count()]


def earlier(result: dict) -> list[dict]:
    """Rows of the same model, machine and versions."""
    path = machine.RESULTS / "cpu_threads.json"
    if not path.exists():
        return []
    found, facts = json.loads(path.read_text()), {**machine.describe(), **result}
    return found["rows"] if all(found.get(key) == facts[key] for key in ("machine", "versions", "model", "tokens")) else []


def main(dtype: str | None = None, *counts: str):
    name, folder = model()
    result = {"model": name, "tokens": TOKENS}
    new = rows(folder, [dtype] if dtype else dtypes(), [int(count) for count in counts] or list(COUNTS))
    measured = {(row["dtype"], row["threads"]): row for row in (*earlier(result), *new)}
    machine.write("cpu_threads", {**result, "rows": sorted(measured.values(), key=lambda row: (DTYPES.index(row["dtype"]), row["threads"]))})
