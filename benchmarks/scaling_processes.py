"""Several processes under mpirun on one machine: weak scaling with SmolLM2-135M, as many documents for each process, a
thread each; and what joining the moments of SmolLM3-3B's 576 query and 144 key heads takes, for many_gpus.py."""

import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import machine

ROPEWALK = machine.BUILD / "ropewalk"
COUNTS, DOCUMENTS, CONTEXT, REPEATS = (1, 2, 3, 4), 4, 512, 2
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}  # fmt: skip


def capture(root: Path, count: int, model: Path, corpus: Path, context: int) -> tuple[float, str]:
    """Seconds from start to finish, and what it said."""
    out = root / f"out{time.monotonic_ns()}"
    command = ["mpirun", "-n", str(count), ROPEWALK, "capture", model, "--corpus", corpus, "--context", context, "--out", out,
               "--dtype", "float32", "--threads", 1, "--log-level", "debug"]  # fmt: skip
    start = time.perf_counter()
    done = subprocess.run(list(map(str, command)), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    assert done.returncode == 0, done.stderr
    return seconds, done.stderr


def make_model(folder: Path, **shape) -> Path:
    """Random weights; as narrow as heads allow, since only the number of heads and their width matter here."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(vocab_size=512, hidden_size=64, intermediate_size=64, max_position_embeddings=256, **shape)).save_pretrained(folder)
    return folder


def weak_scaling(root: Path) -> list[dict]:
    cores = os.cpu_count()
    vocabulary = json.loads((machine.SMOLLM2 / "config.json").read_text())["vocab_size"]
    times = {count: [] for count in COUNTS}
    for _ in range(REPEATS):
        for count in COUNTS:
            corpus = machine.write_corpus(root / f"{count}.jsonl", DOCUMENTS * count, CONTEXT, vocabulary)
            times[count].append(capture(root, count, machine.SMOLLM2, corpus, CONTEXT)[0])
            print(count, times[count][-1], flush=True)
    alone = statistics.median(times[1])
    rows = []
    for count in COUNTS:
        median = statistics.median(times[count])
        ideal = alone * max(1, count / cores)  # with more processes than cores, they take turns
        rows.append({"processes": count, "documents": DOCUMENTS * count, "seconds": times[count], "median_seconds": median,
                     "seconds_with_perfect_scaling": ideal, "efficiency": ideal / median})  # fmt: skip
    return rows


def joining(root: Path) -> dict:
    """Moments of SmolLM3-3B's heads, in two processes."""
    heads = make_model(root / "heads", num_hidden_layers=36, num_attention_heads=16, num_key_value_heads=4, head_dim=128)
    corpus = machine.write_corpus(root / "heads.jsonl", 32, 256, 512)
    seconds = []
    for _ in range(REPEATS):
        said = capture(root, 2, heads, corpus, 256)[1]
        size, join = re.search(r"processes, (\d+) bytes each, joined in ([\d.]+) s", said).groups()
        seconds.append(float(join))
        print(seconds[-1], flush=True)
    return {"processes": 2, "heads": "SmolLM3-3B's: 36 layers of 16 query and 4 key heads of 128 dimensions, 16 blocks",
            "bytes_a_process": int(size), "seconds": seconds, "median_seconds": statistics.median(seconds)}  # fmt: skip


def main():
    mpi = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    with tempfile.TemporaryDirectory() as temporary:
        join = joining(Path(temporary))
        rows = weak_scaling(Path(temporary))
    machine.write("processes", {
        "mpi": mpi, "cores": os.cpu_count(), "threads_a_process": 1, "model": machine.SMOLLM2.name, "dtype": "float32",
        "tokens_a_document": CONTEXT, "documents_a_process": DOCUMENTS, "weak_scaling": rows, "join": join})  # fmt: skip


if __name__ == "__main__":
    main()
