"""Mistakes in experiment files, and the experiments that come with the project."""

import json
import re
from pathlib import Path

import pytest
import torch

import engine
import plain_models
import tiny_models
from tiny_study import study, write_checkpoint  # noqa: F401 (fixtures)


def mistake(study, text, code=3):
    (study.root / "mistake.yaml").write_text(text)
    result = study.run(study.root / "mistake.yaml", study.root / "nowhere")
    assert result.code == code, result.stderr
    assert not (study.root / "nowhere").exists()
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix(f"error: {study.root}/")


GOOD = """name: Tiny
corpus: {path: corpus.jsonl}
dtype: float32
phases:
  - name: One
    context: 60
    checkpoints:
      - {label: A, path: A}
      - {label: B, path: B}
"""


def test_mistakes_are_answered_with_the_line(study, tmp_path):
    def said(old, new):
        assert old in GOOD
        return mistake(study, GOOD.replace(old, new))

    assert said("context: 60", "contxt: 60") == "mistake.yaml:6: phases: key 'contxt' is unknown; did you mean 'context'?\n"
    assert said("context: 60", "context: sixty").startswith("mistake.yaml:6: phases.context: found 'sixty'")
    assert said("corpus.jsonl", "corpse.jsonl").startswith("mistake.yaml:2: corpus: ")
    assert said("path: B", "path: Q").startswith("mistake.yaml:9: 'B': path ")
    assert said("label: B", "label: A").startswith("mistake.yaml:9: label 'A' is already in line 8")
    assert said("dtype: float32", "portraits: [A, C]").startswith("mistake.yaml:3: portraits: no checkpoint is labelled 'C'")
    write_checkpoint(study.root / "other", 0, num_attention_heads=8)
    other = said("path: B", "path: other")
    assert other == "mistake.yaml:9: 'B' belongs to another model than 'A': its number of query heads is 8, expected 4\n"
    llama = plain_models.write(tiny_models.MODELS["llama_gqa"], study.root / "llama")
    assert llama.exists()
    assert "its architecture is llama, expected smollm3" in said("path: B", "path: llama")
    assert "'A' names a revision, but the file has no model" in said("path: A", "revision: step-1")
    hub = mistake(study, GOOD.replace("dtype: float32", "model: org/name").replace("path: A", "revision: main"))
    assert hub.startswith("mistake.yaml:8: 'A': model 'org/name' is not a folder, and org/name@main: is not in the cache")
    neither = mistake(study, GOOD.replace("dtype: float32", "model: some/where/else").replace("path: A", "revision: main"))
    assert neither.startswith("mistake.yaml:3: model 'some/where/else' is neither a folder nor a Hub model")
    tokenizer = mistake(study, "tokenizer: nothing.json\n" + GOOD)
    assert tokenizer.startswith("mistake.yaml:1: tokenizer 'nothing.json' was not found")
    assert said("dtype: float32", "memory: lots").startswith("mistake.yaml:3: memory: 'lots' is not a size")
    former = mistake(study, GOOD.replace("dtype: float32", "precision: {target_se: 0.01}"), code=2)
    assert former.startswith("mistake.yaml:3: the key precision was removed; write documents: N under corpus")
    if not torch.cuda.is_available():
        device = mistake(study, GOOD.replace("dtype: float32", "device: cuda"), code=4)
        assert device.startswith("mistake.yaml:3: device cuda: there is no CUDA device here")
    beyond = mistake(study, GOOD.replace("dtype: float32", "device: cuda:99"), code=4)
    assert beyond.startswith("mistake.yaml:3: device cuda:99: ") and "--" not in beyond
    unknown = mistake(study, GOOD.replace("dtype: float32", "device: abacus"))
    assert unknown == "mistake.yaml:3: device 'abacus' is unknown; use auto, cpu or cuda\n"


def test_too_little_memory_names_the_key(study, tmp_path):
    result = study.run(study.write("small.yaml", memory="1KiB"), tmp_path / "out")
    assert result.code == 3
    assert re.search(r"small.yaml:\d+: 'init': memory: a budget of 1.0 KiB is too small", result.stderr), result.stderr
    assert "--" not in result.stderr


def test_missing_experiment(study):
    result = study.run(study.root / "absent.yaml", study.root / "nowhere")
    assert result.code == 4 and "absent.yaml: cannot open" in result.stderr


def test_no_document_is_long_enough(study):
    text = mistake(study, GOOD.replace("context: 60", "context: 128").replace("corpus.jsonl}", "corpus.jsonl, documents: 3}"))
    assert "corpus.jsonl" in text and "117" in text


# What comes with the project

ROOT = Path(__file__).resolve().parents[3]


def test_a_file_that_is_not_utf8_is_refused_with_the_line(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"name: a\n# caf\xe9\n")
    result = engine.run("run", path, "--out", tmp_path / "out")
    assert result.code == 3 and "a.yaml:2: is not UTF-8: found byte 0xe9" in result.stderr
    assert not (tmp_path / "out").exists()


def test_too_many_threads_are_refused():
    result = engine.run("inspect", "nowhere", "--threads", 100000)
    assert result.code == 2 and "not in range 1 to 1024" in result.stderr, result.stderr


@pytest.mark.parametrize("name", ["smollm3", "pythia-160m", "olmo2-1b"])
def test_ready_made_experiments_read(name, tmp_path):
    """Everything in the file is understood; what is missing is the download."""
    result = engine.run("run", ROOT / "experiments" / f"{name}.yaml", "--out", tmp_path / "out", "--dry-run",
                        environment={"HF_HOME": str(tmp_path)})  # fmt: skip
    assert result.code == 3
    said = rf"{name}.yaml:\d+: '\S+': model '\S+/\S+' is not a folder, and \S+@\S+: is not in the cache"
    assert re.search(said, result.stderr), result.stderr


def test_demo_shows_what_training_said(tmp_path):
    """The first and the last checkpoint of stage 3, on a third of the texts."""
    training = {row["label"]: row for row in json.loads((ROOT / "data/demo/training.json").read_text())["checkpoints"]}
    labels = [label for label in training if label.startswith(("S1", "S3"))]
    chosen = [labels[0], labels[-1]]
    text = (ROOT / "experiments/demo.yaml").read_text().replace("../data", str(ROOT / "data"))
    (tmp_path / "demo.yaml").write_text(text.replace("documents: 32", "documents: 16"))
    result = engine.run("run", tmp_path / "demo.yaml", "--out", tmp_path / "out", "--format", "json", "--quiet", "--threads", 1,
                        *(word for label in chosen for word in ("--only", label)))  # fmt: skip
    assert result.code == 0, result.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    for label in chosen:
        assert summary["mean_r_q"][label]["value"] == pytest.approx(training[label]["mean_r_q"], abs=0.03)
    change = summary["differences"][0]
    assert change["mean_abs_r_k"]["value"] > 0.2 and change["mean_abs_r_k"]["real"] and change["mean_r_q"]["stayed"]["heads"] + len(change["axes"]) == 48
    assert change["taxonomy"]["position-dominated"]["value"] > 0.1 and change["taxonomy"]["position-dominated"]["real"]
