"""The demo's last checkpoint at 512, 1,024 and 2,048 tokens of the same documents: which numbers over heads change with the context
alone. Runs experiments/demo-contexts.yaml. Usage: contexts.py"""

import json
import subprocess
import tempfile
from pathlib import Path

import machine

STATISTICS = ("bias_strength", "bias_context", "r2cv_q", "logit_pos_share")


def main():
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run([machine.BUILD / "ropewalk", "run", machine.ROOT / "experiments/demo-contexts.yaml", "--out", temporary, "--format", "json", "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        summary = json.loads((Path(temporary) / "summary.json").read_text())
    keys = [f"mean_{name}" for name in STATISTICS]
    rows = {one["label"]: {key: summary[key][one["label"]] for key in keys} for one in summary["checkpoints"]}
    changes = [{"from": one["from"], "to": one["to"], "paired": one["paired"], **{key: one[key] for key in keys}} for one in summary["differences"]]
    last = summary["checkpoints"][-1]
    machine.write("contexts", {"documents": last["documents"], "heads": summary["heads"][last["label"]]["measured"], "t95": last["t95"],
                               "checkpoints": rows, "differences": changes})  # fmt: skip


if __name__ == "__main__":
    main()
