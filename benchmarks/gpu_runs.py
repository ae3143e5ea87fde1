"""The program as a process, on the model of gpu_model.py, with the file cache cold. Used by gpu_end_to_end.py and
weights_hash.py."""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import machine

DOCUMENTS, CONTEXT = 64, 4096
ROPEWALK = machine.BUILD / "ropewalk"


@contextmanager
def setting():
    """A folder for results, the model (kept where the command line names a folder) and a corpus."""
    import gpu_model

    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        model = gpu_model.make(Path(sys.argv[1]) if len(sys.argv) > 1 else root / "smollm3-shapes")
        corpus = root / "tokens.jsonl"
        gpu_model.write_corpus(corpus, DOCUMENTS, CONTEXT)
        yield root, model, corpus


def describe():
    import gpu_model

    return {"gpu": gpu_model.describe_gpu(), "model": "SmolLM3-3B's shapes, random weights", "documents": DOCUMENTS, "tokens": CONTEXT}


def capture(model: Path, corpus: Path, out: Path) -> list:
    return [ROPEWALK, "capture", model, "--corpus", corpus, "--context", CONTEXT, "--out", out, "--device", "cuda", "--quiet"]


def seconds(folder: Path, *commands, **environment) -> list[float]:
    """Of each command, after the folder's files have left the file cache."""
    machine.forget(folder.iterdir())
    times = []
    for command in commands:
        start = time.perf_counter()
        subprocess.run(list(map(str, command)), check=True, env={**os.environ, **environment})
        times.append(time.perf_counter() - start)
    return times
