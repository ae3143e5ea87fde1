"""A backend's captures in runs: shards, more documents, interrupts, memory, fresh weights, code of a repository, and what is refused."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import tiny_models
from backend_study import BLOCKS, QUIET, assert_same_moments, capture_of, experiment, program, refusal
from hub_setup import CORPUS, MODEL, client, hub, model_files, pickled_files  # noqa: F401 (fixtures)
from mpi_jobs import MPIRUN, errors, mpirun
from tiny_models import MODELS, VOCAB


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backend")
    rows = [{"tokens": [(i * i + 3 * j * (i + 1)) % VOCAB for j in range(60 + i)]} for i in range(9)]
    (folder / "tokens.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tiny_models.write(MODELS["llama_gqa"], folder / "model")
    return folder


def options(root, out, *more, backend="transformers", context=64):
    return [root / "model", "--corpus", root / "tokens.jsonl", "--out", out, "--context", context, "--min-tokens", 1, "--blocks", BLOCKS,
            "--dtype", "float32", "--rows", 0, "--backend", backend, *more]  # fmt: skip


def capture(root, out, *more, **settings):
    program("capture", *options(root, out, *more, **settings), "--quiet")
    return capture_of(out)


@pytest.fixture(scope="module")
def whole(root):
    return capture(root, root / "whole")


def test_shards_are_merged(root, whole, tmp_path):
    for i in range(2):
        capture(root, tmp_path / f"part{i}", "--shard", f"{i}/2")
    program("merge", tmp_path / "part0", tmp_path / "part1", "--out", tmp_path / "both", "--quiet")
    tensors, info = capture_of(tmp_path / "both")
    assert_same_moments(whole[0], tensors, 1e-6)
    assert info["backend"] == whole[1]["backend"]
    capture(root, tmp_path / "own", "--shard", "1/2", backend="ropewalk")
    assert "backend" in refusal("merge", tmp_path / "part0", tmp_path / "own", "--out", tmp_path / "mixed")


@pytest.mark.skipif(not MPIRUN, reason="built without MPI")
def test_several_processes(root, whole, tmp_path):
    """Each has a companion."""
    done = mpirun(2, "capture", *options(root, tmp_path / "both", "--quiet"), timeout=1500)
    assert done.code == 0 and done.stderr == "", done.stderr
    tensors, info = capture_of(tmp_path / "both")
    assert_same_moments(whole[0], tensors, 1e-6)
    own = {key: value for key, value in whole[1].items() if key not in ("seconds", "moments", "label")}
    assert own == {key: info[key] for key in own}
    assert sorted(path.name for path in (tmp_path / "both").iterdir()) == ["capture.json", "moments.safetensors"]
    refused = mpirun(2, "capture", *options(root, tmp_path / "none", "--loss", "--quiet"))
    assert refused.code != 0 and any("measures no loss" in line for line in errors(refused))


def test_heads_pieces_and_layers_on_disk(root, whole, tmp_path):
    for name, more, settings in (("heads", ("--heads", 3, "--seed", 2), {}), ("pieces", ("--chunk",), dict(context=20)), ("plasticity", ("--plasticity",), {})):
        own, own_info = capture(root, tmp_path / f"own-{name}", *more, backend="ropewalk", **settings)
        made, info = capture(root, tmp_path / name, *more, **settings)
        assert info["heads"] == own_info["heads"] and info["kept"] == own_info["kept"]
        assert_same_moments(own, made, 2e-3 if name == "plasticity" else 1e-5)  # which keeps vectors in float16
    assert_same_moments(whole[0], capture(root, tmp_path / "disk", "--memory", "200KB")[0], 1e-6)


def test_a_run_keeps_and_extends(root, whole, tmp_path):
    def run(documents, *more):
        file = experiment(tmp_path / "study.yaml", root / "tokens.jsonl", {"a": root / "model"}, documents, backend="transformers")
        return program("run", file, "--out", tmp_path / "out", "--format", "json", *more)

    assert "measure" in run(5, "--dry-run").stdout and not (tmp_path / "out").exists()
    run(5)
    assert "measured already" in run(5).stderr
    assert "5 of 9 documents exist already" in run(9).stderr
    info = capture_of(tmp_path / "out" / "checkpoints" / "a")[1]
    assert info["documents"] == 9 and info["backend"]["name"] == "transformers"
    model = tmp_path / "out" / "checkpoints" / "a" / "capture.json"
    model.write_text(model.read_text().replace(info["backend"]["version"], "4.0.0"))
    assert "measured again: backend" in run(9).stderr


def test_an_interrupted_run_resumes(root, tmp_path):
    rows = [{"tokens": [(i * i + 3 * j * (i + 1)) % VOCAB for j in range(64)]} for i in range(1500)]
    (tmp_path / "tokens.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = experiment(tmp_path / "study.yaml", tmp_path / "tokens.jsonl", {"a": root / "model"}, backend="transformers")
    command = [os.environ["ROPEWALK"], "run", file, "--out", tmp_path / "out", "--format", "json"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **QUIET})
    state = tmp_path / "out" / "checkpoints" / ".a.state"
    until = time.monotonic() + 120
    while not state.exists() and running.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130 and state.exists(), said
    left = [path.name for path in (tmp_path / "out" / "checkpoints").iterdir()]
    assert left == [".a.state"], left
    assert int(re.search(r"stopped after (\d+) of 1500 documents of 'a'", said)[1]) > 0
    done = program(*command[1:])
    assert re.search(r"a: resuming after [1-9]\d* documents", done.stderr) and not state.exists()
    program(*command[1:4], tmp_path / "fresh", "--format", "json", "--quiet")
    resumed, fresh = (capture_of(tmp_path / out / "checkpoints" / "a")[0] for out in ("out", "fresh"))
    assert_same_moments(fresh, resumed, 1e-5)


def test_fresh_weights(root, tmp_path):
    keys = dict(backend="transformers", phases=[{"name": "P", "context": 40, "checkpoints": [{"label": "init", "random": 3}, {"label": "a", "path": str(root / "model")}]}])
    file = experiment(tmp_path / "study.yaml", root / "tokens.jsonl", {}, **keys)
    file.write_text(json.dumps({key: value for key, value in json.loads(file.read_text()).items() if key != "models"}))
    program("run", file, "--out", tmp_path / "out", "--format", "json", "--quiet")
    info = capture_of(tmp_path / "out" / "checkpoints" / "init")[1]
    assert info["weights"] == "random:3" and info["backend"]["name"] == "transformers"


CODE = """
import sys
from transformers import LlamaConfig, LlamaForCausalLM

