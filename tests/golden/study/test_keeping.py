"""What happens between two runs: nothing is lost, and no file of the user is changed."""

import hashlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import engine
from trust_study import Study, good, inodes, labels, pristine, study, tables  # noqa: F401 (fixtures)


# Damage


def test_damaged_files_heal(study):
    out = study.root / "out"
    good(study.run(out))
    whole = tables(out)
    old = inodes(out)
    for text in ("{", "5", '{"experiment": 5}', '{"tables": 7, "figures": {"files": 3}, "report": []}'):
        (out / "manifest.json").write_text(text)
        good(study.run(out))
        assert tables(out) == whole and inodes(out) == old
        assert json.loads((out / "manifest.json").read_text())["name"] == "Trust"
    description = out / "checkpoints" / "A" / "capture.json"
    for key, value in (("hub", 5), ("config", 3), ("heads", "all"), ("documents", -1), ("format", 9)):
        description.write_text(json.dumps({**json.loads(description.read_text()), key: value}))
        result = good(study.run(out))
        assert f"key '{key}'" in result.stderr or "format" in result.stderr
        assert "A: measured again: its capture is damaged" in result.stderr
        assert tables(out) == whole
    (out / "checkpoints" / ".A.state").write_bytes(os.urandom(2000))
    shutil.rmtree(out / "checkpoints" / "A")
    good(study.run(out))
    assert tables(out) == whole


def test_pictures_of_other_formats_do_not_stay(study):
    out = study.root / "out"
    figures = out / "figures"
    good(engine.run("run", study.root / "study.yaml", "--out", out, "--format", "svg"))
    assert (figures / "taxonomy.svg").exists()
    (figures / "mine.svg").write_text("<svg/>")
    good(study.run(out))
    assert not (figures / "taxonomy.svg").exists() and (figures / "mine.svg").exists()


# What an outside reader found


def test_a_capture_that_is_not_as_it_was_written(study, tmp_path):
    """One bit in the middle of the moments: the header does not show it, but tables made from them would be wrong."""
    out = study.root / "out"
    path = out / "checkpoints" / "A" / "moments.safetensors"
    for change in (lambda: (out / "qk.csv").unlink(), lambda: study.write(corpus={"path": "corpus.jsonl", "documents": 16})):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0x10
        path.write_bytes(data)
        change()
        result = good(study.run(out))
        assert "A/moments.safetensors: has changed since it was written" in result.stderr
    good(study.run(tmp_path / "fresh"))
    lines = [[line for line in (folder / "qk.csv").read_text().splitlines() if ",A," in line] for folder in (out, tmp_path / "fresh")]
    assert lines[0] == lines[1]


def without_hash(capture, change):
    """Changes tensors of a capture, and removes the file's hash from its description, as if they had been written so."""
    path = capture / "moments.safetensors"
    with safe_open(path, "pt") as file:
        tensors, metadata = load_file(path), file.metadata()
    change(tensors)
    save_file(tensors, path, metadata)
    description = capture / "capture.json"
    description.write_text(json.dumps({**json.loads(description.read_text()), "moments": ""}))


def test_a_whole_capture_that_cannot_be_analysed_is_left(study):
    """A capture may have cost hours of a GPU: only wrong bytes are a reason to measure again."""
    out = study.root / "out"
    good(study.run(out))
    capture = out / "checkpoints" / "A"
    without_hash(capture, lambda tensors: tensors["query.mean"].fill_(float("nan")))
    (out / "qk.csv").unlink()
    old = inodes(out)
    for options in ([], ["--keep-going"], ["--keep-going"]):
        result = study.run(out, *options)
        assert result.code == 3 and inodes(out) == old, result.stderr
        last = result.stderr.strip().splitlines()[-1]
        assert "tensor 'query.mean'" in last and f"{capture} is not changed" in last, last
    labels = {line.split(",")[1] for line in (out / "qk.csv").read_text().splitlines()[1:]}
    assert labels == set(old) - {"A"}, "the others have tables"


