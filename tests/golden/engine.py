"""Runs the program under test and reads what it writes."""

import ctypes
import dataclasses
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import fork_server
import numpy as np
import pyarrow.parquet as parquet
import safetensors
import safetensors.numpy

# A child's peak memory starts at its parent's, so a process as large as pytest with torch cannot
# measure it: this small one in between can.
_MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
open(sys.argv[1], "w").write(str(usage.ru_maxrss * 1024))
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""


@dataclasses.dataclass
class Result:
    code: int  # negative: killed by that signal
    stdout: str
    stderr: str


def program() -> str:
    return os.environ["ROPEWALK"]


def limit_files(size: int):
    """For `before`: writing past `size` bytes of a file fails, as on a full disk."""

    def apply():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return apply


def without_privileges():
    """For `before`: even root heeds permissions then."""
    if os.geteuid() != 0:
        return
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH; 24: PR_CAPBSET_DROP
        if ctypes.CDLL(None, use_errno=True).prctl(24, capability, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def run(*arguments, before=None, environment=None, timeout=120) -> Result:
    command, environment = [program(), *map(str, arguments)], {**os.environ, **(environment or {})}
    served = None if before else fork_server.run(command, environment, timeout)
    if served is None:
        done = subprocess.run(command, capture_output=True, timeout=timeout, preexec_fn=before, env=environment, stdin=subprocess.DEVNULL)
        served = done.returncode, done.stdout, done.stderr
    code, out, error = served
    return Result(code, out.decode(), error.decode())


def kill_after(seconds: float, *arguments):
    """Starts the program and kills it after that time, where it still runs."""
    process = subprocess.Popen([program(), *map(str, arguments)])
    time.sleep(seconds)
    process.kill()
    process.wait()


def peak_memory(note: Path, *arguments) -> int:
    """Runs the program, which must succeed; returns the most memory it held at once, in bytes."""
    command = [sys.executable, "-I", "-S", "-c", _MEASURE, str(note), program(), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return int(note.read_text())


def capture(model: Path, corpus: Path, out: Path, *options, context, dtype="float32") -> Path:
    result = run("capture", model, "--corpus", corpus, "--out", out, "--context", context, "--min-tokens", 1,
                 "--vectors", "all", "--dtype", dtype, "--quiet", *options)  # fmt: skip
    assert result.code == 0, result.stderr
    assert result.stderr == "", "--quiet leaves nothing to say"
    return out


def read_table(out: Path, layer: int, head: int, kind: str):
    return parquet.read_table(out / "vectors" / f"l{layer:02}h{head:02}{kind}" / "data.parquet")


def read_stream(out: Path, layer: int, head: int, kind: str):
    """{document id: float32 array [T, d]}, in order of position."""
    table = read_table(out, layer, head, kind)
    ids, positions = table["example_id"].to_numpy(), table["position"].to_numpy()
    vectors = table["vector"].combine_chunks().flatten().to_numpy().reshape(len(table), -1)
    documents = {}
    for document in dict.fromkeys(ids.tolist()):
        rows = np.flatnonzero(ids == document)
        rows = rows[np.argsort(positions[rows], kind="stable")]
        assert positions[rows].tolist() == list(range(len(rows))), "every position once"
        documents[document] = vectors[rows]
    return documents


def read_streams(out: Path):
    """{(layer, head, kind): {document id: array}} of all streams."""
    streams = {}
    for folder in sorted((out / "vectors").iterdir()):
        layer, head, kind = re.fullmatch(r"l(\d+)h(\d+)([qk])", folder.name).groups()
        streams[int(layer), int(head), kind] = read_stream(out, int(layer), int(head), kind)
    return streams


def repository() -> Path:
    return Path(__file__).resolve().parents[2]
