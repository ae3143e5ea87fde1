"""Models on a fake Hub, used by the program and by Python's client."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch

import breakable
import engine
from fake_hub import FakeHub

MODEL = "org/model"
CORPUS = "".join(json.dumps({"tokens": [(7 * i + j) % breakable.VOCAB for j in range(48)]}) + "\n" for i in range(10))
TOOL = Path(os.environ.get("ROPEWALK_BUILD", "")) / "tests" / "golden" / "hub_tool"


def model_files(seed=0, shards=2, **config) -> dict[str, bytes]:
    """A tiny Llama in the form of a repository."""
    tensors = {name: values + seed for name, values in breakable.make_tensors().items()}
    files = {"config.json": json.dumps({**breakable.CONFIG, **config}).encode(), "README.md": b"a model\n"}
    names = sorted(tensors)
    parts = [names[i::shards] for i in range(shards)]
    for i, part in enumerate(parts):
        name = f"model-{i + 1:05}-of-{shards:05}.safetensors" if shards > 1 else "model.safetensors"
        files[name] = breakable.file_bytes(*breakable.layout({n: tensors[n] for n in part}))
    if shards > 1:
        placed = {n: f"model-{i + 1:05}-of-{shards:05}.safetensors" for i, part in enumerate(parts) for n in part}
        files["model.safetensors.index.json"] = json.dumps({"metadata": {}, "weight_map": placed}).encode()
    return files


def pickled_files(seed=0, shards=2, **config) -> dict[str, bytes]:
    """The same model as `pytorch_model.bin`, in shards."""
    files = {}
    for name, data in model_files(seed, shards, **config).items():
        if name.endswith(".safetensors"):
            buffer = io.BytesIO()
            torch.save(safetensors.torch.load(data), buffer)
            data = buffer.getvalue()
        name = re.sub(r"^model(.*)\.safetensors", r"pytorch_model\1.bin", name)
        if name.endswith(".index.json"):
            data = re.sub(rb"model(-\d+-of-\d+)\.safetensors", rb"pytorch_model\1.bin", data)
        files[name] = data
    return files


class Client:
    """The program, with its own cache."""

    def __init__(self, hub: FakeHub, root: Path):
        self.hub, self.root, self.cache = hub, root, root / "cache"
        self.environment = {
            "HF_ENDPOINT": hub.endpoint, "HF_HOME": str(root / "home"), "HF_HUB_CACHE": str(self.cache),
            "HF_HUB_OFFLINE": "0", "HF_HUB_DOWNLOAD_TIMEOUT": "2", "no_proxy": "*",
        }  # fmt: skip

    def run(self, *arguments, **environment):
        return engine.run(*arguments, environment={**self.environment, **environment}, timeout=60)

    def start(self, model=MODEL, revision="main", *also, before=None, **environment):
        return subprocess.Popen([TOOL, model, revision, *also], env={**os.environ, **self.environment, **environment},
                                preexec_fn=before, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip

    def fetch(self, model=MODEL, revision="main", *also, before=None, **environment) -> engine.Result:
        process = self.start(model, revision, *also, before=before, **environment)
        out, err = process.communicate(timeout=60)
        return engine.Result(process.returncode, out.strip(), err)

    def python(self, code, **environment):
        """Runs code with huggingface_hub as `hub`; returns what it prints."""
        done = subprocess.run([sys.executable, "-c", "import huggingface_hub as hub\n" + code], capture_output=True, text=True,
                              env={**os.environ, **self.environment, **environment}, timeout=60)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def repository(self, model=MODEL, kind="models") -> Path:
        return self.cache / f"{kind}--{model.replace('/', '--')}"

    def files(self, commit, model=MODEL) -> dict[str, bytes]:
        folder = self.repository(model) / "snapshots" / commit
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def hub():
    hub = FakeHub()
    yield hub
    hub.close()


@pytest.fixture
def client(hub, tmp_path):
    return Client(hub, tmp_path)


def needed(files):
    return {name: data for name, data in files.items() if name != "README.md"}
