"""Draws the demo's pictures of docs into docs/images, with the program that `make build` makes.
Usage: draw_images.py [RUN]. RUN is a finished folder of `ropewalk demo`; without it, the demo is run."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
# By the name of the picture, without demo_: the figure's own name.
PICTURES = {
    **{name: name for name in ("position_signal", "how_positional", "phase_portraits", "pc0_composition", "drift_bias", "bands", "distance", "loss")},
    "within": "portrait_within_r_q_within_r_k",
    "r2_pc2_k": "over_training_r2_pc2_k",
    "r_k_run": "over_training_r_k_run",
    "rank90_k": "by_depth_rank90_k",
}
ASKED = ["--statistic", "r2_pc2_k,r_k_run,rank90_k", "--portrait", "within_r_q,within_r_k"]


def main() -> None:
    ropewalk = ROOT / "build" / "ropewalk"
    with tempfile.TemporaryDirectory() as temporary:
        run = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary) / "demo"
        if not (run / "qk.csv").exists():
            subprocess.run([ropewalk, "demo", "--out", run, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        out = Path(temporary) / "figures"
        experiment = ROOT / "experiments" / "demo.yaml"
        subprocess.run([ropewalk, "figures", run, "--out", out, "--experiment", experiment, "--format", "png", "--quiet", *ASKED], check=True)
        for picture, figure in PICTURES.items():
            shutil.copy(out / f"{figure}.png", IMAGES / f"demo_{picture}.png")


if __name__ == "__main__":
    main()
