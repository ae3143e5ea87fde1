"""Results folders that were damaged, made read-only, shared, or used by another study between two runs: the run gives the bytes of a fresh run, or
ends with one line.
"""

import json
import os
import shutil
import subprocess
import time

import pytest

import engine
from trust_study import LENGTH, YARN, Study, base_name, good, hidden, inodes, labels, pristine, start, study, tables, write_model  # noqa: F401 (fixtures)


# Paths without permission


def everything(out):
    return {path: path.read_bytes() for path in out.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.mark.parametrize("locked", ["", "checkpoints", "checkpoints/A", "figures"])
def test_a_folder_that_may_not_be_written(study, tmp_path, locked):
    out = study.root / "out"
    study.write(blocks=3)
    before = everything(out)
    (out / locked).chmod(0o555)
    try:
        result = study.run(out, before=engine.without_privileges)
    finally:
        for path in (out, *(path for path in out.rglob("*") if path.is_dir())):
            path.chmod(0o755)
    assert result.code == 4 and f"error: {out / locked}" in result.stderr.splitlines()[-1], result.stderr
    if locked in ("", "checkpoints"):
        assert everything(out) == before, "nothing is removed or measured where results could not be written"
    good(study.run(out))
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh") and hidden(out) == []


@pytest.mark.parametrize("name", ["capture.json", "moments.safetensors", "."])
def test_a_capture_that_may_not_be_read_is_kept(study, name):
    """The file may be intact: a refusal of the system is not damage."""
    out = study.root / "out"
    good(study.run(out))  # the report contains the path of the folder, which changed
    before, path = everything(out), out / "checkpoints" / "A" / name
    mode = path.stat().st_mode
    path.chmod(0)
    for options in ((), ("--dry-run",)):
        result = study.run(out, *options, before=engine.without_privileges)
        assert result.code in (3, 4) and f"{out}/checkpoints/A" in result.stderr.splitlines()[-1], result.stderr
    path.chmod(mode)
    assert everything(out) == before
    good(study.run(out))
    assert everything(out) == before


def test_inputs_that_may_not_be_written(study, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    folders = [cache, study.root / "A"]
    for locked in folders:
        locked.chmod(0o555)
    result = study.run(tmp_path / "fresh", before=engine.without_privileges, environment={"ROPEWALK_CACHE": str(cache)})
    for locked in folders:
        locked.chmod(0o755)
    assert tables(tmp_path / "fresh") == tables(study.root / "out"), result.stderr


# Several runs, several studies


def test_many_runs_of_a_folder_at_once(study, tmp_path):
    """One run writes at a time; others are refused, or find everything done."""
    out = tmp_path / "out"
    runs = [start(study, out) for _ in range(4)]
    for run in runs:
        _, stderr = run.communicate(timeout=60)
        last = stderr.strip().splitlines()[-1]
        assert run.returncode == 0 or run.returncode == 4 and f"{out}: is in use by " in last, stderr
    good(study.run(out))
    assert tables(out) == tables(study.root / "out") and hidden(out) == []


def test_a_folder_that_is_a_link_to_nothing(study, tmp_path):
    (tmp_path / "out").symlink_to(tmp_path / "gone")
    result = study.run(tmp_path / "out")
    assert result.code == 4 and "is a link to nothing" in result.stderr


def test_a_folder_taken_over_and_back(study, tmp_path):
    other = Study(tmp_path / "other", ("A", "B"))
    write_model(other.root / "A", 5, base_name(), rope_parameters=YARN)  # with the same label
    other.write(name="Other", blocks=3)
    out = study.root / "out"
    (out / "notes.txt").write_text("mine")
    old = everything(out)
    assert other.run(out).code == 3 and everything(out) == old
    result = good(other.run(out, "--replace"))
    assert "A: measured again: blocks: 4 → 3" in result.stderr
    good(other.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh")
    assert study.run(out).code == 3
    result = good(study.run(out, "--replace", "--prune"))
    assert f"{out}/checkpoints/B: removed" in result.stderr
    assert {path: data for path, data in everything(out).items() if path.name in ("qk.csv", "summary.json", "notes.txt")} == {
        path: data for path, data in old.items() if path.name in ("qk.csv", "summary.json", "notes.txt")
    }  # fmt: skip
    assert sorted(inodes(out)) == ["A", "init"]


def test_weights_inside_the_results_folder(study, tmp_path):
    """Captures under labels that are not theirs, next to a right one: the checkpoint is measured, and they are not used."""
    out = tmp_path / "out"
    shutil.copytree(study.root / "A", out / "checkpoints" / "weights")
    before = everything(out)
    labels(study, ("A", str(out / "checkpoints" / "weights")))
    for _ in range(2):
        good(study.run(out, "--prune"))
    assert before.items() <= everything(out).items()
    assert tables(out) == tables(study.root / "out")
    labels(study, ("weights", str(out / "checkpoints" / "weights")))
    refused = study.run(out, "--prune")
    assert refused.code == 3 and "checkpoints/weights: not written by ropewalk" in refused.stderr
    assert before.items() <= everything(out).items()


# Unusual studies


def test_a_study_of_a_baseline_alone(study, tmp_path):
    phases = [{"name": "P", "context": LENGTH, "checkpoints": [{"label": "init", "random": 0}]}]
    study.write(model="A", phases=phases)
    out = study.root / "out"
    result = good(study.run(out))
    assert "Trust: 1 checkpoint, 12 documents of up to" in result.stderr and "init: measured already" in result.stderr
    assert "checkpoints/A: no longer used" in result.stderr
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh")
    study.write(phases=phases)
    refused = study.run(out)
    assert refused.code == 3 and "no other checkpoint whose config it could use" in refused.stderr


@pytest.mark.parametrize("moment", ["ahead", "1970", "before 1970"])
def test_times_decide_nothing(study, tmp_path, moment):
    """Clocks that were wrong, or set back: only bytes count."""
    when = {"ahead": time.time() + 1e7, "1970": 0, "before 1970": -1e6}[moment]
    out, weights = study.root / "out", study.root / "A" / "model.safetensors"
    environment = {"ROPEWALK_CACHE": str(tmp_path / "cache")}
    for path in (*out.rglob("*"), *study.root.rglob("*")):
        os.utime(path, (when, when))
    old = inodes(out)
    good(study.run(out, environment=environment))
    assert inodes(out) == old, "nothing is measured again"
    data = bytearray(weights.read_bytes())
    data[len(data) // 2] ^= 0x20
    with open(weights, "r+b") as file:
        file.write(data)
    os.utime(weights, (when, when))
    assert "A: measured again: the weights changed" in good(study.run(out, environment=environment)).stderr
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh")


@pytest.mark.parametrize("label", ["-a", "--only", "+1", "a..", "A.state", "A.gone", "1e5", "true", "x" * 200])
def test_odd_labels(study, label):
    """Names that look like options, formulas, numbers or our own files are not taken for these."""
    out = study.root / "out"
    old = inodes(out)
    labels(study, (label, "A"))
    good(study.run(out, f"--only={label}"))
    assert inodes(out) == {"init": old["init"], label: old["A"]}
    study.write(corpus={"path": "corpus.jsonl", "documents": 16}, phases=json.loads((study.root / "study.yaml").read_text())["phases"])
    good(study.run(out, "--prune"))
    assert sorted(inodes(out)) == sorted(["init", label]) and hidden(out) == []
    quote = "'" if label[0] in "+-" else ""
    assert f",{quote}{label}," in (out / "qk.csv").read_text()
    study.write()
    good(study.run(out, "--prune"))
    assert sorted(inodes(out)) == ["A", "init"]
