"""What the demo's training does to its heads, beside fresh weights: numbers of docs/demo.md. Runs experiments/demo.yaml. Usage: demo.py"""

import csv
import json
import subprocess
import tempfile
from pathlib import Path

import machine

STATISTICS = ("r2cv_q", "r2cv_k", "logit_pos_share", "pc0_offset")
HIGH = 0.7


def main():
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run([machine.BUILD / "ropewalk", "run", machine.ROOT / "experiments/demo.yaml", "--out", temporary, "--format", "json", "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        summary = json.loads((Path(temporary) / "summary.json").read_text())
        with (Path(temporary) / "qk.csv").open(newline="") as file:
            pc0 = [row for row in csv.DictReader(file) if row["pc"] == "0"]
        with (Path(temporary) / "changes.csv").open(newline="") as file:
            steps = [row["changed"] == "1" for row in csv.DictReader(file) if row["kind"] == "step"]
    checkpoints = [{"label": one["label"], "high_r_q": sum(row["checkpoint"] == one["label"] and float(row["r_q"]) > HIGH for row in pc0),
                    "means": {name: summary[f"mean_{name}"][one["label"]] for name in STATISTICS}} for one in summary["checkpoints"]]  # fmt: skip
    heads = summary["heads"][checkpoints[-1]["label"]]["measured"]
    machine.write("demo", {"documents": summary["checkpoints"][-1]["documents"], "heads": heads, "high": HIGH, "checkpoints": checkpoints,
                           "changed_share_of_steps": sum(steps) / len(steps)})  # fmt: skip


if __name__ == "__main__":
    main()