class OwnConfig(LlamaConfig):
    model_type = "own_llama"

class OwnForCausalLM(LlamaForCausalLM):
    config_class = OwnConfig
"""


def test_code_of_a_repository(root, whole, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(root / "model", folder)
    (folder / "own.py").write_text(CODE)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own_llama", "architectures": ["OwnForCausalLM"], "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnForCausalLM"}}
    (folder / "config.json").write_text(json.dumps(config))
    asked = [folder, *options(root, tmp_path / "out")[1:]]
    assert "trust_remote_code: true" in refusal("capture", *asked)
    file = experiment(tmp_path / "study.yaml", root / "tokens.jsonl", {"a": folder}, backend="transformers", trust_remote_code=True)
    done = program("run", file, "--out", tmp_path / "run", "--format", "json", environment={"HF_MODULES_CACHE": str(tmp_path / "modules")})
    assert done.stderr.count("trust_remote_code: true: Python code in") == 1
    alone = experiment(tmp_path / "alone.yaml", root / "tokens.jsonl", {"a": root / "model"}, trust_remote_code=True)
    assert "is for backend: transformers" in refusal("run", alone, "--out", tmp_path / "alone")


def test_refusals(root, tmp_path):
    def refused(*more, code=3, environment=None):
        words = refusal("capture", *options(root, tmp_path / "out", *more), code=code, environment=environment)
        assert not (tmp_path / "out").exists()
        return words

    assert "package ropewalk" in refused(code=4, environment={"PYTHONPATH": ""}), "of no version"
    (tmp_path / "ropewalk").mkdir()
    (tmp_path / "ropewalk" / "__init__.py").write_text("__version__ = '0.0.1'\n")
    assert "found 0.0.1" in refused(code=4, environment={"PYTHONPATH": str(tmp_path)})
    (tmp_path / "without" / "transformers").mkdir(parents=True)
    (tmp_path / "without" / "transformers" / "__init__.py").write_text("raise ImportError('none')\n")
    path = os.pathsep.join([str(tmp_path / "without"), os.environ["PYTHONPATH"]])
    assert "package transformers: none" in refused(code=4, environment={"PYTHONPATH": path})
    assert "writes no vectors" in refused("--vectors", "all", code=2)
    assert "measures no loss" in refused("--loss", code=2)
    tiny_models.write(MODELS["bloom"], tmp_path / "bloom")
    bloom = [tmp_path / "bloom", *options(root, tmp_path / "out")[1:]]
    assert "BloomForCausalLM uses the attention interface" in refusal("capture", *bloom)
    config = tiny_models.read_config(root / "model")
    (tmp_path / "newer").mkdir()
    tiny_models.write_config(tmp_path / "newer", {**config, "model_type": "of_tomorrow"})
    shutil.copy(root / "model" / "model.safetensors", tmp_path / "newer")
    assert "'of_tomorrow' is unknown to transformers" in refusal("capture", tmp_path / "newer", *options(root, tmp_path / "out")[1:])
    for key, value in dict(loss=True, vectors="all").items():
        file = experiment(tmp_path / "study.yaml", root / "tokens.jsonl", {"a": root / "model"}, backend="transformers", **{key: value})
        assert f"{key}: needs Ropewalk's own pass" in refusal("run", file, "--out", tmp_path / "study")


@pytest.mark.parametrize("format", ["safetensors", "bin"])
def test_a_model_on_the_hub(hub, client, tmp_path, format):  # noqa: F811, A002
    """Plans need its config alone; then its numbers are those of the same files in a folder."""
    files = (model_files if format == "safetensors" else pickled_files)(1, shards=2)
    hub.repository(MODEL).commit("step1", files)
    local = tmp_path / "local" / "step1"
    local.mkdir(parents=True)
    for name, data in files.items():
        (local / name).write_bytes(data)
    (tmp_path / "corpus.jsonl").write_text(CORPUS)

    def run(model, out, *more):
        settings = dict(name="Tiny", model=model, backend="transformers", corpus={"path": "corpus.jsonl"}, dtype="float32", device="cpu",
                        phases=[{"name": "P", "context": 48, "revisions": "step*"}])  # fmt: skip
        (tmp_path / "run.yaml").write_text(json.dumps(settings))
        return program("run", tmp_path / "run.yaml", "--out", tmp_path / out, "--format", "json", *more, environment=client.environment)

    assert "download" in run(MODEL, "hub", "--dry-run").stdout and not hub.asked("bytes")
    run(MODEL, "hub")
    run("local", "folder")
    of_hub, of_folder = (capture_of(tmp_path / out / "checkpoints" / "step1") for out in ("hub", "folder"))
    assert of_hub[1]["hub"].startswith(MODEL) and of_hub[1]["weights"] == of_folder[1]["weights"]
    assert_same_moments(of_folder[0], of_hub[0], 1e-6)
    assert "measured already" in run(MODEL, "hub").stderr
