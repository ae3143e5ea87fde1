"""What accumulating moments costs: time of the forward pass with and without, and memory against documents."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import machine

sys.path.insert(0, str(machine.ROOT / "tests" / "golden"))
os.environ.setdefault("ROPEWALK", str(machine.BUILD / "ropewalk"))

import engine  # noqa: E402

model = Path(sys.argv[1]) if len(sys.argv) > 1 else machine.SMOLLM2
tokens, repeats = 4096, 10
done = subprocess.run([machine.BUILD / "benchmarks" / "forward", model, str(tokens), str(repeats), "1", "cpu", "float32"],
                      stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
times = json.loads(done.stdout)
ratios = [w / wo for w, wo in zip(times["with"], times["without"])]
result = {"model": model.name, "tokens": tokens, "seconds": times, "ratio_median": statistics.median(ratios), "ratios": ratios,
          "ratio_of_fastest": min(times["with"]) / min(times["without"])}  # fmt: skip

with tempfile.TemporaryDirectory() as temporary:
    root = Path(temporary)
    vocabulary = json.loads((model / "config.json").read_text())["vocab_size"]
    result["peak_memory_bytes"] = {}
    for documents in (10, 100):
        corpus = machine.write_corpus(root / f"{documents}.jsonl", documents, 256, vocabulary)
        # One document's hidden states at a time and all blocks in use, so that only the moments could grow.
        result["peak_memory_bytes"][documents] = engine.peak_memory(
            root / "note", "capture", model, "--corpus", corpus, "--out", root / f"out{documents}", "--context", 256,
            "--dtype", "float32", "--quiet", "--blocks", 8, "--memory", "650MiB")  # fmt: skip
machine.write("moments_cost", result)
print(f"with moments / without: {result['ratio_median']:.3f} (median), {result['ratio_of_fastest']:.3f} (fastest); peak memory {result['peak_memory_bytes']}")
