"""What hashing every byte of the weights adds to a capture whose files are not in the file cache: captures that have to hash,
and captures that remember the hashes of an earlier run, in turn. Usage: weights_hash.py [FOLDER FOR THE MODEL]"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gpu_model
import machine
from gpu_end_to_end import CONTEXT, DOCUMENTS, forget

ROUNDS = 5


def main():
    ropewalk = machine.BUILD / "ropewalk"
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        model = gpu_model.make(Path(sys.argv[1]) if len(sys.argv) > 1 else root / "smollm3-shapes")
        corpus = root / "tokens.jsonl"
        gpu_model.write_corpus(corpus, DOCUMENTS, CONTEXT)
        time.sleep(3)  # files that were written moments ago are not remembered

        def capture(name, memory):
            forget(model)
            start = time.perf_counter()
            subprocess.run([ropewalk, "capture", model, "--corpus", corpus, "--context", str(CONTEXT), "--out", root / name,
                            "--device", "cuda", "--quiet"], check=True, env={**os.environ, "ROPEWALK_CACHE": str(memory)})  # fmt: skip
            return time.perf_counter() - start

        capture("first", root / "remembered")
        assert list((root / "remembered" / "weights").iterdir()), "the hashes were not remembered"
        seconds = {"hashed": [], "remembered": []}
        for i in range(ROUNDS):
            seconds["hashed"].append(capture(f"hashed{i}", root / f"empty{i}"))
            seconds["remembered"].append(capture(f"remembered{i}", root / "remembered"))
            print({name: times[-1] for name, times in seconds.items()}, flush=True)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    result = {"gpu": gpu_model.describe_gpu(), "model": "SmolLM3-3B's shapes, random weights", "documents": DOCUMENTS, "tokens": CONTEXT,
              "seconds": seconds, "median_seconds": medians, "hashing_adds": medians["hashed"] / medians["remembered"] - 1}  # fmt: skip
    machine.write("weights_hash", result)
    print(f"hashing adds {100 * result['hashing_adds']:.1f} %")


if __name__ == "__main__":
    main()
