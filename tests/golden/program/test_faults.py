"""Signals, full disks, too little memory and files that vanish, for every verb: one line, nothing half written, and the next run gives the same
bytes. Faults of the Hub are in test_hub_faults.py.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pandas
import pytest

import breakable
import engine
import synthetic_run as synthetic
from breakable import INPUT, SYSTEM, WEIGHTS, Setup
from fault_verbs import CONTEXT, FSIZE, MEMORY, document, limited, no_report, skip_what_is_not_built, start, verbs  # noqa: F401 (fixtures)

WRITERS = ["capture", "loss", "analyze", "merge", "export", "figures", "report", "run"]


# Disks


@pytest.mark.parametrize("verb", WRITERS)
@pytest.mark.parametrize("size", [0, 900])
def test_full_disk(verbs, verb, size, tmp_path):
    """No file may grow: one line that names a file, exit code 4, nothing of the result."""
    out = tmp_path / "out"
    out.mkdir()
    result = engine.run(*verbs.command(verb, out), "--quiet", before=limited(FSIZE, size))
    assert result.code == SYSTEM, (result.code, result.stderr)
    assert re.fullmatch(rf"error: {re.escape(str(out))}/\S+: cannot (write|take .*): .*\n", result.stderr), result.stderr
    kept = {path.name for path in out.rglob("*") if path.is_file()} - {".lock"}
    assert kept == set(), "nothing half-written"


@pytest.mark.parametrize("size", ["200k", "240k", "280k", "320k"])
def test_a_disk_that_fills_up(verbs, tmp_path, size):
    """First for a checkpoint, then for the results of the earlier ones: one line reports it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount")
    try:
        result = engine.run("run", verbs.experiment, "--out", disk / "out", "--format", "json", "--quiet")
    finally:
        subprocess.run(["umount", disk], check=True)
    assert result.code == SYSTEM
    assert re.fullmatch(rf"error: {disk}/out/\S+: cannot write: No space left on device\n", result.stderr), result.stderr


