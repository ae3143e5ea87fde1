"""How well `ropewalk forecast` ranks RoPE settings: the demo's model at two and four times its trained length, its forecast and its measured loss under fixed settings.

The capture reads one half of the demo's evaluation texts, losses are of the other half.
"""

import csv
import subprocess
import tempfile
from pathlib import Path

import machine

CHECKPOINT, TRAINED, CONTEXTS = "S3-6.608K", 512, (1024, 2048)
SETTINGS = [
    "none", "nope", *(f"theta:x{factor}" for factor in (2, 4, 8, 16, 40, 100, 1000)), *(f"linear:{factor}" for factor in (2, 4, 8)),
    *(f"yarn:{factor}" for factor in (2, 4, 8, 16)),
]  # fmt: skip


def run(*words):
    subprocess.run([machine.BUILD / "ropewalk", *map(str, words), "--quiet"], check=True, stdout=subprocess.DEVNULL)


def numbers(row: dict, keys) -> dict:
    return {key: float(row[key]) if row[key] else None for key in keys}


def read(path: Path) -> list[dict]:
    with path.open() as file:
        return list(csv.DictReader(file))


def forecast(capture: Path, corpus: Path, context: int, out: Path) -> dict:
    run("forecast", capture, "--context", context, "--trained", TRAINED, *(f"--rope={one}" for one in SETTINGS),
        "--check", "--corpus", corpus, "--out", out, "--format", "json")  # fmt: skip
    losses = {row["setting"]: row for row in read(out / "forecast_loss.csv") if not row["position"]}
    settings = []
    for row in read(out / "forecast.csv"):
        if row["layer"]:
            continue
        keys = ("score", "score_se", "disturbance", "excursion", "shift")
        settings.append({"setting": row["setting"], **numbers(row, keys), "breaks": int(row["breaks"]), "heads": int(row["heads"]),
                         **numbers(losses[row["setting"]], ("loss", "loss_se"))})  # fmt: skip
    keys = ("rho", "rho_low", "rho_high", "first_loss", "best_loss", "excess", "excess_se")
    names = ("positions", "ranked_by", "first", "best")
    checks = [{name: row[name] for name in names} | numbers(row, keys) | {"begin": int(row["position"]), "end": int(row["position_end"])}
              for row in read(out / "forecast_check.csv")]  # fmt: skip
    documents = len({row["document"] for row in read(out / "forecast_documents.csv")})
    return {"documents": documents, "settings": settings, "checks": checks}


def main():
    demo = machine.ROOT / "data" / "demo"
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        lines = (demo / "eval.jsonl").read_text().splitlines(keepends=True)
        for name, half in (("read", lines[::2]), ("others", lines[1::2])):
            (work / f"{name}.jsonl").write_text("".join(half))
        run("capture", demo / CHECKPOINT, "--corpus", work / "read.jsonl", "--tokenizer", demo / "tokenizer.json", "--context", TRAINED, "--out", work / "capture")
        contexts = {str(context): forecast(work / "capture", work / "others.jsonl", context, work / str(context)) for context in CONTEXTS}
    machine.write("forecast", {"checkpoint": CHECKPOINT, "trained": TRAINED, "contexts": contexts})


if __name__ == "__main__":
    main()
