"""On a GPU, with SmolLM3-3B's shapes: the forward pass with the moments of every token of every head, against its own
matrix products and attention (the floor) and against transformers. Usage: gpu.py [FOLDER FOR THE MODEL]"""

import gc
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import gpu_model
import machine
import torch

LENGTHS = {4096: (10, 8), 32768: (5, 2), 65536: (5, 1)}  # tokens: repeats, documents at a time
SMALL = "2GiB"  # for a model of 6 GB


def ours(folder: Path, tokens: int, pairs: int, size: int, *memory) -> dict:
    command = [machine.BUILD / "benchmarks" / "forward", folder, str(tokens), str(pairs), str(size), "cuda", "bfloat16", *memory]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def our_memory(folder: Path, tokens: int, documents: int) -> int:
    """Peak GPU memory of a capture of every token of these documents."""
    with tempfile.TemporaryDirectory() as temporary:
        corpus = Path(temporary) / "tokens.jsonl"
        gpu_model.write_corpus(corpus, documents, tokens)
        command = [machine.BUILD / "ropewalk", "capture", folder, "--corpus", corpus, "--context", str(tokens), "--out", Path(temporary) / "out",
                   "--device", "cuda", "--log-level", "debug"]  # fmt: skip
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True)
        return int(re.search(r"GPU memory: (\d+) bytes", done.stderr).group(1))


def theirs(model, tokens: int, repeats: int, attention="sdpa") -> tuple[list, int]:
    """Milliseconds of each forward pass, and the peak GPU memory of all together."""
    model.set_attn_implementation(attention)
    ids = torch.randint(0, model.config.vocab_size, (1, tokens), device="cuda")
    free()
    torch.cuda.reset_peak_memory_stats()
    with torch.inference_mode():
        times = gpu_model.milliseconds(lambda: model(ids, use_cache=False), repeats)
    return times, torch.cuda.max_memory_allocated()


def free():
    gc.collect()
    torch.cuda.empty_cache()


def bus_bytes_a_second() -> float:
    """Of the best copy of a gigabyte out of pinned memory."""
    host, gpu = torch.empty(1 << 30, dtype=torch.uint8, pin_memory=True), torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    return host.nbytes * 1000 / min(gpu_model.milliseconds(lambda: gpu.copy_(host, non_blocking=True), 5))


def streamed(folder: Path, model, tokens=4096, pairs=2, size=16) -> dict:
    """Groups of documents through a model that the memory given does not hold, against what limits them."""
    weights = sum(p.nbytes for layer in model.layers for p in layer.parameters())
    bus = weights / bus_bytes_a_second()
    kept, short = (statistics.median(ours(folder, tokens, pairs, size, *memory)["with"]) * size for memory in ((), (SMALL,)))
    return {"memory": SMALL, "tokens": tokens, "documents_at_a_time": size, "weights_bytes": weights,
            "seconds_a_group": {"streamed": short, "kept": kept, "bus": bus}, "times_the_limit": short / max(kept, bus)}  # fmt: skip


def measure(folder: Path, model, tokens: int, repeats: int, size: int) -> dict:
    with torch.inference_mode():
        floor_model = gpu_model.Floor(model)
        step, needed_step = floor_model.step(tokens), floor_model.step(tokens, needed=True)
        floor = gpu_model.milliseconds(step, repeats)
        needed = gpu_model.milliseconds(needed_step, repeats)
        run = ours(folder, tokens, repeats, size)
        floor += gpu_model.milliseconds(step, repeats)
    del step, needed_step, floor_model
    plain, _ = theirs(model, tokens, repeats)
    kept = []
    positions = sorted(random.Random(0).sample(range(tokens), 16))
    gpu_model.capturing_attention("some_tokens", kept, torch.tensor(positions, device="cuda"))
    sampled, _ = theirs(model, tokens, repeats, "some_tokens")
    kept.clear()
    gpu_model.capturing_attention("all_tokens", kept, None)
    _, all_memory = theirs(model, tokens, size - 1, "all_tokens")  # after a first one to warm up
    kept.clear()
    free()
    memory = our_memory(folder, tokens, size)
    row = {
        "tokens": tokens,
        "milliseconds": {
            "floor": gpu_model.summary(floor), "floor_of_what_is_needed": gpu_model.summary(needed),
            "ropewalk": gpu_model.summary([1000 * s for s in run["with"]]),
            "ropewalk_without_moments": gpu_model.summary([1000 * s for s in run["without"]]),
            "ropewalk_all": gpu_model.summary([1000 * s for s in run["with_all"]]),
            "transformers": gpu_model.summary(plain), "transformers_sampling_16_tokens": gpu_model.summary(sampled),
        },
        "every_token_kept_or_measured": {"documents": size, "peak_gpu_bytes": {"ropewalk": memory, "transformers": all_memory}},
    }  # fmt: skip
    median = {name: times["median"] for name, times in row["milliseconds"].items()}
    row["times_the_floor"] = median["ropewalk"] / median["floor"]
    row["times_the_floor_of_what_is_needed"] = median["ropewalk"] / median["floor_of_what_is_needed"]
    row["moments_share"] = median["ropewalk"] / median["ropewalk_without_moments"] - 1
    row["others_share"] = (median["ropewalk_all"] - median["ropewalk"]) / median["ropewalk_without_moments"]
    row["faster_than_transformers"] = median["transformers"] / median["ropewalk"]
    row["faster_than_sampling"] = median["transformers_sampling_16_tokens"] / median["ropewalk"]
    row["memory_share"] = memory / all_memory
    print(json.dumps({k: v for k, v in row.items() if k != "milliseconds"}), json.dumps(median), flush=True)
    return row


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = gpu_model.make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary) / "smollm3-shapes")
        model = gpu_model.load(folder)
        result = {"gpu": gpu_model.describe_gpu(), "model": "SmolLM3-3B's shapes, random weights", "dtype": "bfloat16"}
        result["streaming"] = streamed(folder, model)
        result["lengths"] = []
        for tokens, (repeats, size) in LENGTHS.items():
            result["lengths"].append(measure(folder, model, tokens, repeats, size))
            machine.write("gpu", result)  # what is done is done


if __name__ == "__main__":
    main()
