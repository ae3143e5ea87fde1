"""A study of tiny checkpoints, and its results."""

import json

import pytest
import torch

import engine
import plain_models
import tiny_models

DOCUMENTS, LONG, SHORT = 18, 100, 60
TRAINED = {"A": 0, "B": 1, "C": 2}
TABLES = ("qk.csv", "summary.json")


def write_checkpoint(folder, seed, **changes):
    """A tiny SmolLM3: NoPE layers, grouped heads."""
    model = tiny_models.MODELS["smollm3_interval"]
    config = {**model.config, **changes}
    return plain_models.write(tiny_models.TinyModel("study", model.architecture, model.model_type, config, seed=seed), folder)


class Study:
    """Three checkpoints in two phases and a random baseline; `write` writes an experiment file for them."""

    def __init__(self, root):
        self.root = root
        for label, seed in TRAINED.items():
            write_checkpoint(root / label, seed)
        generator = torch.Generator().manual_seed(0)
        rows = [torch.randint(tiny_models.VOCAB, (LONG + i,), generator=generator).tolist() for i in range(DOCUMENTS)]
        (root / "corpus.jsonl").write_text("".join(json.dumps({"tokens": row}) + "\n" for row in rows))
        self.settings = {
            "name": "Tiny", "corpus": {"path": "corpus.jsonl"}, "dtype": "float32", "components": 4, "blocks": 8,
            "phases": [
                {"name": "One", "context": SHORT, "checkpoints": [
                    {"label": "init", "random": 0}, {"label": "A", "path": "A"}, {"label": "B", "path": "B"}]},
                {"name": "Two", "context": LONG, "checkpoints": [{"label": "C", "path": "C"}]},
            ],
        }  # fmt: skip

    def write(self, name="tiny.yaml", **changes):
        path = self.root / name
        path.write_text(json.dumps({**self.settings, **changes}, indent=1))  # JSON is YAML
        return path

    def run(self, experiment, out, *options, **kwargs):
        return engine.run("run", experiment, "--out", out, "--format", "json", "--quiet", *options, **kwargs)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def finished(study):
    out = study.root / "finished"
    result = study.run(study.write(), out)
    assert result.code == 0, result.stderr
    return out


def files(out):
    return {name: (out / name).read_bytes() for name in TABLES}


def written(out):
    """When each capture was written: an unchanged time means that it was not measured again."""
    folders = out.glob("checkpoints/[!.]*")  # without captures that are being written
    return {folder.name: (folder / "moments.safetensors").stat().st_mtime_ns for folder in folders}
