"""What tokens and figures by the companion cost. Usage: tokens.py OLD NEW [ROUNDS]: two programs in turn, the one before and the one after;
tokens.py NEW [ROUNDS]: that one alone. The demo from start to end, and captures of 64 documents: of corpora of 50 and 500 MB of text, and of the
same tokens, which need no companion. Seconds, processor seconds, bytes read with `read` and the like, and the most memory. All of them count
the companion too: of the bytes, its libraries, what it is sent and what it answers. `corpus_bytes` are those of the corpus that were read, in whole pages of
the system's cache."""

import ctypes
import itertools
import json
import mmap
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine

DOCUMENTS, CONTEXT = 64, 512
DEMO = machine.ROOT / "data" / "demo"
WORDS = "the of and to in is it that was for on with as his he be at by this had not are but from or have an they which".split()


def observed(command):
    start = time.perf_counter()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # what it did can still be read
    seconds = time.perf_counter() - start
    counts = dict(line.split(": ") for line in Path(f"/proc/{process.pid}/io").read_text().splitlines())
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{command}: {said}")
    return {"seconds": seconds, "processor_seconds": usage.ru_utime + usage.ru_stime, "read_bytes": int(counts["rchar"]), "peak_bytes": usage.ru_maxrss << 10}


def cached(path):
    """Bytes of a file that the system's cache holds."""
    size = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as view:
        pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        first = ctypes.c_char.from_buffer(view)
        failed = ctypes.CDLL(None, use_errno=True).mincore(ctypes.byref(first), ctypes.c_size_t(size), pages)
        del first  # or the view cannot be closed
        if failed:
            raise OSError(ctypes.get_errno(), "mincore")
    return mmap.PAGESIZE * sum(page & 1 for page in pages)


def write_tokens(path, texts):
    """The documents that a capture takes of a corpus of texts, as ids."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(DEMO / "tokenizer.json"))
    with texts.open() as file, path.open("w") as out:
        for line in itertools.islice(file, DOCUMENTS):
            out.write(json.dumps({"tokens": tokenizer.encode(json.loads(line)["text"]).ids[:CONTEXT]}) + "\n")


def write_corpus(path, size):
    chooser = random.Random(size)
    with path.open("w") as file:
        while file.tell() < size:
            file.write(json.dumps({"text": " ".join(chooser.choices(WORDS, k=4000))}) + "\n")


def main():
    given = [word for word in sys.argv[1:] if not word.isdigit()]
    programs = dict(zip(("old", "new") if len(given) > 1 else ("new",), given))
    rounds = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 3
    runs = {}
    with tempfile.TemporaryDirectory() as temporary:
        temporary = Path(temporary)
        for size in (50, 500):
            write_corpus(temporary / f"{size}.jsonl", size * 10**6)
        write_tokens(temporary / "tokens.jsonl", temporary / "50.jsonl")
        corpora = {"capture_50_MB": temporary / "50.jsonl", "capture_500_MB": temporary / "500.jsonl", "capture_tokens": temporary / "tokens.jsonl"}
        commands = {name: ["capture", DEMO / "S1-56", "--corpus", corpus, "--tokenizer", DEMO / "tokenizer.json",
                           "--context", CONTEXT, "--documents", DOCUMENTS, "--quiet"] for name, corpus in corpora.items()}  # fmt: skip
        commands["demo"] = ["run", machine.ROOT / "experiments/demo.yaml", "--quiet"]
        for i in range(rounds):
            for name, words in commands.items():
                for side in programs if i % 2 == 0 else reversed(programs):
                    if name in corpora:
                        machine.forget([corpora[name]])
                    run = observed([programs[side], *words, "--out", temporary / f"{name}{side}{i}"])
                    if name in corpora:
                        run["corpus_bytes"] = cached(corpora[name])
                    runs.setdefault(name, {}).setdefault(side, []).append(run)
                    print(name, side, run, flush=True)
        made = json.loads((temporary / f"demonew{rounds - 1}" / "manifest.json").read_text())
    median = {name: {side: {key: statistics.median(run[key] for run in some) for key in some[0]} for side, some in sides.items()} for name, sides in runs.items()}
    machine.write("tokens" if len(programs) > 1 else "tokens_cost", {"runs": runs, "median": median, "demo_seconds_of_stages": made.get("seconds")})


if __name__ == "__main__":
    main()
