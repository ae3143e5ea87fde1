"""On a GPU, from a checkpoint of SmolLM3-3B's shapes on disk to the table of heads, 64 documents of 4,096 tokens: Ropewalk
on every token, against the script one would write with transformers, hooks and scikit-learn on 16 sampled tokens a
document. Both from process start to finish, the file cache cold. Usage: gpu_end_to_end.py [FOLDER FOR THE MODEL]"""

import statistics
import sys

import gpu_runs
import machine
from gpu_runs import CONTEXT
from script import SAMPLES


def main():
    runs = {"ropewalk": [], "peer": []}
    with gpu_runs.setting() as (root, model, corpus):
        for i in range(machine.ROUNDS):
            out = root / f"out{i}"
            analyze = [gpu_runs.ROPEWALK, "analyze", out, "--out", out / "tables", "--quiet"]
            runs["ropewalk"].append(gpu_runs.seconds(model, gpu_runs.capture(model, corpus, out), analyze))
            runs["peer"].append(gpu_runs.seconds(model, [sys.executable, machine.ROOT / "benchmarks" / "script.py", corpus, CONTEXT, "cuda", "bfloat16", root / "script", model]))
            print(runs["ropewalk"][-1], runs["peer"][-1], flush=True)
    result = {**gpu_runs.describe(), "tokens_used_a_document": {"ropewalk": CONTEXT, "peer": SAMPLES}}
    for name, times in runs.items():
        result[name] = {"seconds": times, "median_seconds": statistics.median(map(sum, times))}
    result["times_faster"] = machine.ratio(*(list(map(sum, runs[name])) for name in ("peer", "ropewalk")))
    machine.write("gpu_end_to_end", result)
    print(f"{result['times_faster']['median']:.2f} times faster")


if __name__ == "__main__":
    main()
