"""A signal ends every verb with one line and the right exit code, and leaves no files behind."""

import json
import re
import shutil
import signal
import time

import pytest

import engine
from breakable import INPUT, leftovers, results
from fake_hub import Fault
from fault_verbs import CONTEXT, document, no_report, skip_what_is_not_built, start, verbs  # noqa: F401 (fixtures)
from hub_setup import MODEL, client, hub, model_files  # noqa: F401 (fixtures)

VERBS = ["inspect", "capture", "loss", "analyze", "merge", "export", "compare", "figures", "report", "run", "audit"]


def ended(process, number, began, usual=0):
    """Seconds until it ended by the signal: with one line, or without one if the program was not set up yet."""
    out, err = process.communicate(timeout=60)
    took = time.monotonic() - began
    if process.returncode == usual:
        return took  # it finished before the signal
    if process.returncode == -number:
        assert err == ""
        return took
    assert process.returncode == 128 + number, (process.returncode, err)
    stopped = r"stopped after \d+ of \d+ documents of '.*'; run the same command again to resume"
    assert re.fullmatch(rf"error: (interrupted by signal {number.value}|{stopped})\n", err), err
    return took


def interrupt(begin, number, out, usual=0):
    """Two seconds are promised. The machine may be busy with other things, so there is a second attempt."""
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
            shutil.rmtree(out), out.mkdir()  # it may have finished, and it needs a new folder
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
