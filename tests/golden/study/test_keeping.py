"""What happens between two runs: nothing lost, nothing of the user's touched."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import engine
from fake_hub import FakeHub
from hub_setup import MODEL, Client
from trust_study import LENGTH, Study, good, inodes, labels, numbers, pristine, spoil, study, tables  # noqa: F401


# Whose folder it is


def test_a_results_folder_knows_its_experiment(study, tmp_path):
    (tmp_path / "other").mkdir()
    shutil.copy(study.root / "study.yaml", tmp_path / "other" / "study.yaml")
    for model in ("A", "corpus.jsonl"):
        (tmp_path / "other" / model).symlink_to(study.root / model)
    work = tmp_path / "work"
    (work / "out").mkdir(parents=True)

    def run(folder, *options):
        return subprocess.run([engine.program(), "run", folder / "study.yaml", "--format", "json", *options], cwd=work,
                              capture_output=True, text=True)  # fmt: skip

    assert run(study.root).returncode == 0
    refused = run(tmp_path / "other")
    assert refused.returncode == 3
    assert str(study.root / "study.yaml") in refused.stderr and str(tmp_path / "other" / "study.yaml") in refused.stderr
    assert "--out" in refused.stderr and "--replace" in refused.stderr
    assert run(tmp_path / "other", "--replace").returncode == 0
    assert run(study.root).returncode == 3
    (tmp_path / "other").rename(tmp_path / "moved")  # the same study, from another place
    assert run(tmp_path / "moved").returncode == 0


IN_THE_WAY = [
    "qk.csv", "summary.json", "report.html", "manifest.json", ".lock", "figures/taxonomy.png", "figures/taxonomy.vl.json",
    "checkpoints/A/model.safetensors", "checkpoints/A/capture.json.bak", "checkpoints/A", "checkpoints/A/vectors/notes.txt",
    "heads.csv", "bands.csv", "curves.csv", "changes.csv", "checkpoints/H/notes.txt", "checkpoints", "figures", "replaced",
]  # fmt: skip
BESIDE = [
    "figures/mine.png", "checkpoints/.A.tmp-123", "checkpoints/.B.tmp-1-0a0b0c0d/data", ".qk.csv.tmp-77",
    "checkpoints/other/config.json", "checkpoints/.A.state", "replaced/A-1/weights.bin", "replaced/.A.state-1",
    "checkpoints/.H.state",
]  # fmt: skip
OWN = b"my own work\n"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The study with one more checkpoint, H, on a Hub; what it measures, and how it is run there."""
    root, hub = tmp_path_factory.mktemp("published"), FakeHub()
    study = Study(root / "study", ("A", "B"))
    study.commit = hub.repository(MODEL).commit("main", {p.name: p.read_bytes() for p in (study.root / "B").iterdir()})
    checkpoints = [*study.settings["phases"][0]["checkpoints"][:2], {"label": "H", "revision": "main"}]
    study.write(model=MODEL, phases=[{"name": "P", "context": LENGTH, "checkpoints": checkpoints}])
    study.client = Client(hub, root)
    good(study.run(study.root / "out", environment=study.client.environment))
    yield study
    hub.close()


def write_own(out, *paths):
    for path in paths:
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_bytes(OWN)


def kill_a_run(study, out):
    process = subprocess.Popen([engine.program(), "run", study.root / "study.yaml", "--out", out, "--quiet"],
                               env={**os.environ, **study.client.environment}, stderr=subprocess.DEVNULL)  # fmt: skip
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("path", IN_THE_WAY)
def test_the_users_own_files_in_the_place_of_results(published, tmp_path, path):
    """Refused before anything is done."""
    out = tmp_path / "out"
    write_own(out, path)
    kill_a_run(published, out)
    refused = published.run(out, environment=published.client.environment)
    last = refused.stderr.strip().splitlines()[-1]
    assert refused.code in (3, 4) and str(out / path).startswith(last.removeprefix("error: ").split(":")[0]), last
    assert [p for p in out.rglob("*") if p.is_file()] == [out / path] and (out / path).read_bytes() == OWN


