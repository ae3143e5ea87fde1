"""A small study with `ablate:`, measured by the program itself: fresh weights, and checkpoints of two phases along steps that double."""

import dataclasses
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np

CONTEXT = 48
STEPS = {"early": 10, "middle": 80, "late": 640, "after": 1280}
ABLATE = dict(sets=["top:dist_range:10%", "0.0,2.1"], edits=["distance", "window:6"], documents=6, controls=20)


def write(folder: Path) -> None:
    """Writes models and an experiment beside the results, and runs it."""
    import plain_models
    import tiny_models

    wide = {**tiny_models.MODELS["smollm3_interval"].config, "hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 4}
    model = dataclasses.replace(tiny_models.MODELS["smollm3_interval"], dtype="float32", config=wide)
    source = folder.with_name(f"{folder.name}_source")
    shutil.rmtree(folder, ignore_errors=True)  # a folder that is there would be taken as done
    for seed, label in enumerate(STEPS):
        plain_models.write(dataclasses.replace(model, seed=seed), source / label)
    rng = np.random.default_rng(3)
    tiny_models.write_corpus(source / "corpus.jsonl", {i: rng.integers(0, tiny_models.VOCAB, CONTEXT).tolist() for i in range(30)})
    checkpoints = [dict(label="init", random=1), *(dict(label=label, path=label, step=step) for label, step in STEPS.items())]
    phases = [dict(name="Stage 1", context=CONTEXT, checkpoints=checkpoints[:3]), dict(name="Stage 2", context=CONTEXT, checkpoints=checkpoints[3:])]
    experiment = dict(name="edited", corpus=dict(path="corpus.jsonl", documents=16), dtype="float32", axis="log-steps", loss=True, phases=phases, ablate=ABLATE)
    (source / "edited.yaml").write_text(json.dumps(experiment))
    command = [os.environ["ROPEWALK"], "run", source / "edited.yaml", "--out", folder, "--format", "json", "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
