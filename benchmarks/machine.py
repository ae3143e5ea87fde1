"""Where and when a number was measured; every result file carries this."""

import datetime
import json
import math
import os
import platform
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
BUILD = ROOT / "build"
SMOLLM2 = ROOT / ".cache" / "smollm2-135m"  # made by tools/make_smollm2.py


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def cpu_flags() -> set[str]:
    """What /proc/cpuinfo says the processor can do."""
    lines = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")]
    return set(lines[0].split(":", 1)[1].split()) if lines else set()


def describe() -> dict:
    import torch
    import transformers

    version = subprocess.run([BUILD / "ropewalk", "--version"], capture_output=True, text=True).stdout.strip()
    return {
        "machine": {"cpu": cpu_name(), "cores": os.cpu_count(), "system": platform.platform()},
        "versions": {"ropewalk": version, "torch": torch.__version__, "transformers": transformers.__version__},
        "date": datetime.date.today().isoformat(),
    }


ROUNDS = 5  # at least; the median of fewer has no interval


def ratio(numerators: list[float], denominators: list[float]) -> dict:
    """Of measurements made in turn: the median of their ratios round by round, and an interval that holds the true median in 19 of 20 cases (of five
    rounds, in 15 of 16)."""
    ratios = sorted(a / b for a, b in zip(numerators, denominators, strict=True))
    count = len(ratios)
    if count < ROUNDS:
        raise SystemExit(f"{count} rounds; expected {ROUNDS} at least: fewer have no interval")
    outside = max((k for k in range(count // 2) if 2 * sum(math.comb(count, i) for i in range(k + 1)) <= 0.05 * 2**count), default=0)
    return {"median": statistics.median(ratios), "low": ratios[outside], "high": ratios[count - 1 - outside], "rounds": count}


def forget(files) -> None:
    """They leave the file cache."""
    os.sync()
    for path in files:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write_corpus(path: Path, documents: int, tokens: int, vocabulary: int) -> Path:
    path.write_text("".join(json.dumps({"tokens": [(7 * i + j * j) % vocabulary for j in range(tokens)]}) + "\n" for i in range(documents)))
    return path


def write(name: str, result: dict) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({**describe(), **result}, indent=1) + "\n")
    print(f"wrote {path.relative_to(ROOT)}")