def test_the_users_own_files_beside_results(published, tmp_path):
    """Never touched, or moved aside where their names are those of our own; all at once."""
    out = tmp_path / "out"
    write_own(out, *BESIDE)

    def kept():
        return len([p for p in out.rglob("*") if p.is_file() and not p.is_symlink() and p.read_bytes() == OWN])

    kill_a_run(published, out)
    good(published.run(out, environment=published.client.environment))
    assert kept() == len(BESIDE)
    kill_a_run(published, out)
    good(published.run(out, "--prune", "--evict", environment=published.client.environment))
    assert kept() == len(BESIDE)
    assert tables(out) == tables(published.root / "out")


CACHED = ["blobs/notes", "refs/mine", "snapshots/{}/notes.txt", "snapshots/mine/model.safetensors", "../models--org--other/blobs/x"]


def test_the_users_own_files_in_the_cache_are_never_touched(published, tmp_path):
    """--evict takes what this program downloaded, whatever else lies there."""
    client = Client(published.client.hub, tmp_path)
    good(published.run(tmp_path / "first", environment=client.environment))
    paths = [client.repository() / path.format(published.commit) for path in CACHED]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(OWN)
    weights = client.repository() / "snapshots" / published.commit / "model.safetensors"
    assert weights.exists()
    result = good(published.run(tmp_path / "second", "--evict", environment=client.environment))
    assert "H: " in result.stderr and "removed from the cache" in result.stderr and not weights.exists()
    assert all(path.read_bytes() == OWN for path in paths)
    # Weights that are a file of the user's own, not a link to bytes that were downloaded.
    weights.write_bytes((published.root / "B" / "model.safetensors").read_bytes())
    good(published.run(tmp_path / "third", "--evict", environment=client.environment))
    assert weights.read_bytes() == (published.root / "B" / "model.safetensors").read_bytes()
    assert all(tables(tmp_path / out) == tables(published.root / "out") for out in ("first", "second", "third"))


def test_weights_in_the_place_of_results(tmp_path):
    """Weights in ./checkpoints/step-100, a pattern that finds them, and the results beside them."""
    study = Study(tmp_path / "study")
    weights = study.root / "checkpoints" / "step-100"
    shutil.move(study.root / "A", weights)
    study.write(model="checkpoints", phases=[{"name": "P", "context": LENGTH, "revisions": "step-*"}])
    before = {p.name: p.read_bytes() for p in weights.iterdir()}
    for _ in range(2):
        result = study.run(study.root)
        assert result.code == 3 and "step-100: not written by ropewalk" in result.stderr and "--out" in result.stderr
    assert {p.name: p.read_bytes() for p in weights.iterdir()} == before


# Failures


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
    """Documents are chosen for the longest context that the file states."""
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
    """Its weights and vectors are finite, but not what a capture would hold of them in float32."""
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
    assert "documents of 'A'; run the same command again to go on" in last
    done = int(last.split("stopped after ")[1].split()[0])
    assert done > 0
    dry = good(study.run(out, "--dry-run"))
    assert f"measure, {done} of 6400 documents done" in dry.stdout
    labels(study, ("renamed", "A"))
    study.write(corpus={"path": "corpus.jsonl"}, phases=[{"name": "P", "context": LENGTH, "checkpoints": [
        {"label": "init", "random": 0}, {"label": "renamed", "path": "A"}]}])  # fmt: skip
    again = good(study.run(out))
    assert f"renamed: going on after {done} documents" in again.stderr
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
        process = subprocess.Popen([engine.program(), "run", study.root / "study.yaml", "--out", out, "--format", "json",
                                    "--quiet"])  # fmt: skip
        time.sleep(dice.uniform(0.2, 1.0) * whole)
        process.send_signal(signal.SIGKILL)
        process.wait()
    good(study.run(out))
    assert tables(out) == tables(fresh)
    assert [p.name for p in out.rglob(".*") if p.name != ".lock"] == []


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


# What a stranger found


