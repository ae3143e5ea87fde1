"""A small study to run, change and run again."""

import hashlib
import json
import shutil
import subprocess

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import engine
import plain_models
import tiny_models

LENGTH, DOCUMENTS = 40, 12
TABLES = ("qk.csv", "heads.csv", "bands.csv", "curves.csv", "changes.csv", "summary.json")
YARN = dict(
    rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=16, beta_fast=8.0, beta_slow=1.0,
    attention_factor=1.1, truncate=True,
)  # fmt: skip


def write_model(folder, seed=0, base="llama_yarn", **changes):
    model = tiny_models.MODELS[base]
    config = {**model.config, "num_hidden_layers": 2, **changes}
    return plain_models.write(
        tiny_models.TinyModel("trust", model.architecture, model.model_type, config, seed=seed), folder
    )  # fmt: skip


def base_name():
    return next(name for name, model in tiny_models.MODELS.items() if model.model_type == "llama")


class Study:
    """One checkpoint and a baseline of its shape, in a folder."""

    def __init__(self, root, models=("A",)):
        self.root = root
        root.mkdir(exist_ok=True)
        for seed, name in enumerate(models):
            write_model(root / name, seed, base_name(), rope_parameters=YARN)
        generator = torch.Generator().manual_seed(0)
        self.rows = [torch.randint(tiny_models.VOCAB, (LENGTH + i % 3,), generator=generator).tolist() for i in range(16)]
        self.write_corpus(self.rows)
        checkpoints = [{"label": "init", "random": 0}, *({"label": name, "path": name} for name in models)]
        self.settings = {
            "name": "Trust", "corpus": {"path": "corpus.jsonl", "documents": DOCUMENTS}, "dtype": "float32", "components": 3,
            "blocks": 4, "phases": [{"name": "P", "context": LENGTH, "checkpoints": checkpoints}],
        }  # fmt: skip
        self.write()

    def write_corpus(self, rows):
        (self.root / "corpus.jsonl").write_text("".join(json.dumps({"tokens": row}) + "\n" for row in rows))

    def write(self, **changes):
        (self.root / "study.yaml").write_text(json.dumps({**self.settings, **changes}, indent=1))

    def edit_config(self, model="A", **changes):
        path = self.root / model / "config.json"
        config = json.loads(path.read_text())
        for key, value in changes.items():
            node = config
            *outer, last = key.split("__")
            for name in outer:
                node = node[name]
            node[last] = value
        path.write_text(json.dumps(config))

    def run(self, out, *options, **kwargs):
        return engine.run("run", self.root / "study.yaml", "--out", out, "--format", "json", *options, **kwargs)


def good(result):
    assert result.code == 0, result.stderr
    return result


def numbers(out):
    """A digest of all moments of every checkpoint: the contents of a capture without its names."""
    digests = {}
    for path in sorted(out.glob("checkpoints/*/moments.safetensors")):
        with safe_open(path, "numpy") as file:
            digest = hashlib.sha256()
            for name in sorted(file.keys()):
                digest.update(name.encode() + file.get_tensor(name).tobytes())
        digests[path.parent.name] = digest.hexdigest()
    return digests


def mark(path):
    return path.stat().st_ino, path.stat().st_mtime_ns


def inodes(out):
    """Identities of the files: a measured one is new, a moved one is the same."""
    return {path.parent.name: mark(path) for path in out.glob("checkpoints/*/moments.safetensors")}


def tables(out):
    return {name: (out / name).read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """A study and its results; tests work on copies."""
    study = Study(tmp_path_factory.mktemp("pristine") / "study")
    good(study.run(study.root / "out"))
    return study


@pytest.fixture
def study(pristine, tmp_path):
    shutil.copytree(pristine.root, tmp_path / "study")
    copy = object.__new__(Study)
    copy.__dict__ = {**pristine.__dict__, "root": tmp_path / "study"}
    manifest = copy.root / "out" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(str(pristine.root), str(copy.root)))
    return copy


def labels(study, *names):
    checkpoints = [{"label": "init", "random": 0}, *({"label": label, "path": path} for label, path in names)]
    study.write(phases=[{"name": "P", "context": LENGTH, "checkpoints": checkpoints}])


def spoil(study, model, how):
    spoil_weights(study.root / model, how)


def spoil_weights(folder, how):
    path = folder / "model.safetensors"
    if how == "missing":
        path.unlink()
    else:
        tensors = load_file(path)
        tensors["model.layers.0.self_attn.q_proj.weight"][0, 0] = float("nan")
        save_file(tensors, path, metadata={"format": "pt"})


def start(study, out, *options):
    return subprocess.Popen([engine.program(), "run", study.root / "study.yaml", "--out", out, "--format", "json", *options],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip


def hidden(out):
    return sorted(path.name for path in out.rglob(".*") if path.name != ".lock")
