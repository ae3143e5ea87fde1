"""The package as a whole: what an import costs and checks, and that its documents are true."""

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
import ropewalk
from conftest import ropewalk as program
from ropewalk import _build, _module

ROOT = Path(__file__).parents[2]


def python(code: str, **settings) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, **settings)


def test_another_torch_is_one_line(monkeypatch):
    assert _module.check_torch() is None
    major, minor, _ = _build.TORCH.split("+")[0].split(".")
    monkeypatch.setattr(_module, "_installed", lambda package: f"{major}.{int(minor) - 1}.1+cpu")
    with pytest.raises(ImportError) as error:
        _module.check_torch()
    assert "\n" not in str(error.value)
    for word in (_build.TORCH, f"{major}.{int(minor) - 1}.1+cpu", "install ropewalk again"):
        assert word in str(error.value)
    monkeypatch.setattr(_module, "_installed", lambda package: f"{major}.{minor}.9")
    assert _module.check_torch() is None, "a patch release has the same interface"


def test_the_check_is_part_of_the_import(tmp_path):
    """A torch of another version can be found, without being imported."""
    other = tmp_path / "torch-1.0.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 1.0.0\n")
    done = python(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import ropewalk")
    assert done.returncode != 0
    assert re.fullmatch(r"ImportError: ropewalk .* was built with torch .* but found torch 1\.0\.0: .*", done.stderr.splitlines()[-1])


def test_threads_that_are_the_first_to_use_it():
    """At the same time: each thread registers the end of jobs, and the program still ends."""
    code = """
import threading, ropewalk
together = threading.Barrier(4)
def use():
    together.wait()
    ropewalk._module.core.__wrapped__()  # what a thread does that comes before the first one is done
threads = [threading.Thread(target=use) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(ropewalk.Moments(2, 2, 4))
"""
    done = python(code, timeout=120)
    assert done.returncode == 0 and done.stdout.startswith("<ropewalk.Moments of 1 layers"), done.stderr


def test_what_computing_needs_is_checked_without_importing_it(monkeypatch, tmp_path):
    assert _module.check() is None
    monkeypatch.setattr(_module, "_installed", lambda package: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="ropewalk needs torch, which is not installed: install torch [0-9.]+$"):
        _module.check()
    (tmp_path / "lib").mkdir()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: types.SimpleNamespace(submodule_search_locations=[str(tmp_path)]))
    assert _module.check() is None, "found, though nobody knows the version"
    monkeypatch.setattr(_build, "CUDA", True)
    with pytest.raises(ImportError, match="built for GPUs, with torch .* but found a torch without CUDA: install torch for CUDA, or"):
        _module.check()
    (tmp_path / "lib/libtorch_cuda.so").touch()
    assert _module.check() is None


def test_the_environment_is_set_where_nobody_did(monkeypatch, tmp_path):
    for name in ("ROPEWALK_PYTHON", "ROPEWALK_EXPERIMENTS", *_module._CERTIFICATE_SETTINGS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_module, "_CERTIFICATES", tmp_path / "none")
    monkeypatch.setattr(_module, "__file__", str(tmp_path / "_module.py"))
    (tmp_path / "experiments").mkdir()
    monkeypatch.setitem(sys.modules, "certifi", types.SimpleNamespace(where=lambda: "bundle.pem"))
    _module.set_environment()
    names = ("ROPEWALK_PYTHON", "ROPEWALK_EXPERIMENTS", "SSL_CERT_FILE")
    assert [os.environ[name] for name in names] == [sys.executable, str(tmp_path / "experiments"), "bundle.pem"]
    monkeypatch.setenv("SSL_CERT_FILE", "mine.pem")
    monkeypatch.setenv("ROPEWALK_EXPERIMENTS", "mine")
    _module.set_environment()
    assert (os.environ["SSL_CERT_FILE"], os.environ["ROPEWALK_EXPERIMENTS"]) == ("mine.pem", "mine")
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.setitem(sys.modules, "certifi", None)
    _module.set_environment()
    assert "SSL_CERT_FILE" not in os.environ


def test_reading_does_without_torch(folder):
    code = f"import sys, ropewalk; print(len(ropewalk.open({str(folder)!r}).heads)); print('torch' in sys.modules)"
    assert python(code).stdout.split() == [str(len(ropewalk.open(folder).heads)), "False"]


def test_the_stub_names_what_the_module_has():
    stub = ast.parse(Path(ropewalk.__file__).with_name("_core.pyi").read_text())
    core = _module.core()
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: {part.name for part in node.body} for node in stub.body if isinstance(node, ast.ClassDef)}
    assert functions | set(classes) == {name for name in dir(core) if not name.startswith("_")}
    for name, parts in classes.items():
        assert parts - {"__init__"} == {part for part in vars(getattr(core, name)) if not part.startswith("_")}


def test_everything_public_is_explained():
    for name in ropewalk.__all__:
        thing = getattr(ropewalk, name)
        if name == "__version__":
            continue
        assert thing.__doc__, name
        if isinstance(thing, type):
            for part, value in vars(thing).items():
                if not part.startswith("_") and (callable(value) or isinstance(value, classmethod)):
                    assert value.__doc__, f"{name}.{part}"


def test_examples_of_the_document_run(source, tmp_path, monkeypatch):
    """docs/python.md, all of its examples in one go, on a study of this test."""
    shutil.copy(source.root / "corpus.jsonl", tmp_path / "texts.jsonl")
    experiment = (source.root / "study.yaml").read_text()
    for model in "AB":
        shutil.copytree(source.root / model, tmp_path / "checkpoints" / model)
        experiment = experiment.replace(f'"path": "{model}"', f'"path": "checkpoints/{model}"')
    settings = json.loads(experiment.replace("corpus.jsonl", "texts.jsonl"))
    (tmp_path / "my_run.yaml").write_text(json.dumps({**settings, "loss": True}))
    monkeypatch.chdir(tmp_path)
    program("run", "my_run.yaml", "--out", "out/my_run", "--format", "json", "--quiet")
    examples = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/python.md").read_text(), re.M | re.S)
    assert len(examples) >= 5
    names = {}
    for example in examples:
        exec(compile(example, "docs/python.md", "exec"), names)
    assert names["study"].folder == Path("out/my_run").absolute()


def test_the_document_names_what_there_is():
    """Every public name stands in docs/python.md."""
    text = (ROOT / "docs/python.md").read_text()
    missing = [name for name in ropewalk.__all__ if not name.startswith("_") and name not in text]
    for thing in (ropewalk.Study, ropewalk.Moments, ropewalk.Capture, ropewalk.Figure, ropewalk.Watch):
        missing += [f"{thing.__name__}.{name}" for name in vars(thing) if not name.startswith("_") and name not in text]
    assert not missing