@pytest.mark.parametrize("verb", ["inspect", "compare", "report", "run", "audit"])
def test_standard_output_is_full(verbs, verb, tmp_path):
    command = [*map(str, verbs.command(verb, tmp_path)), *(["--dry-run"] if verb == "run" else [])]
    with open("/dev/full", "w") as full:
        done = subprocess.run([engine.program(), *command, "--quiet"], stdout=full, stderr=subprocess.PIPE, text=True)
    if verb == "audit":  # ends with its findings in any case
        assert done.returncode == INPUT
        return
    assert done.returncode == SYSTEM
    assert done.stderr == "error: standard output: cannot write: No space left on device\n"


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_standard_output_of_help_is_full(option):
    with open("/dev/full", "w") as full:
        done = subprocess.run([engine.program(), option], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == SYSTEM and re.fullmatch(r"error: standard output: cannot write.*\n", done.stderr)


def test_a_reader_that_has_gone(verbs, tmp_path):
    process = start(verbs.command("inspect", tmp_path))
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 128 + signal.SIGPIPE


def test_standard_error_is_full(verbs, tmp_path):
    """The output cannot be written, but the work is done."""
    with open("/dev/full", "w") as full:
        command = [engine.program(), *map(str, verbs.command("analyze", tmp_path))]
        assert subprocess.run(command, stderr=full).returncode == 0
    assert (tmp_path / "tables" / "summary.json").exists()


# Memory


@pytest.fixture(scope="module")
def large(verbs):
    """Inputs of many megabytes."""
    folder = verbs.root / "large"
    table = synthetic.demo_like()
    table = pandas.concat([table.assign(q_head=table.q_head + 100 * i) for i in range(8)])
    synthetic.write(table, folder, summary=False)
    (folder / "tokens.jsonl").write_text("".join(json.dumps(document(key)) + "\n" for key in range(3000)))
    return folder


STEP = 8 << 20


@pytest.fixture(scope="module")
def too_little_to_start():
    """The highest limit, in whole steps, at which the program's libraries cannot be loaded."""
    low, high = 0, (16 << 30) // STEP
    while high - low > 1:
        middle = (low + high) // 2
        starts = engine.run("--version", before=limited(MEMORY, middle * STEP)).code == 0
        low, high = (low, middle) if starts else (middle, high)
    return low * STEP


@pytest.mark.parametrize("verb", ["capture", "analyze", "report"])
def test_too_little_memory(verbs, large, too_little_to_start, verb, tmp_path):
    """With every limit above what the start needs, the program finishes, or reports the problem in one line; it never crashes."""
    said, limit = [], too_little_to_start
    out = tmp_path / "out"
    command = {
        "capture": ["capture", verbs.model, "--corpus", large / "tokens.jsonl", "--out", out, "--context", CONTEXT, "--blocks",
                    256, "--dtype", "float32"],  # with bfloat16, oneDNN reads address 0 where memory is short
        "analyze": ["analyze", verbs.root / "part0", "--out", out / "tables"],
        "report": ["report", large, "--out", tmp_path / "report.html"],
    }[verb]  # fmt: skip
    while True:
        limit += STEP
        result = engine.run(*command, "--quiet", before=limited(MEMORY, limit))
        if not said and re.search("shared librar|terminate called", result.stderr):  # its libraries could not be loaded or initialised
            assert limit < 16 << 30
            continue
        assert result.code in (0, SYSTEM), (result.code, result.stderr)
        if result.code == 0:
            break
        assert re.fullmatch(r"error: .*memory.*\n", result.stderr), result.stderr
        assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []
        said.append(result.stderr)
    assert said, "some limit was too low"


# Files that change while they are read


# Where all files are gone, reading them fails; or it is noticed afterwards, if they were already read.
@pytest.mark.parametrize("left, codes", [(0, (SYSTEM, INPUT)), (-4, (INPUT,))])
def test_weights_cut_off_while_read(tmp_path, left, codes):
    setup = Setup(tmp_path)
    setup.write_corpus([document(key) for key in range(30_000)])
    weights = setup.model / WEIGHTS
    process = start(["capture", setup.model, "--corpus", setup.corpus, "--out", setup.out, "--context", CONTEXT])
    while not os.listdir(setup.parent) and process.poll() is None:
        time.sleep(0.01)
    os.truncate(weights, left if left >= 0 else weights.stat().st_size + left)
    out, err = process.communicate(timeout=60)
    assert process.returncode in codes, err
    assert re.fullmatch(r"error: .*model\.safetensors: .* while it was being read; .*\n", err), err
    assert os.listdir(setup.parent) == []


def test_weights_removed_while_read(tmp_path):
    """Open files stay readable."""
    setup = Setup(tmp_path)
    setup.write_corpus([document(key) for key in range(5000)])
    process = start(["capture", setup.model, "--corpus", setup.corpus, "--out", setup.out, "--context", CONTEXT])
    while not os.listdir(setup.parent) and process.poll() is None:
        time.sleep(0.01)
    shutil.rmtree(setup.model)
    setup.corpus.unlink()
    assert process.communicate(timeout=60)[1] == "" and process.returncode == 0


MISSING = {
    "inspect": (["inspect", "nowhere/x/y"], "nowhere"),
    "capture": (["capture", "nowhere/x/y", "--corpus", "c.jsonl", "--out", "o"], "nowhere"),
    "analyze": (["analyze", "nowhere", "--out", "tables"], "nowhere"),
    "merge": (["merge", "nowhere", "--out", "o"], "nowhere"),
    "compare": (["compare", "nowhere.csv", "--reference", "r.json"], "nowhere"),
    "figures": (["figures", "nowhere.csv", "--out", "o"], "nowhere"),
    "report": (["report", "nowhere"], "nowhere"),
    "run": (["run", "nowhere.yaml"], "nowhere"),
    "audit": (["audit", "nowhere.yaml"], "nowhere"),
}


@pytest.mark.parametrize("verb", MISSING)
def test_what_is_not_there(verb, tmp_path, monkeypatch):
    """A path on the command line that cannot be opened: exit code 4, for every verb."""
    monkeypatch.chdir(tmp_path)
    command, name = MISSING[verb]
    breakable.assert_one_line(engine.run(*command, "--quiet"), (SYSTEM,), name, tmp_path)
    assert os.listdir(tmp_path) == []
