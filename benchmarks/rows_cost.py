"""What rows of attention cost: time of the forward pass with all that a capture keeps, with and without them, by context. Usage: rows_cost.py [MODEL [DEVICE DTYPE]]"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import machine

model = Path(sys.argv[1]) if len(sys.argv) > 1 else machine.SMOLLM2
device, dtype = sys.argv[2:4] if len(sys.argv) > 3 else ("cpu", "float32")
LENGTHS = {"cpu": ((1024, 10), (4096, 7)), "cuda": ((1024, 10), (4096, 12), (65536, 3))}  # tokens, rounds
NAMES = {"smollm3-shapes": "SmolLM3-3B's shapes", "smollm2-135m": "SmolLM2-135M"}
result = {"model": NAMES.get(model.name, model.name), "device": device, "dtype": dtype, "contexts": {}}
if device == "cuda":
    import gpu_model

    result["gpu"] = gpu_model.describe_gpu()
for tokens, repeats in LENGTHS[device]:
    done = subprocess.run([machine.BUILD / "benchmarks" / "forward", model, str(tokens), str(repeats), "1", device, dtype],
                          stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
    times = json.loads(done.stdout)
    shares = [(a - b) / w for a, b, w in zip(times["with_all"], times["with_all_but_rows"], times["without"])]
    result["contexts"][tokens] = {
        "seconds": times, "share_median": statistics.median(shares),
        "share_of_fastest": (min(times["with_all"]) - min(times["with_all_but_rows"])) / min(times["without"]),
    }  # fmt: skip
    print(f"{tokens} tokens: rows take {100 * result['contexts'][tokens]['share_of_fastest']:.1f} % of the pass (fastest), {100 * statistics.median(shares):.1f} % (median)")
machine.write("rows_cost" if device == "cpu" else "rows_cost_gpu", result)
