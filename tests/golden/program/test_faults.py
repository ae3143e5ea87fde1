"""Signals, full disks, too little memory and files that vanish, for every verb: one line, nothing half-done, and the next
run ends with the same bytes. The Hub's own faults are in test_hub_faults.py."""

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import pandas
import pytest

import breakable
import engine
import synthetic_run as synthetic
from breakable import INPUT, SYSTEM, VOCAB, WEIGHTS, Setup, leftovers, results
from fake_hub import Fault
from hub_setup import MODEL, client, hub, model_files  # noqa: F401 (fixtures)

CONTEXT, DOCUMENTS = 48, 1500
FSIZE, MEMORY = resource.RLIMIT_FSIZE, resource.RLIMIT_AS


def document(key, length=CONTEXT):
    return dict(id=key, tokens=random.Random(key).choices(range(VOCAB), k=length))


def limited(kind, size):
    def apply():
        resource.setrlimit(kind, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a dump takes longer than the test

    return apply


class Verbs:
    """Inputs that keep every verb busy for a moment, and what each is called with."""

    def __init__(self, root):
        self.root = root
        self.setup = Setup(root)
        self.setup.write_corpus([document(key) for key in range(DOCUMENTS)])
        self.model, self.corpus = self.setup.model, self.setup.corpus
        for part in ("0/2", "1/2"):
            self.must("capture", self.model, "--corpus", self.corpus, "--out", root / f"part{part[0]}", "--shard", part,
                      "--context", CONTEXT, "--dtype", "float32", "--label", "half", "--blocks", 256)  # fmt: skip
        for label in ("a", "b"):
            shutil.copytree(self.model, root / label)
        table = root / "table"
        synthetic.write(synthetic.demo_like(), table)
        reference = {"mean_r_q": {"s10000": 0.5}}
        (root / "reference.json").write_text(json.dumps(reference))
        self.experiment = root / "run.yaml"
        self.experiment.write_text(json.dumps({
            "name": "Run", "corpus": {"path": "tokens.jsonl"}, "dtype": "float32",
            "phases": [{"name": "P", "context": CONTEXT, "checkpoints": [
                {"label": "init", "random": 1}, {"label": "a", "path": "a"}, {"label": "b", "path": "b"}]}]}))  # fmt: skip

    def must(self, *arguments):
        result = engine.run(*arguments, "--quiet")
        assert result.code == 0, result.stderr

    def command(self, verb, out):
        root, table = self.root, self.root / "table"
        return {
            "inspect": ["inspect", self.model, "--memory", "1GiB"],
            "capture": ["capture", self.model, "--corpus", self.corpus, "--out", out / "capture", "--context", CONTEXT,
                        "--vectors", "uniform", "--dtype", "float32"],
            "loss": ["loss", self.model, "--corpus", self.corpus, "--out", out / "loss", "--context", CONTEXT, "--dtype", "float32"],
            "analyze": ["analyze", root / "part0", "--out", out / "tables", "--components", 4],
            "merge": ["merge", root / "part1", root / "part0", "--out", out / "merged"],
            "export": ["export", root / "part0", "--to", "q-filters", "--out", out / "export"],
            "compare": ["compare", table / "qk.csv", "--reference", root / "reference.json"],
            "figures": ["figures", table / "qk.csv", "--out", out / "figures", "--format", "svg"],
            "report": ["report", table, "--out", out / "report.html"],
            "run": ["run", self.experiment, "--out", out / "run", "--format", "svg"],
            "audit": ["audit", self.experiment],
        }[verb]  # fmt: skip


@pytest.fixture(scope="module")
def verbs(tmp_path_factory):
    return Verbs(tmp_path_factory.mktemp("verbs"))


@pytest.fixture(scope="module")
def no_report():
    return "built without the report" in engine.run("report", "nowhere", "--out", "nowhere").stderr


@pytest.fixture(autouse=True)
def skip_what_is_not_built(request, no_report):
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    if no_report and parameters.get("verb") == "report":
        pytest.skip("built without the report")


VERBS = ["inspect", "capture", "loss", "analyze", "merge", "export", "compare", "figures", "report", "run", "audit"]
WRITERS = ["capture", "loss", "analyze", "merge", "export", "figures", "report", "run"]


def start(command, **environment):
    return subprocess.Popen([engine.program(), *map(str, command), "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env={**os.environ, **environment})  # fmt: skip


def ended(process, number, began, usual=0):
    """Seconds it took to end by the signal: with one line, or as a program does that was not yet set up."""
    out, err = process.communicate(timeout=60)
    took = time.monotonic() - began
    if process.returncode == usual:
        return took  # it was faster
    if process.returncode == -number:
        assert err == ""
        return took
    assert process.returncode == 128 + number, (process.returncode, err)
    stopped = r"stopped after \d+ of \d+ documents of '.*'; run the same command again to go on"
    assert re.fullmatch(rf"error: (interrupted by signal {number.value}|{stopped})\n", err), err
    return took


def interrupt(begin, number, out, usual=0):
    """Two seconds are the promise. The machine may be busy with other things, so there is a second try."""
    for attempt in range(2):
        process = begin()
        began = time.monotonic()
        process.send_signal(number)
        took = ended(process, number, began, usual)
        assert leftovers(out) == []
        if took <= 2:
            return process
    raise AssertionError(f"took {took:.1f} s to end, twice")


@pytest.mark.parametrize("verb", VERBS)
def test_signals(verbs, verb, tmp_path):
    straight, out = tmp_path / "straight", tmp_path / "out"
    straight.mkdir(), out.mkdir()
    began = time.monotonic()
    whole = engine.run(*verbs.command(verb, straight), "--quiet")
    took = time.monotonic() - began
    assert whole.code == (INPUT if verb == "audit" else 0), whole.stderr  # a and b are duplicates

    def begin(part):
        if verb in ("capture", "loss", "merge", "export"):
            shutil.rmtree(out), out.mkdir()  # it may have been faster, and it wants a new folder
        process = start(verbs.command(verb, out))
        time.sleep(part * took)
        return process

    for part, number in [(0.3, signal.SIGINT), (0.55, signal.SIGTERM), (0.8, signal.SIGINT)]:
        interrupt(lambda: begin(part), number, out, whole.code)
    if verb in ("capture", "loss", "merge", "export"):
        shutil.rmtree(out), out.mkdir()
    again = engine.run(*verbs.command(verb, out), "--quiet")
    assert again.code == whole.code, again.stderr
    assert again.stdout.replace(str(out), "") == whole.stdout.replace(str(straight), "")
    assert results(out) == results(straight)


def wait(condition, process):
    deadline = time.monotonic() + 60
    while not condition() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()


def test_signal_to_the_demo(tmp_path):
    """A run by another name, too long to be finished here."""
    out = tmp_path / "out"

    def begin():
        process = start(["demo", "--out", out])
        wait(lambda: (out / "checkpoints").exists(), process)
        return process

    assert interrupt(begin, signal.SIGTERM, out).returncode == 143


@pytest.mark.parametrize("verb, where", [("inspect", "bytes"), ("capture", "bytes"), ("run", "bytes"), ("audit", "api"),
                                         ("run", "api")])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_while_the_hub_is_silent(hub, client, tmp_path, verb, where, number):
    hub.repository(MODEL).commit("main", model_files(shards=1))
    (tmp_path / "tokens.jsonl").write_text("".join(json.dumps(document(key)) + "\n" for key in range(3)))
    (tmp_path / "hub.yaml").write_text(json.dumps({
        "name": "Hub", "model": MODEL, "corpus": {"path": "tokens.jsonl"},
        "phases": [{"name": "P", "context": CONTEXT, "checkpoints": [{"label": "main", "revision": "main"}]}]}))  # fmt: skip
    out = tmp_path / "out"
    command = {
        "inspect": ["inspect", MODEL],
        "capture": ["capture", MODEL, "--corpus", tmp_path / "tokens.jsonl", "--out", out, "--context", CONTEXT],
        "run": ["run", tmp_path / "hub.yaml", "--out", out, "--format", "json"],
        "audit": ["audit", tmp_path / "hub.yaml"],
    }[verb]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**client.environment, "HF_HUB_DOWNLOAD_TIMEOUT": "60", "TMPDIR": str(scratch)}
    hub.always[where] = Fault(stall_after=0)

    def begin():
        hub.requests.clear()
        process = start(command, **environment)
        wait(lambda: hub.asked(where), process)
        return process

    assert interrupt(begin, number, tmp_path).returncode == 128 + number
    assert list(scratch.iterdir()) == []
    hub.always.clear()
    done = client.run(*command, "--quiet")
    assert done.code == 0, done.stderr


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
    """For a checkpoint, and then for the results of those before: one line says it."""
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
    """Nobody can be told, and the work is done all the same."""
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
    """At every limit above what starting takes: it manages, or says so in one line; it never dies of it."""
    said, limit = [], too_little_to_start
    out = tmp_path / "out"
    command = {
        "capture": ["capture", verbs.model, "--corpus", large / "tokens.jsonl", "--out", out, "--context", CONTEXT, "--blocks",
                    256, "--dtype", "float32"],  # oneDNN, of bfloat16, reads address 0 where memory is short
        "analyze": ["analyze", verbs.root / "part0", "--out", out / "tables"],
        "report": ["report", large, "--out", tmp_path / "report.html"],
    }[verb]  # fmt: skip
    while True:
        limit += STEP
        result = engine.run(*command, "--quiet", before=limited(MEMORY, limit))
        if not result.stderr.startswith("error: ") and result.code != 0:
            # Not yet the program: its libraries cannot be loaded, or set themselves up.
            assert re.search("shared librar|terminate called", result.stderr), result.stderr
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


# All of them gone, it is found out by reading them, or afterwards where they were read by then.
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
    """What is open stays readable."""
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
    """A path of the command line that cannot be opened: exit code 4, whatever the verb."""
    monkeypatch.chdir(tmp_path)
    command, name = MISSING[verb]
    breakable.assert_one_line(engine.run(*command, "--quiet"), (SYSTEM,), name, tmp_path)
    assert os.listdir(tmp_path) == []
