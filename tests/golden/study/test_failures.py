"""Failures in a study: what is kept, what happens to the other checkpoints, and what is reported."""

import random
import shutil
import signal
import subprocess
import time

import pytest
from safetensors.torch import load_file, save_file

import engine
from trust_study import LENGTH, Study, good, labels, numbers, pristine, spoil, study, tables  # noqa: F401 (fixtures)


@pytest.mark.parametrize("how", ["nan", "missing"])
def test_keep_going(tmp_path, how):
    study = Study(tmp_path / "study", ("A", "B", "C"))
    spoil(study, "B", how)
    result = study.run(tmp_path / "out", "--keep-going")
    assert result.code == 3
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("error: 1 of 4 checkpoints were not measured: 'B': ") and last.count("'B'") == 1, last
    alone = study.run(tmp_path / "alone", "--keep-going", "--only", "B")
    assert alone.code in (3, 4) and alone.stderr.strip().splitlines()[-1].endswith(last.partition("'B': ")[2]), alone.stderr
    labels(study, ("A", "A"), ("C", "C"))
    good(study.run(tmp_path / "fresh"))
    if how == "missing":
        assert tables(tmp_path / "out") == tables(tmp_path / "fresh")
    table = (tmp_path / "out" / "qk.csv").read_text()
    assert ",A," in table and ",C," in table and ",B," not in table


def test_finished_checkpoints_get_their_tables_after_an_error(tmp_path):
    study = Study(tmp_path / "study", ("A", "B", "C"))
    spoil(study, "B", "nan")
    result = study.run(tmp_path / "out")
    assert result.code == 3
    assert "'B': queries in layer 0, head 0" in result.stderr.strip().splitlines()[-1]
    table = (tmp_path / "out" / "qk.csv").read_text()
    assert ",A," in table and ",C," not in table, "what comes after it waits for --keep-going"


def test_a_missing_checkpoint_changes_nothing_for_the_others(tmp_path):
    """Documents are chosen for the longest context in the file."""
    study = Study(tmp_path / "study", ("A", "B"))
    study.write_corpus([row[: 30 if i % 2 else LENGTH] for i, row in enumerate(study.rows)])
    study.write(corpus={"path": "corpus.jsonl"}, phases=[
        {"name": "P", "context": 24, "checkpoints": [{"label": "A", "path": "A"}]},
        {"name": "Q", "context": LENGTH, "checkpoints": [{"label": "B", "path": "B"}]}])  # fmt: skip
    good(study.run(tmp_path / "whole"))
    (study.root / "B").rename(tmp_path / "unmounted")
    assert study.run(tmp_path / "out", "--keep-going").code == 3
    assert numbers(tmp_path / "out")["A"] == numbers(tmp_path / "whole")["A"]


def test_a_checkpoint_that_may_not_be_read(study, tmp_path):
    model = study.root / "A"
    model.chmod(0)
    result = study.run(tmp_path / "out", before=engine.without_privileges)
    model.chmod(0o755)
    assert result.code == 4 and f"error: {model}: cannot be read: Permission denied" in result.stderr, result.stderr


def test_sums_that_overflow_are_refused(tmp_path):
    """Its weights and vectors are finite, but what a capture stores of them overflows float32."""
    study = Study(tmp_path / "study", ("A", "B"))
    path = study.root / "B" / "model.safetensors"
    tensors = load_file(path)
    tensors["model.layers.0.self_attn.q_proj.weight"] *= 1e18
    tensors["model.layers.0.self_attn.k_proj.weight"] *= 1e12
    save_file(tensors, path, metadata={"format": "pt"})
    study.write_corpus(study.rows * 3)
    study.write(corpus={"path": "corpus.jsonl"}, blocks=2)
    result = study.run(tmp_path / "out")
    assert result.code == 3
    last = result.stderr.strip().splitlines()[-1]
    assert "'B': queries in layer 0, head 0 are too large: sums over documents" in last and "overflow float32" in last, last
    assert sorted(p.name for p in (tmp_path / "out" / "checkpoints").iterdir() if p.is_dir()) == ["A", "init"]
    assert ",A," in (tmp_path / "out" / "qk.csv").read_text()


def test_an_interrupt_says_how_far_it_came(tmp_path):
    study = Study(tmp_path / "study")
    study.write_corpus(study.rows * 400)
    study.write(corpus={"path": "corpus.jsonl"})
    out = tmp_path / "out"
    process = subprocess.Popen([engine.program(), "run", study.root / "study.yaml", "--out", out, "--format", "json"],
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    while process.poll() is None and not (out / "checkpoints" / ".A.state").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    last = stderr.strip().splitlines()[-1]
    assert "documents of 'A'; run the same command again to resume" in last
    done = int(last.split("stopped after ")[1].split()[0])
    assert done > 0
    dry = good(study.run(out, "--dry-run"))
    assert f"measure, {done} of 6400 documents done" in dry.stdout
    labels(study, ("renamed", "A"))
    study.write(corpus={"path": "corpus.jsonl"}, phases=[{"name": "P", "context": LENGTH, "checkpoints": [
        {"label": "init", "random": 0}, {"label": "renamed", "path": "A"}]}])  # fmt: skip
    again = good(study.run(out))
    assert f"renamed: resuming after {done} documents" in again.stderr
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh")
    assert not list((out / "checkpoints").glob(".*"))


def test_killed_at_sixty_random_moments(tmp_path):
    study = Study(tmp_path / "study", ("A", "B", "C"))
    study.write_corpus(study.rows * 20)
    study.write(corpus={"path": "corpus.jsonl"})
    out, fresh = tmp_path / "out", tmp_path / "fresh"
    start = time.monotonic()
    good(study.run(fresh))
    whole = time.monotonic() - start
    dice = random.Random(3)
    for i in range(60):
        if i % 12 == 0:
            shutil.rmtree(out, ignore_errors=True)
        engine.kill_after(dice.uniform(0.2, 1.0) * whole, "run", study.root / "study.yaml", "--out", out, "--format", "json", "--quiet")
    good(study.run(out))
    assert tables(out) == tables(fresh)
    assert [p.name for p in out.rglob(".*") if p.name != ".lock"] == []
