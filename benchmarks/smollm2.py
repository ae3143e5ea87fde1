"""What SmolLM2-135M's heads are made of, beside fresh weights of its shape: the study of `make smollm2`, and a summary of its
tables."""

import csv
import json
import subprocess

import machine


def main():
    folder = machine.ROOT / "out" / "smollm2-135m"
    subprocess.run([machine.BUILD / "ropewalk", "run", machine.ROOT / "experiments" / "smollm2-135m.yaml", "--out", folder], check=True)
    heads = list(csv.DictReader((folder / "heads.csv").open()))
    classes = {(row["checkpoint"], row["layer"], row["q_head"]): row["class"] for row in csv.DictReader((folder / "qk.csv").open()) if row["pc"] == "0"}
    summary = json.loads((folder / "summary.json").read_text())
    result = {}
    for checkpoint in summary["checkpoints"]:
        label = checkpoint["label"]
        rows = [row for row in heads if row["checkpoint"] == label]
        dominated, content = ([row for row in rows if classes[label, row["layer"], row["q_head"]] == name] for name in ("position-dominated", "content-focused"))
        result[label] = {
            "heads": len(rows),
            "position_dominated": len(dominated),
            "mostly_offset": sum(float(row["pc0_offset"]) > 0.5 for row in dominated),
            "content_focused": len(content),
            "least_r2cv_k_of_content_focused": min(float(row["r2cv_k"]) for row in content),
            "means": {key: summary[f"mean_{key}"][label] for key in ("r2cv_q", "r2cv_k", "logit_pos_share", "pc0_offset", "bias_context")},
        }
    machine.write("smollm2", {"documents": summary["checkpoints"][-1]["documents"], "checkpoints": result})


if __name__ == "__main__":
    main()
