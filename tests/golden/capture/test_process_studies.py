"""`ropewalk run` in several MPI processes: results, jobs that die, and mistakes."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pandas
import pytest
import torch
from safetensors.torch import load_file, save_file

import engine
import plain_models
import tiny_models
from mpi_jobs import ALLOW, CONTEXT, LAST_TOKEN, MPIRUN, command, errors, expect_equal, mpirun, study, write_tokens  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(not MPIRUN, reason="built without MPI")


# `run`


def write_experiment(study, name, documents):
    for label, seed in {"A": 0, "B": 1}.items():
        model = tiny_models.MODELS["smollm3_interval"]
        if not (study.root / label).exists():
            plain_models.write(tiny_models.TinyModel("processes", model.architecture, model.model_type, model.config, seed=seed), study.root / label)
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(tiny_models.VOCAB, (CONTEXT,), generator=generator).tolist() for _ in range(documents)]
    write_tokens(study.root / f"{name}.jsonl", rows)
    checkpoints = [{"label": "init", "random": 0}, {"label": "A", "path": "A"}, {"label": "B", "path": "B"}]
    phases = [{"name": "One", "context": CONTEXT, "checkpoints": checkpoints}]
    path = study.root / f"{name}.yaml"
    path.write_text(json.dumps({"name": "Tiny", "corpus": {"path": f"{name}.jsonl"}, "dtype": "float32", "components": 3, "phases": phases}))
    return ["run", path, "--format", "json", "--out"]


def expect_equal_runs(one, two):
    tables = [pandas.read_csv(out / "qk.csv") for out in (one, two)]
    assert list(tables[0].checkpoint.unique()) == list(tables[1].checkpoint.unique()) == ["init", "A", "B"]
    expect_equal(*tables)
    stated = [json.loads((out / "manifest.json").read_text()) for out in (one, two)]
    assert stated[0]["checkpoints"] == stated[1]["checkpoints"] and stated[0]["corpus"] == stated[1]["corpus"]


def hidden_files(out):
    return [path.name for path in out.rglob(".*") if path.name != ".lock"]


def test_run(study, tmp_path):
    words = write_experiment(study, "small", 40)
    assert engine.run(*words, tmp_path / "alone", "--quiet").code == 0
    result = mpirun(3, *words, tmp_path / "joint")
    assert result.code == 0, result.stderr
    assert result.stdout.count("checkpoint  phase") == 1, "the first process prints"
    expect_equal_runs(tmp_path / "alone", tmp_path / "joint")
    assert hidden_files(tmp_path / "joint") == []
    when = (tmp_path / "joint" / "checkpoints" / "A" / "moments.safetensors").stat().st_mtime_ns
    again = mpirun(2, *words, tmp_path / "joint")
    assert again.code == 0 and again.stderr.count("measured already") == 3
    assert when == (tmp_path / "joint" / "checkpoints" / "A" / "moments.safetensors").stat().st_mtime_ns


def process_of_rank(rank, marker):
    """The process id of one rank of the job whose command line holds `marker`."""
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        ours = str(marker).encode() in words and words[0] == engine.program().encode()
        if ours and b"OMPI_COMM_WORLD_RANK=%d" % rank in environment:
            return int(folder.name)
    raise AssertionError("no such process")


@pytest.mark.parametrize("death", ["rank 1 killed", "rank 0 killed", "mpirun interrupted"])
def test_a_job_that_dies_can_be_resumed(study, tmp_path, death):
    words = write_experiment(study, "long", 1500)
    out = tmp_path / "out"
    # by default mpirun waits for a second before it signals the processes, which have finished by then
    at_once = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}
    job = subprocess.Popen(command(3, *words, out, "--quiet"), stderr=subprocess.PIPE, text=True, env={**os.environ, **ALLOW, **at_once})
    states = [out / "checkpoints" / f".init.state-{rank}-of-3" for rank in range(3)]
    while job.poll() is None and not all(state.exists() for state in states):
        time.sleep(0.002)
    if death == "mpirun interrupted":
        job.send_signal(signal.SIGINT)
    else:
        os.kill(process_of_rank(int(death[5]), out), signal.SIGKILL)
    _, stderr = job.communicate(timeout=120)
    assert job.returncode != 0
    assert [line for line in stderr.splitlines() if line.startswith("error:")] == [], "nobody else is at fault"
    assert all(state.exists() for state in states) and not (out / "qk.csv").exists()
    # The same number of processes resumes; another number measures the checkpoint again.
    count = 3 if death == "rank 1 killed" else 2
    result = mpirun(count, *words, out)
    assert result.code == 0, result.stderr
    assert ("resuming after" in result.stderr) == (count == 3)
    assert hidden_files(out) == []
    assert engine.run(*words, study.root / "straight", "--quiet").code == 0
    expect_equal_runs(study.root / "straight", out)


def test_one_job_a_folder(study, tmp_path):
    words = write_experiment(study, "longer", 3000)
    out = tmp_path / "out"
    job = subprocess.Popen(command(2, *words, out, "--quiet"), stderr=subprocess.DEVNULL, env={**os.environ, **ALLOW})
    try:
        while job.poll() is None and not (out / "checkpoints").exists():
            time.sleep(0.01)
        second = mpirun(2, *words, out, "--quiet")
        assert second.code == 4 and len(errors(second)) == 1
        assert re.search(r"process 0 of 2: .* in use by process", errors(second)[0])
    finally:
        job.terminate()
        job.wait()


# Mistakes


def test_what_is_wrong_for_all_is_said_once(study, tmp_path):
    result = mpirun(3, *study.arguments("wrong", "--quiet", corpus=tmp_path / "none.jsonl"))
    assert result.code == 4 and len(errors(result)) == 1, result.stderr
    assert re.match(r"error: process 0 of 3: .*none.jsonl", errors(result)[0])
    assert not (study.root / "wrong").exists()


def test_one_process_fails(study, tmp_path):
    """The last token's embedding is NaN, and only document 5 contains it: process 2 of 3 finds it."""
    broken = tmp_path / "model"
    broken.mkdir()
    for path in study.model.iterdir():
        (broken / path.name).write_bytes(path.read_bytes())
    tensors = load_file(broken / "model.safetensors")
    tensors["model.embed_tokens.weight"][LAST_TOKEN] = float("nan")
    save_file(tensors, broken / "model.safetensors")
    documents = [list(document) for document in study.documents]
    documents[5][7] = LAST_TOKEN
    corpus = write_tokens(tmp_path / "tokens.jsonl", documents)
    result = mpirun(3, *study.arguments("broken", "--quiet", model=broken, corpus=corpus))
    assert result.code == 3 and len(errors(result)) == 1, result.stderr
    assert re.match(r"error: process 2 of 3: '\S+': (queries|keys) in layer 0, head 0, document 5 are not all finite", errors(result)[0])
    assert not (study.root / "broken").exists()


