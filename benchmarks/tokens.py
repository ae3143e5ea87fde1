"""What tokens and figures by the companion cost: two programs in turn, the one before and the one after.
Usage: tokens.py OLD NEW [ROUNDS]. The demo from start to end, and a capture of 64 documents of corpora of 50 and 500 MB:
seconds, bytes that the program read, and the most memory that it and its child held."""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine

DEMO = machine.ROOT / "data" / "demo"
WORDS = "the of and to in is it that was for on with as his he be at by this had not are but from or have an they which".split()


def observed(command):
    """Seconds, bytes read with `read` and the like, and peak memory of the program and of its children."""
    start = time.perf_counter()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # what it did can still be read
    seconds = time.perf_counter() - start
    counts = dict(line.split(": ") for line in Path(f"/proc/{process.pid}/io").read_text().splitlines())
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{command}: {said}")
    return {"seconds": seconds, "read_bytes": int(counts["rchar"]), "peak_bytes": usage.ru_maxrss << 10}


def write_corpus(path, size):
    chooser = random.Random(size)
    with path.open("w") as file:
        while file.tell() < size:
            file.write(json.dumps({"text": " ".join(chooser.choices(WORDS, k=4000))}) + "\n")


def main():
    programs = {"old": sys.argv[1], "new": sys.argv[2]}
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    runs = {}
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        for size in (50, 500):
            write_corpus(place / f"{size}.jsonl", size * 10**6)
        commands = {f"capture_{size}_MB": ["capture", DEMO / "S1-56", "--corpus", place / f"{size}.jsonl", "--tokenizer", DEMO / "tokenizer.json",
                                           "--context", 512, "--documents", 64, "--quiet"] for size in (50, 500)}  # fmt: skip
        commands["demo"] = ["run", machine.ROOT / "experiments/demo.yaml", "--quiet"]
        for i in range(rounds):
            for name, words in commands.items():
                for side in ("old", "new") if i % 2 == 0 else ("new", "old"):
                    run = observed([programs[side], *words, "--out", place / f"{name}{side}{i}"])
                    runs.setdefault(name, {}).setdefault(side, []).append(run)
                    print(name, side, run, flush=True)
        made = json.loads((place / f"demonew{rounds - 1}" / "manifest.json").read_text())
    median = {name: {side: {key: statistics.median(run[key] for run in some) for key in some[0]} for side, some in sides.items()} for name, sides in runs.items()}
    machine.write("tokens", {"runs": runs, "median": median, "demo_seconds_of_stages": made.get("seconds")})


if __name__ == "__main__":
    main()
