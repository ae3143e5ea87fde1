"""Where and when a number was measured; every result file carries this."""

import datetime
import json
import os
import platform
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


def describe() -> dict:
    import torch
    import transformers

    version = subprocess.run([BUILD / "ropewalk", "--version"], capture_output=True, text=True).stdout.strip()
    return {
        "machine": {"cpu": cpu_name(), "cores": os.cpu_count(), "system": platform.platform()},
        "versions": {"ropewalk": version, "torch": torch.__version__, "transformers": transformers.__version__},
        "date": datetime.date.today().isoformat(),
    }


def write_corpus(path: Path, documents: int, tokens: int, vocabulary: int) -> Path:
    path.write_text("".join(json.dumps({"tokens": [(7 * i + j * j) % vocabulary for j in range(tokens)]}) + "\n" for i in range(documents)))
    return path


def write(name: str, result: dict) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({**describe(), **result}, indent=1) + "\n")
    print(f"wrote {path.relative_to(ROOT)}")