def test_a_damaged_capture_that_cannot_be_removed(study):
    out = study.root / "out"
    good(study.run(out))  # the study was copied, and captures record where the model is now
    folder = out / "checkpoints" / "A"
    data = bytearray((folder / "moments.safetensors").read_bytes())
    data[len(data) // 2] ^= 0x10
    (folder / "moments.safetensors").write_bytes(data)
    (out / "qk.csv").unlink()
    folder.chmod(0o555)
    result = study.run(out, before=engine.without_privileges, timeout=60)
    folder.chmod(0o755)
    assert result.code == 4
    last = result.stderr.strip().splitlines()[-1]
    assert f"{folder}: cannot remove: Permission denied" in last and "has changed since it was written" in last, last
    assert (folder / "moments.safetensors").read_bytes() == data
    good(study.run(out))


def test_damaged_vectors_are_written_again(study):
    """A changed size is noticed at once, other bytes when tables are made from the capture."""
    study.write(vectors="all")
    out = study.root / "out"
    good(study.run(out))
    file = out / "checkpoints" / "A" / "vectors" / "l01h00k" / "data.parquet"
    whole = file.read_bytes()
    file.write_bytes(b"no parquet")
    result = good(study.run(out))
    assert "A: measured again: its capture is damaged" in result.stderr and "A/vectors: has " in result.stderr
    assert file.read_bytes() == whole
    file.write_bytes(bytes([*whole[:100], whole[100] ^ 1, *whole[101:]]))
    (out / "qk.csv").unlink()
    assert "A/vectors: have changed since they were written; 'A' is measured again" in good(study.run(out)).stderr
    assert file.read_bytes() == whole


@pytest.mark.parametrize("stream", ["0<&-", "2>&-", "0<&- 2>&-"])
def test_closed_streams_are_no_files_of_results(study, stream):
    """Otherwise the next opened file would get the number of a closed stream, and lines of the log would be written into it."""
    out = study.root / "out"
    for program in (engine.program(), str(Path(engine.program()).parent / "libexec" / "ropewalk" / "ropewalk")):
        study.write(components=2)
        command = f'"$0" run "$1" --out "$2" --format json {stream} >/dev/null'
        done = subprocess.run(["sh", "-c", command, program, study.root / "study.yaml", out], timeout=60)
        assert done.returncode == 0
        assert (out / ".lock").read_text().startswith("process ") and "\n" not in (out / ".lock").read_text()
        study.write()
        good(study.run(out))


def test_results_that_a_closed_standard_output_cannot_take():
    done = subprocess.run(["sh", "-c", '"$0" --version >&-', engine.program()], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 4 and "standard output: cannot write" in done.stderr


@pytest.mark.parametrize("how", ["edited", "deleted"])
def test_the_manifest_holds_the_experiment_that_was_run(tmp_path, how):
    study = Study(tmp_path / "study")
    study.write_corpus(study.rows * 100)
    study.write(corpus={"path": "corpus.jsonl"})
    file, out = study.root / "study.yaml", tmp_path / "out"
    text = file.read_text()
    process = subprocess.Popen([engine.program(), "run", file, "--out", out, "--format", "json"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    while process.poll() is None and not (out / "manifest.json").exists():
        time.sleep(0.005)
    if how == "deleted":
        file.unlink()
    else:
        study.write(name="Another", components=2)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["name"] == "Trust" and manifest["experiment"]["text"] == text
    assert manifest["experiment"]["sha256"] == hashlib.sha256(text.encode()).hexdigest()


def test_former_pictures_do_not_stand_beside_new_tables(study, tmp_path):
    """Where figures cannot be drawn, they are missing; the page does not need them."""
    out = study.root / "out"
    good(engine.run("run", study.root / "study.yaml", "--out", out, "--format", "svg"))
    page = (out / "report.html").read_bytes()
    study.write(name="Another")
    cannot = tmp_path / "cannot"
    cannot.write_text("#!/bin/sh\nexit 3\n")
    cannot.chmod(0o755)
    for _ in range(2):
        result = engine.run("run", study.root / "study.yaml", "--out", out, "--format", "svg",
                            environment={"ROPEWALK_PYTHON": str(cannot)})  # fmt: skip
        assert result.code == 4 and "figures cannot be rendered" in result.stderr.strip().splitlines()[-1]
        assert "Another," in (out / "qk.csv").read_text()
        assert list((out / "figures").glob("*.svg")) == [] and (out / "figures" / "taxonomy.vl.json").exists()
        assert (out / "report.html").read_bytes() != page and b"Another" in (out / "report.html").read_bytes()
    good(engine.run("run", study.root / "study.yaml", "--out", out, "--format", "svg"))
    assert (out / "figures" / "taxonomy.svg").exists()


def test_a_manifest_of_other_tables_is_not_believed(study):
    out = study.root / "out"
    good(engine.run("report", out))
    assert b'"text":"{\\n' in (out / "report.html").read_bytes(), "the experiment's"
    refused = engine.run("analyze", out / "checkpoints" / "A", "--out", out, "--components", 2)
    assert refused.code == 2 and f"--out {out}: holds checkpoints, manifest.json, which ropewalk analyze did not write" in refused.stderr
    good(engine.run("analyze", out / "checkpoints" / "A", "--out", study.root / "two", "--components", 2))
    for table in (study.root / "two").iterdir():
        shutil.copy(table, out)
    result = good(engine.run("report", out))
    assert f"{out}/manifest.json: belongs to another qk.csv" in result.stderr and len(result.stderr.splitlines()) == 2, result.stderr
    page = (out / "report.html").read_text()
    assert '"manifest":null' in page and "Trust" not in page


def test_lost_vectors_are_written_again(study):
    study.write(vectors="all")
    out = study.root / "out"
    good(study.run(out))
    vectors = out / "checkpoints" / "A" / "vectors"
    whole = engine.read_streams(out / "checkpoints" / "A").keys()
    for lose in (lambda: shutil.rmtree(vectors), lambda: shutil.rmtree(vectors / "l00h00q"),
                 lambda: (vectors / "l01h00k" / "data.parquet").write_bytes(b"")):  # fmt: skip
        lose()
        assert "A: measured again: its capture is damaged" in good(study.run(out)).stderr
        assert engine.read_streams(out / "checkpoints" / "A").keys() == whole


def test_pruning_keeps_what_the_file_names(tmp_path):
    study = Study(tmp_path / "study", ("A", "B"))
    out = study.root / "out"
    good(study.run(out))
    old = inodes(out)
    (study.root / "B").rename(tmp_path / "unmounted")
    result = study.run(out, "--keep-going", "--prune")
    assert result.code == 3 and "nothing refers" not in result.stderr
    assert inodes(out) == old
    (tmp_path / "unmounted").rename(study.root / "B")
    study.write(corpus={"path": "corpus.jsonl", "documents": 16})
    good(study.run(out, "--only", "A", "--prune"))
    assert {name: inodes(out)[name] for name in ("init", "B")} == {name: old[name] for name in ("init", "B")}
    (out / "checkpoints" / ".gone.state").write_bytes(b"not a state")  # a file of another program
    good(study.run(out, "--prune"))
    assert (out / "checkpoints" / ".gone.state").exists()


def test_a_kill_while_a_label_changes(study):
    """A temporary file of the killed run inside a capture, and an empty folder where another capture was."""
    out = study.root / "out"
    old = inodes(out)["A"]
    token = (out / ".lock").read_text().split("temporary files: ")[1]
    (out / "checkpoints" / "A" / f".capture.json.tmp-{token}").write_text("{")
    (out / "checkpoints" / "renamed").mkdir()
    labels(study, ("renamed", "A"))
    good(study.run(out))
    assert inodes(out)["renamed"] == old
    good(engine.run("analyze", out / "checkpoints" / "renamed", "--out", study.root / "tables", "--quiet"))
    table = (study.root / "tables" / "qk.csv").read_text()
    assert ",renamed," in table and ",A," not in table


def test_a_folder_in_the_place_of_a_table(study):
    out = study.root / "out"
    (out / "qk.csv").unlink()
    (out / "qk.csv").mkdir()
    for options in ((), ("--dry-run",)):
        result = study.run(out, *options)
        assert result.code == 3 and "qk.csv: not written by ropewalk" in result.stderr


def test_a_lock_is_not_written_through_a_link(study, tmp_path):
    out = study.root / "out"
    (out / ".lock").rename(tmp_path / "elsewhere")
    for target in ("elsewhere", "nowhere"):
        (out / ".lock").symlink_to(tmp_path / target)
        before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
        result = study.run(out)
        assert result.code == 4 and ".lock: is a link, a pipe or a folder, expected a regular file; move it away" in result.stderr
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before
        (out / ".lock").unlink()
    os.mkfifo(out / ".lock")
    assert study.run(out).code == 4
