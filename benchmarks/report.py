"""The report of a run with SmolLM3's size: bytes, time to the first view, main-thread work of each interaction."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import machine


def main() -> None:
    environment = {**os.environ, "ROPEWALK": str(machine.BUILD / "ropewalk")}
    with tempfile.TemporaryDirectory() as folder:
        make = [sys.executable, machine.ROOT / "tests" / "report" / "make_reports.py", folder, "full"]
        subprocess.run(make, check=True, env=environment)
        node = subprocess.run([machine.ROOT / "tools" / "find_node.sh"], capture_output=True, text=True, check=True).stdout.strip()
        drive = [Path(node) / "node", machine.ROOT / "benchmarks" / "report_driver.mjs", Path(folder) / "full" / "report.html"]
        done = subprocess.run(drive, capture_output=True, text=True, check=True, env={**environment, "ROPEWALK_REPORTS": folder})
    measured = json.loads(done.stdout)
    print(f"file        {measured['bytes'] / 1e6:8.2f} MB")
    print(f"first view  {measured['first_view_ms']:8.0f} ms")
    for name, value in measured["main_thread_ms"].items():
        print(f"{name:<32} {value:6.1f} ms")
    machine.write("report", {"run": "36 layers × 16 heads × 10 checkpoints × 10 components, 64 rotary pairs, 24 to 30 distances", "repeats": 5, **measured})


if __name__ == "__main__":
    main()
