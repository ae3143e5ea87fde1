"""Several real processes under mpirun: the numbers of one, a process that dies, mistakes."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from safetensors.torch import load_file, save_file

import engine
import plain_models
import tiny_models

CONTEXT = 96
LAST_TOKEN = tiny_models.VOCAB - 1  # in no ordinary document
# As root, and more processes than cores: who waits leaves the core to the others.
ALLOW = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
         "OMPI_MCA_mpi_yield_when_idle": "1"}  # fmt: skip
MPIRUN = os.environ.get("ROPEWALK_MPIRUN", "")
pytestmark = pytest.mark.skipif(not MPIRUN, reason="built without MPI")


def command(count, *arguments):
    return [MPIRUN, "-n", str(count), engine.program(), *map(str, arguments)]


def mpirun(count, *arguments, timeout=300):
    done = subprocess.run(
        command(count, *arguments), capture_output=True, text=True, timeout=timeout, env={**os.environ, **ALLOW}, stdin=subprocess.DEVNULL
    )
    return engine.Result(done.returncode, done.stdout, done.stderr)


def errors(result):
    """What the program itself said; mpirun adds words of its own."""
    return [line for line in result.stderr.splitlines() if line.startswith("error:")]


def write_tokens(path, documents):
    path.write_text("".join(json.dumps({"tokens": tokens}) + "\n" for tokens in documents))
    return path


class Study:
    def __init__(self, root):
        self.root = root
        self.model = plain_models.write(tiny_models.MODELS["llama_gqa"], root / "model")
        rng = np.random.default_rng(1)
        self.documents = [rng.integers(0, LAST_TOKEN, rng.integers(40, CONTEXT + 1)).tolist() for _ in range(40)]
        self.corpus = write_tokens(root / "tokens.jsonl", self.documents)

    def arguments(self, out, *options, model=None, corpus=None):
        return ["capture", model or self.model, "--corpus", corpus or self.corpus, "--out", self.root / out, "--context", CONTEXT,
                "--min-tokens", 1, "--dtype", "float32", "--label", "tiny", *options]  # fmt: skip

    def alone(self, out, *options):
        done = engine.run(*self.arguments(out, *options, "--quiet"))
        assert done.code == 0, done.stderr
        return self.root / out

    def together(self, count, out, *options):
        done = mpirun(count, *self.arguments(out, *options, "--quiet"))
        assert done.code == 0, done.stderr
        assert (done.stdout, errors(done)) == ("", [])
        return self.root / out

    def table(self, capture):
        folder = capture.parent / f"{capture.name}_tables"
        done = engine.run("analyze", capture, "--out", folder, "--quiet")
        assert done.code == 0, done.stderr
        return pandas.read_csv(folder / "qk.csv")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("processes"))


@pytest.fixture(scope="module")
def whole(study):
    return study.alone("whole")


def expect_equal(one, two):
    """Every r within 1e-9; a number written with nine digits may round either way."""
    keys = ["layer", "q_head", "pc", "class", "flag", "n_q", "n_k", "n_blocks"]
    assert one[keys].equals(two[keys])
    for column in ("r_q", "r_k", "explained_variance"):
        assert np.abs(one[column] - two[column]).max() <= 1.000001e-9, column
    for column in ("r_q_se", "r_k_se", "pc0_stability"):  # of blocks in float32
        assert np.abs(one[column] - two[column]).max() <= 1e-6, column


def expect_same_moments(one, two):
    """Where no block is shared nothing is added up in another order, but for what has no blocks."""
    one, two = (load_file(folder / "moments.safetensors") for folder in (one, two))
    assert one.keys() == two.keys() and "lags.query.block_sum" in one
    for name, values in one.items():
        if name in ("pre_rope.query.products", "pre_rope.key.products"):
            assert torch.allclose(values, two[name], rtol=1e-12, atol=1e-12), name
        else:
            assert torch.equal(values, two[name]), name


def expect_equal_series(one, two):
    """Frequencies and distances, with errors: what differs is the rounding of sums."""
    for table in ("bands", "curves"):
        first, second = (pandas.read_csv(capture.parent / f"{capture.name}_tables" / f"{table}.csv") for capture in (one, two))
        assert len(first) > 0
        pandas.testing.assert_frame_equal(first, second, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_equals_one_process(study, whole, count):
    joint = study.together(count, f"joint{count}")
    expect_equal(study.table(whole), study.table(joint))
    expect_equal_series(whole, joint)
    stated = [json.loads((folder / "capture.json").read_text()) for folder in (joint, whole)]
    assert all(info.pop("seconds") > 0 and info.pop("moments") for info in stated) and stated[0] == stated[1]
    if 16 % count == 0:
        expect_same_moments(joint, whole)


def test_loss_equals_one_process(study, tmp_path):
    """What each document cost is never added up, so that it is the same bits."""
    words = ["loss", study.model, "--corpus", study.corpus, "--context", CONTEXT, "--min-tokens", 1, "--dtype", "float32", "--label", "tiny", "--quiet", "--out"]
    assert engine.run(*words, tmp_path / "alone").code == 0
    for count, few in ((3, []), (2, ["--documents", 1])):
        together, alone = tmp_path / f"of{count}", tmp_path / "alone"
        done = mpirun(count, *words, together, *few)
        assert done.code == 0 and errors(done) == [], done.stderr
        if few:
            alone = tmp_path / "one"
            assert engine.run(*words, alone, *few).code == 0
        for name in ("loss.csv", "loss_documents.csv", "moments.safetensors"):
            assert (together / name).read_bytes() == (alone / name).read_bytes(), (count, name)


def test_fewer_documents_than_processes(study):
    few = study.together(4, "few", "--documents", 3)
    assert json.loads((few / "capture.json").read_text())["documents"] == 3
    expect_equal(study.table(study.alone("few_alone", "--documents", 3)), study.table(few))


def test_more_processes_than_blocks(study):
    joint = study.together(4, "blocks", "--blocks", 3)
    expect_equal(study.table(study.alone("blocks_alone", "--blocks", 3)), study.table(joint))


def test_moments_that_do_not_fit(study, whole):
    """Every process keeps its own in a scratch file."""
    spooled = study.together(2, "spooled", "--memory", "384KiB")
    expect_same_moments(spooled, whole)


def test_shards_stand_alone(study, whole):
    """What one job of an array does is its own, also where mpirun starts several of them."""
    words = " ".join(map(str, study.arguments("part$OMPI_COMM_WORLD_RANK", "--quiet")))
    script = f"exec {engine.program()} {words} --shard $OMPI_COMM_WORLD_RANK/3"
    done = subprocess.run([MPIRUN, "-n", "3", "sh", "-c", script], capture_output=True, text=True, env={**os.environ, **ALLOW}, timeout=300)
    assert done.returncode == 0, done.stderr
    parts = [study.root / f"part{i}" for i in range(3)]
    done = engine.run("merge", *parts, "--out", study.root / "merged", "--quiet")
    assert (done.code, done.stderr) == (0, "")
    one, two = study.table(whole), study.table(study.root / "merged")
    assert np.abs(one[["r_q", "r_k"]] - two[["r_q", "r_k"]]).max(axis=None) <= 1.000001e-9


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
    at_once = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}  # by default mpirun waits for a second before it tells the processes, and these are done by then
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
    # As many processes go on where they were; others measure the checkpoint anew.
    count = 3 if death == "rank 1 killed" else 2
    result = mpirun(count, *words, out)
    assert result.code == 0, result.stderr
    assert ("going on after" in result.stderr) == (count == 3)
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
    """The last token's embedding is not a number, and only document 5 holds it: process 2 of 3 finds it."""
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
    """They would wait for each other for ever, or take what the others mean for something else."""
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
