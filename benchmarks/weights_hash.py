"""What hashing every byte of the weights adds to a capture whose files are not in the file cache: captures that have to hash,
and captures that remember the hashes of an earlier run, in turn. Usage: weights_hash.py [FOLDER FOR THE MODEL]"""

import statistics
import time

import gpu_runs
import machine

ROUNDS = 5


def main():
    with gpu_runs.setting() as (root, model, corpus):
        time.sleep(3)  # files that were written moments ago are not remembered

        def capture(name, memory):
            return gpu_runs.seconds(model, gpu_runs.capture(model, corpus, root / name), ROPEWALK_CACHE=str(memory))[0]

        capture("first", root / "remembered")
        assert list((root / "remembered" / "weights").iterdir()), "the hashes were not remembered"
        seconds = {"hashed": [], "remembered": []}
        for i in range(ROUNDS):
            seconds["hashed"].append(capture(f"hashed{i}", root / f"empty{i}"))
            seconds["remembered"].append(capture(f"remembered{i}", root / "remembered"))
            print({name: times[-1] for name, times in seconds.items()}, flush=True)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    result = {**gpu_runs.describe(), "seconds": seconds, "median_seconds": medians,
              "hashing_adds": medians["hashed"] / medians["remembered"] - 1}  # fmt: skip
    machine.write("weights_hash", result)
    print(f"hashing adds {100 * result['hashing_adds']:.1f} %")


if __name__ == "__main__":
    main()
