"""What SmolLM2-135M needs of its heads: the second study of `make smollm2`, and the rows of its ablate.csv. Draws the documents' picture too."""

import csv
import shutil
import subprocess

import machine

NUMBERS = ("loss", "dloss", "dloss_se", "kl", "control", "control_sd", "p", "p_t", "removal", "removal_se", "of_removal", "of_removal_se",
           "of_removal_control", "of_removal_control_low", "of_removal_control_high", "overlap", "overlap_chance")  # fmt: skip
WHOLE = ("heads", "controls", "control_moved", "documents", "tokens", "real")


def main():
    folder = machine.ROOT / "out" / "smollm2-135m-ablate"
    subprocess.run([machine.BUILD / "ropewalk", "run", machine.ROOT / "experiments" / "smollm2-135m-ablate.yaml", "--out", folder, "--format", "png"], check=True)
    with (folder / "ablate.csv").open() as file:
        rows = list(csv.DictReader(file))
    result = []
    for row in rows:
        numbers = {key: float(row[key]) if row[key] else None for key in NUMBERS}
        result.append({key: row[key] for key in ("set", "edit", "flag")} | numbers | {key: int(row[key]) if row[key] else None for key in WHOLE})
    shutil.copy(folder / "figures" / "ablate.png", machine.ROOT / "docs" / "images" / "smollm2_ablate.png")
    machine.write("smollm2_ablate", {"rows": result})


if __name__ == "__main__":
    main()
