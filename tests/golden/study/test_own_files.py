"""A results folder knows its experiment, and does not touch the user's files."""

import os
import shutil
import signal
import subprocess
import time

import pytest

import engine
from fake_hub import FakeHub
from hub_setup import MODEL, Client
from trust_study import LENGTH, Study, good, inodes, pristine, study, tables  # noqa: F401 (fixtures)


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
    (tmp_path / "other").rename(tmp_path / "moved")  # the same study, from another path
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


def write_own(out, *indexes):
    for index in indexes:
        (out / index).parent.mkdir(parents=True, exist_ok=True)
        (out / index).write_bytes(OWN)


def kill_a_run(study, out):
    process = subprocess.Popen([engine.program(), "run", study.root / "study.yaml", "--out", out, "--quiet"],
                               env={**os.environ, **study.client.environment}, stderr=subprocess.DEVNULL)  # fmt: skip
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("name", IN_THE_WAY)
def test_the_users_own_files_in_the_place_of_results(published, tmp_path, name):
    """Refused before anything is done."""
    out = tmp_path / "out"
    write_own(out, name)
    kill_a_run(published, out)
    refused = published.run(out, environment=published.client.environment)
    last = refused.stderr.strip().splitlines()[-1]
    assert refused.code in (3, 4) and str(out / name).startswith(last.removeprefix("error: ").split(":")[0]), last
    assert [p for p in out.rglob("*") if p.is_file()] == [out / name] and (out / name).read_bytes() == OWN


def test_the_users_own_files_beside_results(published, tmp_path):
    """Never changed; moved aside, all at once, where they have the names of our own files."""
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
    """--evict removes what this program downloaded, and nothing else."""
    client = Client(published.client.hub, tmp_path)
    good(published.run(tmp_path / "first", environment=client.environment))
    indexes = [client.repository() / index.format(published.commit) for index in CACHED]
    for index in indexes:
        index.parent.mkdir(parents=True, exist_ok=True)
        index.write_bytes(OWN)
    weights = client.repository() / "snapshots" / published.commit / "model.safetensors"
    assert weights.exists()
    result = good(published.run(tmp_path / "second", "--evict", environment=client.environment))
    assert "H: " in result.stderr and "removed from the cache" in result.stderr and not weights.exists()
    assert all(index.read_bytes() == OWN for index in indexes)
    # Weights that are a file of the user's own, not a link to downloaded bytes.
    weights.write_bytes((published.root / "B" / "model.safetensors").read_bytes())
    good(published.run(tmp_path / "third", "--evict", environment=client.environment))
    assert weights.read_bytes() == (published.root / "B" / "model.safetensors").read_bytes()
    assert all(tables(tmp_path / out) == tables(published.root / "out") for out in ("first", "second", "third"))


def test_weights_in_the_place_of_results(tmp_path):
    """Weights in ./checkpoints/step-100, a pattern that matches them, and the results in the same folder."""
    study = Study(tmp_path / "study")
    weights = study.root / "checkpoints" / "step-100"
    shutil.move(study.root / "A", weights)
    study.write(model="checkpoints", phases=[{"name": "P", "context": LENGTH, "revisions": "step-*"}])
    before = {p.name: p.read_bytes() for p in weights.iterdir()}
    for _ in range(2):
        result = study.run(study.root)
        assert result.code == 3 and "step-100: not written by ropewalk" in result.stderr and "--out" in result.stderr
    assert {p.name: p.read_bytes() for p in weights.iterdir()} == before


def test_what_a_desktop_leaves_in_a_capture(study):
    out = study.root / "out"
    old = inodes(out)
    (out / "checkpoints" / "A" / ".DS_Store").write_bytes(b"Bud1")
    good(study.run(out))
    assert inodes(out) == old
    (out / "checkpoints" / "A" / ".notes").write_bytes(OWN)
    result = study.run(out)
    assert result.code == 3 and f"{out}/checkpoints/A/.notes: not written by ropewalk" in result.stderr
