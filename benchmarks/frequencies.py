"""Which rotary frequencies carry the queries and keys of SmolLM2-135M (beside fresh weights of its shape) and of the demo at its
three contexts, how much of drift is the turning mean, and which distance heads prefer: from the tables of both studies."""

import csv
import json
import math
import subprocess

import machine

MEANS = ("low_share_q", "low_share_k", "rope_var_share_q", "rope_var_share_k", "drift_rope_cos_q", "drift_rope_cos_k", "drift_rope_share_q",
         "drift_rope_share_k", "mrl_q", "mrl_k", "dist_near", "dist_range", "dist_reach", "dist_r", "dist_content", "r2cv_k")  # fmt: skip


def strongest(bands: dict, kind: str) -> dict:
    """The rotary pair with most energy: its wavelength, and its share."""
    energy = bands[f"energy_{kind}"]["value"]
    index = energy.index(max(energy))
    return {"wavelength": 2 * math.pi / bands["theta"][index], "share": energy[index] / sum(energy)}


def study(name: str, labels: list[str]) -> dict:
    folder = machine.ROOT / "out" / name
    subprocess.run([machine.BUILD / "ropewalk", "run", machine.ROOT / "experiments" / f"{name}.yaml", "--out", folder, "--quiet"], check=True)
    heads = list(csv.DictReader((folder / "heads.csv").open()))
    summary = json.loads((folder / "summary.json").read_text())
    contexts = {checkpoint["label"]: checkpoint["context"] for checkpoint in summary["checkpoints"]}
    result = {}
    for label in labels:
        rows = [row for row in heads if row["checkpoint"] == label and row["rope"] == "1"]
        result[label] = {
            "context": contexts[label],
            "heads": len(rows),
            "strongest": {kind: strongest(summary["bands"][label][0], kind) for kind in "qk"},
            "near_preferred": sum(float(row["dist_near"]) > 0 for row in rows),
            "argmax_within_16": sum(float(row["dist_argmax"]) <= 16 for row in rows),
            "concentrated_k": sum(float(row["mrl_k"]) > 0.95 for row in rows),
            "means": {key: summary["rope"][f"mean_{key}"][label] for key in MEANS},
        }
        without = [row for row in heads if row["checkpoint"] == label and row["rope"] == "0"]
        if without:
            result[label]["nope"] = {"heads": len(without), **{key: summary["nope"][f"mean_{key}"][label] for key in ("drift_rope_share_k", "r2cv_k")}}
    return result


def main():
    machine.write("frequencies", {"smollm2": study("smollm2-135m", ["init", "final"]), "demo": study("demo", ["S3-6.608K", "LC1-500", "LC2-500"])})


if __name__ == "__main__":
    main()
