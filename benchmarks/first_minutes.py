"""What a newcomer waits for: set-up, the program, the demo, and all tests, on a fresh clone without a compiler's cache. System packages are there already, and
pip may have its packages in a cache. Usage: first_minutes.py [FOLDER]"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine


def seconds(words, clone: Path) -> float:
    start = time.perf_counter()
    done = subprocess.run(words, cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "CCACHE_DISABLE": "1"})
    passed = time.perf_counter() - start
    if done.returncode != 0:
        raise SystemExit(f"{words}: failed\n{done.stdout[-20000:]}")
    print(*words, f"{passed:.0f} s", flush=True)
    return passed


def main():
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as temporary:
        clone = Path(temporary) / "ropewalk"
        subprocess.run(["git", "clone", "--quiet", machine.ROOT, clone], check=True)
        made = {target: seconds(["make", target], clone) for target in ("setup", "build", "demo", "test")}
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=clone, capture_output=True, text=True, check=True).stdout.strip()
    made["clone_to_figures"] = made["setup"] + made["build"] + made["demo"]
    made["clone_to_tests"] = made["clone_to_figures"] + made["test"]
    machine.write("first_minutes", {"commit": commit, "seconds": made})


if __name__ == "__main__":
    main()