def test_processes_that_were_told_different_things(study, tmp_path):
    """Otherwise they would wait for each other forever, or misunderstand each other's messages."""
    same = study.arguments("told", "--quiet")
    runs = {"blocks": ([*same], [*same, "--blocks", 8])}
    experiments = []
    for phases in (1, 2):
        experiments.append(tmp_path / str(phases) / "e.yaml")
        experiments[-1].parent.mkdir()
        shown = [{"name": f"P{i}", "context": CONTEXT, "checkpoints": [{"label": f"c{i}", "random": i}]} for i in range(phases)]
        experiments[-1].write_text(json.dumps({"name": "Told", "model": str(study.model), "corpus": {"path": str(study.corpus), "min_tokens": 1}, "phases": shown}))
    runs["checkpoints"] = tuple(["run", experiment, "--out", tmp_path / "out", "--quiet"] for experiment in experiments)
    for setting, (first, second) in runs.items():
        words = [*command(1, *first), ":", *command(1, *second)[1:]]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, env={**os.environ, **ALLOW}, stdin=subprocess.DEVNULL)
        assert done.returncode == 3 and f"'{setting}' is" in done.stderr, done.stderr


def test_vectors_are_refused(study):
    result = mpirun(2, *study.arguments("vectors", "--quiet", "--vectors", "all"))
    assert result.code == 2 and re.match(r"error: process 0 of 2: vectors are written by one process", errors(result)[0])


def test_a_launcher_that_mpi_does_not_know(study):
    result = engine.run(*study.arguments("unknown", "--quiet"), environment={"SLURM_STEP_NUM_TASKS": "3"})
    assert result.code == 2
    assert re.fullmatch(r"error: srun started 3 processes, but MPI sees each of them alone.*--shard.*\n", result.stderr), result.stderr
