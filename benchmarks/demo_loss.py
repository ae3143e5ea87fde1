"""What `loss: true` adds to the demo: whole runs of experiments/demo.yaml with it and without, in turn. Writes demo_loss.json. Usage: demo_loss.py [ROUNDS]"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine

EXPERIMENT = machine.ROOT / "experiments" / "demo.yaml"


def seconds(experiment: Path, out: Path) -> float:
    start = time.perf_counter()
    subprocess.run([machine.BUILD / "ropewalk", "run", experiment, "--out", out, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main(rounds=machine.ROUNDS):
    text = EXPERIMENT.read_text().replace("../data", str(machine.ROOT / "data"))
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, one in {"with_loss": text, "without": text.replace("loss: true\n", "")}.items():
            files[name] = Path(folder) / f"{name}.yaml"
            files[name].write_text(one)
        assert files["with_loss"].read_text() != files["without"].read_text()
        found = {name: [] for name in files}
        for turn in range(rounds):
            for name, file in files.items():
                found[name].append(seconds(file, Path(folder) / f"{name}-{turn}"))
            print({name: round(times[-1], 2) for name, times in found.items()}, flush=True)
    machine.write("demo_loss", {"seconds": found, "times_longer": machine.ratio(found["with_loss"], found["without"])})


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