def test_a_capture_that_is_not_as_it_was_written(study, tmp_path):
    """One bit in the middle of the moments: no header tells, but tables made of them would be wrong."""
    out = study.root / "out"
    path = out / "checkpoints" / "A" / "moments.safetensors"
    for change in (lambda: (out / "qk.csv").unlink(), lambda: study.write(corpus={"path": "corpus.jsonl", "documents": 16})):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0x10
        path.write_bytes(data)
        change()
        result = good(study.run(out))
        assert "A/moments.safetensors: is not as it was written" in result.stderr
    good(study.run(tmp_path / "fresh"))
    lines = [[line for line in (folder / "qk.csv").read_text().splitlines() if ",A," in line] for folder in (out, tmp_path / "fresh")]
    assert lines[0] == lines[1]


def without_hash(capture, change):
    """Changes tensors of a capture, which says nothing of the file's hash afterwards: so it was written."""
    path = capture / "moments.safetensors"
    with safe_open(path, "pt") as file:
        tensors, metadata = load_file(path), file.metadata()
    change(tensors)
    save_file(tensors, path, metadata)
    description = capture / "capture.json"
    description.write_text(json.dumps({**json.loads(description.read_text()), "moments": ""}))


def test_a_whole_capture_that_cannot_be_analysed_is_left(study):
    """Hours of a GPU: only wrong bytes are a reason to measure again."""
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
        assert "tensor 'query.mean'" in last and f"{capture} is left as it is" in last, last
    labels = {line.split(",")[1] for line in (out / "qk.csv").read_text().splitlines()[1:]}
    assert labels == set(old) - {"A"}, "the others have tables"


def test_a_damaged_capture_that_cannot_be_removed(study):
    out = study.root / "out"
    good(study.run(out))  # the study was copied: captures note where the model is now
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
    assert f"{folder}: cannot remove: Permission denied" in last and "is not as it was written" in last, last
    assert (folder / "moments.safetensors").read_bytes() == data
    good(study.run(out))


def test_damaged_vectors_are_written_again(study):
    """Other bytes are seen at once, as many others where tables are made of the capture."""
    study.write(vectors="all")
    out = study.root / "out"
    good(study.run(out))
    file = out / "checkpoints" / "A" / "vectors" / "l01h00k" / "data.parquet"
    whole = file.read_bytes()
    file.write_bytes(b"no parquet")
    result = good(study.run(out))
    assert "A: measured again: its capture is damaged" in result.stderr and "A/vectors: holds " in result.stderr
    assert file.read_bytes() == whole
    file.write_bytes(bytes([*whole[:100], whole[100] ^ 1, *whole[101:]]))
    (out / "qk.csv").unlink()
    assert "A/vectors: are not as they were written; 'A' is measured again" in good(study.run(out)).stderr
    assert file.read_bytes() == whole


def test_what_a_desktop_leaves_in_a_capture(study):
    out = study.root / "out"
    old = inodes(out)
    (out / "checkpoints" / "A" / ".DS_Store").write_bytes(b"Bud1")
    good(study.run(out))
    assert inodes(out) == old
    (out / "checkpoints" / "A" / ".notes").write_bytes(OWN)
    result = study.run(out)
    assert result.code == 3 and f"{out}/checkpoints/A/.notes: not written by ropewalk" in result.stderr


@pytest.mark.parametrize("stream", ["0<&-", "2>&-", "0<&- 2>&-"])
def test_closed_streams_are_no_files_of_results(study, stream):
    """The next file that is opened would have the number of a closed one, and lines of the log in it."""
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
    """Where they cannot be drawn, they are missing; the page needs nobody to draw it."""
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
    assert f"{out}/manifest.json: is of another qk.csv" in result.stderr and len(result.stderr.splitlines()) == 2, result.stderr
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
    (out / "checkpoints" / ".gone.state").write_bytes(b"not a state")  # somebody else's
    good(study.run(out, "--prune"))
    assert (out / "checkpoints" / ".gone.state").exists()


def test_a_kill_while_a_label_changes(study):
    """A temporary file of the killed run inside a capture, and an empty folder in the place of another."""
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
        assert result.code == 4 and f"{out / '.lock'}: " in result.stderr
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before
        (out / ".lock").unlink()
    os.mkfifo(out / ".lock")
    assert study.run(out).code == 4
