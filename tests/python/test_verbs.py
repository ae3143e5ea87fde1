"""The verbs as functions, against the program."""

import concurrent.futures
import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import numpy as np
import pytest
import ropewalk
from conftest import ropewalk as program

TABLES = ("qk.csv", "heads.csv", "bands.csv", "curves.csv", "changes.csv", "summary.json")
SETTINGS = dict(context=40, blocks=4, dtype="float32", device="cpu")


def options(settings):
    return [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", value)]


def test_run_gives_the_programs_files(source, folder, tmp_path):
    study = ropewalk.run(source.root / "study.yaml", tmp_path / "out", format=["json"])
    assert study.folder == tmp_path / "out" and list(study.checkpoints.label) == ["init", "A", "B"]
    for name in TABLES:
        assert (study.folder / name).read_bytes() == (folder / name).read_bytes(), name
    before = (study.folder / "qk.csv").stat().st_mtime_ns
    ropewalk.run(source.root / "study.yaml", tmp_path / "out", format=["json"])
    assert (study.folder / "qk.csv").stat().st_mtime_ns == before, "what is finished is kept"


def test_capture_of_files_and_of_documents(source, tmp_path):
    model, corpus = source.root / "A", source.root / "corpus.jsonl"
    program("capture", model, "--corpus", corpus, "--out", tmp_path / "program", *options(SETTINGS), "--quiet")
    expected = (tmp_path / "program" / "moments.safetensors").read_bytes()
    capture = ropewalk.capture(model, corpus, tmp_path / "module", **SETTINGS)
    assert (tmp_path / "module" / "moments.safetensors").read_bytes() == expected
    assert capture.info["label"] == "A"
    tokens = [json.loads(line)["tokens"] for line in corpus.read_text().splitlines()]
    for documents in (tokens, [{"tokens": row, "other": 1} for row in tokens], [np.array(row) for row in tokens]):
        given = ropewalk.capture(model, documents, **SETTINGS)
        for name, array in capture.tensors.items():
            np.testing.assert_array_equal(given.tensors[name], array, err_msg=name)


def test_loss(source, tmp_path):
    made = ropewalk.loss(source.root / "A", source.root / "corpus.jsonl", tmp_path / "out", context=40, label="A")
    done = program("loss", source.root / "A", "--corpus", source.root / "corpus.jsonl", "--out", tmp_path / "same", "--context", 40, "--label", "A", "--quiet")
    assert done == ""
    for name in ("loss.csv", "loss_documents.csv"):
        assert (made.path / name).read_bytes() == (tmp_path / "same" / name).read_bytes()
    assert made.table.loss[0] == made.value and made.table.loss_se[0] == made.se > 0
    assert made.table.position[1:].tolist() == [0, 1, 2, 4, 8, 16, 32]
    assert made.table.documents[0] == len(made.documents)
    assert (made.documents.tokens == 39).all()
    assert made.documents.loss.mean() == pytest.approx(made.value, rel=1e-6)
    temporary = ropewalk.loss(source.root / "A", [list(range(1, 41))] * 8, context=40)
    folder = temporary.path
    assert folder.exists() and f"{temporary.value:.4f}" in repr(temporary)
    del temporary
    assert not folder.exists()


def test_ablate(source, tmp_path):
    """The same tables as the program's, also of a capture that lies in a temporary folder."""
    rows = [list(json.loads(line)["tokens"]) for line in (source.root / "corpus.jsonl").read_text().splitlines()]
    others = [row[::-1][:40] for row in rows[:4]]
    settings = dict(controls=2, format=["json"])
    captured = ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", tmp_path / "capture", context=40, label="A")
    made = ropewalk.ablate(captured, others, ["top:dist_range:20%", "layer:0"], "distance,window:8", tmp_path / "out", **settings)
    (tmp_path / "others.jsonl").write_text("".join(json.dumps({"tokens": row}) + "\n" for row in others))
    program("ablate", tmp_path / "capture", "--corpus", tmp_path / "others.jsonl", "--heads", "top:dist_range:20%", "--heads", "layer:0",
            "--edit", "distance,window:8", "--controls", 2, "--format", "json", "--out", tmp_path / "same", "--quiet")  # fmt: skip
    for name in ("ablate.csv", "ablate_positions.csv", "ablate_documents.csv", "ablate_controls.csv", "figures/ablate.vl.json"):
        assert (made.path / name).read_bytes() == (tmp_path / "same" / name).read_bytes()
    assert made.table[["set", "edit"]].values.tolist() == [[name, edit] for name in ("top:dist_range:20%", "layer:0") for edit in ("distance", "window:8")]
    assert made.table.real.isna().all() and (made.table.documents == 4).all()
    assert len(made.documents) == 16 and made.positions.position.min() == 0
    first = made.documents[(made.documents.set == "layer:0") & (made.documents.edit == "window:8")]
    assert first.dloss.mean() == pytest.approx(made.table.dloss[3], rel=1e-6)
    assert made.controls.draw.isna().sum() == 4, "the sets themselves"
    assert "layer:0 window:8" in repr(made)
    assert made.figure().name == "ablate" and made.figure().spec["vconcat"]
    temporary = ropewalk.ablate(tmp_path / "capture", others, "0.0", "head", controls=0, format=["json"])
    folder = temporary.path
    assert folder.exists()
    del temporary
    assert not folder.exists()


def test_a_temporary_capture_lives_as_long_as_its_result(source):
    capture = ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", **SETTINGS)
    kept = capture._kept.path
    assert kept.is_dir() and capture.heads
    del capture
    assert not kept.exists()


def test_capture_of_a_model_in_memory(source):
    """What has `save_pretrained` is a model."""
    import shutil

    model = types.SimpleNamespace(
        save_pretrained=lambda folder: shutil.copytree(source.root / "A", folder), config=types.SimpleNamespace(_name_or_path="org/tiny")
    )
    capture = ropewalk.capture(model, source.root / "corpus.jsonl", **SETTINGS)
    expected = ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", **SETTINGS)
    assert capture.info["label"] == "tiny" and capture.info["weights"] == expected.info["weights"]


def test_a_capture_of_captured_vectors(source, tmp_path):
    ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", tmp_path / "a", vectors="all", **SETTINGS)
    made = ropewalk.capture(vectors_from=tmp_path / "a")
    info = json.loads((tmp_path / "a" / "capture.json").read_text())
    assert made.info["label"] == "a" and made.info["weights"].startswith("vectors:") and made.info["documents"] == info["documents"]


def test_analyze_figures_and_export(source, folder, tmp_path):
    captures = [folder / "checkpoints" / label for label in ("A", "B")]
    study = ropewalk.analyze(captures, tmp_path / "tables", components=3, between=[("A", "B")])
    program("analyze", *captures, "--out", tmp_path / "theirs", "--components", 3, "--between", "A,B", "--quiet")
    for name in TABLES:
        assert (study.folder / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name
    (tmp_path / "tables" / "notes.txt").write_text("mine")
    with pytest.raises(ropewalk.UsageError, match="holds notes.txt, which ropewalk analyze did not write"):
        ropewalk.analyze(captures, tmp_path / "tables")
    assert len(ropewalk.analyze(captures[0]).heads) == len(study.heads) / 2
    files = ropewalk.figures(study, tmp_path / "figures", format=["json"], statistic=["pr_q"], portrait=[("r2cv_q", "pr_q")])
    assert {study.figure("pr_q").name + ".vl.json", study.portrait("r2cv_q", "pr_q").name + ".vl.json"} <= {path.name for path in files}
    out = ropewalk.export(captures[0], "q-filters", tmp_path / "filters")
    assert {path.name for path in out.iterdir()} == {"model.safetensors", "config.json", "ropewalk.json"}


def test_inspect_and_audit(source, tmp_path):
    found = ropewalk.inspect(source.root / "A", context=40, memory="1GiB")
    assert found == json.loads(program("inspect", source.root / "A", "--context", 40, "--memory", "1GiB", "--json")) and found["layers"] == 2
    assert ropewalk.audit(source.root / "study.yaml") == []
    settings = json.loads((source.root / "study.yaml").read_text())
    settings["phases"][0]["checkpoints"].append({"label": "again", "path": str(source.root / "A")})
    settings["corpus"]["path"] = str(source.root / "corpus.jsonl")
    for checkpoint in settings["phases"][0]["checkpoints"]:
        if "path" in checkpoint:
            checkpoint["path"] = str(source.root / checkpoint["path"])
    (tmp_path / "double.yaml").write_text(json.dumps(settings))
    (finding,) = ropewalk.audit(tmp_path / "double.yaml")
    assert finding.kind == "duplicate" and "again" in finding.text


@pytest.mark.parametrize("verb", ["run", "capture", "loss", "ablate", "analyze", "figures", "inspect", "audit", "export"])
def test_every_option_is_a_keyword(verb):
    import inspect

    there = {name.strip("_") for name in inspect.signature(getattr(ropewalk, verb)).parameters}
    named = {name.replace("-", "_") for name in re.findall(r"^  (?:-\w,)?--([a-z][\w-]*)", program(verb, "--help"), re.M)}
    # Of the whole program; `inspect` always gives JSON; what a run would do is for people to read; `study.figures` is the list.
    missing = named - there - {"help", "quiet", "log_level", "version", "json", "dry_run", "list"}
    assert named and missing <= ({"no_pre_rope"} if verb == "capture" else set())


WRONG = {
    "InputError": (lambda source, out: ropewalk.capture(source.root, source.root / "corpus.jsonl", out), "config.json"),
    "UsageError": (lambda source, out: ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", out, context=-1), "context"),
    "SystemError": (lambda source, out: ropewalk.capture(source.root / "A", source.root / "nothing.jsonl", out), "nothing.jsonl"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_errors_are_one_line(source, tmp_path, kind):
    call, word = WRONG[kind]
    with pytest.raises(getattr(ropewalk, kind), match=re.escape(word)) as error:
        call(source, tmp_path / "out")
    assert "\n" not in str(error.value) and not (tmp_path / "out").exists()


def test_documents_that_are_none(source):
    with pytest.raises(ropewalk.UsageError, match="document 1 is NoneType"):
        ropewalk.capture(source.root / "A", [[1, 2], None])
    for documents, message in {"dict of .'train'.": {"train": [[1, 2]]}, "bytes": b"abc", "document 0 is list": [[1.5]], "document 0 is bytes": [b"abc"]}.items():
        with pytest.raises(ropewalk.UsageError, match=documents):
            ropewalk.capture(source.root / "A", message)
    with pytest.raises(ropewalk.UsageError, match="inspect: found int, expected a path"):
        ropewalk.inspect(3)
    with pytest.raises(ropewalk.UsageError, match="UTF-8"):
        ropewalk.inspect("\udc80")
    with pytest.raises(ropewalk.UsageError, match="corpus: found NoneType"):
        ropewalk.capture(source.root / "A", None)
    with pytest.raises(ropewalk.UsageError, match="model: found int"):
        ropewalk.capture(3, [[1, 2]])


def test_threads_are_for_one_call(source):
    """torch keeps one number of threads for the whole program: training, and the next call, get theirs back."""
    import torch

    def seen():  # by a thread that comes later
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: (torch.zeros(8).sum(), torch.get_num_threads())[1]).result()

    before = seen()
    ropewalk.inspect(source.root / "A", threads=before + 1)
    assert seen() == before


def test_lines_go_to_logging(source, tmp_path, caplog):
    with caplog.at_level(logging.INFO, "ropewalk"):
        ropewalk.run(source.root / "study.yaml", tmp_path / "out", format=["json"])
    assert any(record.name == "ropewalk" and "figures" in record.getMessage() for record in caplog.records)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "ropewalk"):
        ropewalk.run(source.root / "study.yaml", tmp_path / "again", format=["json"])
    assert not [record for record in caplog.records if record.levelno < logging.WARNING]


def test_progress_is_shown_where_asked(source, tmp_path, capsys):
    ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", tmp_path / "out", progress=True, **SETTINGS)
    assert "capture" in capsys.readouterr().err
    ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", tmp_path / "quiet", progress=False, **SETTINGS)
    assert capsys.readouterr().err == ""


def test_python_goes_on_meanwhile(source, tmp_path):
    """Another thread counts while this one measures."""
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.monotonic()
    ropewalk.run(source.root / "study.yaml", tmp_path / "out", format=["json"])
    seconds = time.monotonic() - start
    done.set()
    thread.join()
    assert counted[0] > 20 * seconds


INTERRUPTED = """
import os, signal, sys, threading, time
import ropewalk
ropewalk._module.core()
print("ready", flush=True)
threading.Timer(float(sys.argv[2]), lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    ropewalk.capture(sys.argv[1] + "/A", sys.argv[1] + "/long.jsonl", sys.argv[1] + "/interrupted", context=40, dtype="float32", device="cpu")
    print("finished")
except KeyboardInterrupt:
    print("interrupted")
capture = ropewalk.capture(sys.argv[1] + "/A", sys.argv[1] + "/corpus.jsonl", context=40)
print(len(capture.heads))
"""


def test_ctrl_c(source):
    """Stops, leaves nothing behind, and the next call works."""
    rows = [json.loads(line) for line in (source.root / "corpus.jsonl").read_text().splitlines()]
    (source.root / "long.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows * 4000))
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, source.root, "1.0"], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["ready", "interrupted", "8"], done.stdout + done.stderr
    assert not [path for path in source.root.iterdir() if "interrupted" in path.name]
    (source.root / "long.jsonl").unlink()


DAEMON = """
import sys, threading, time
import ropewalk
ropewalk._module.core()
capture = lambda: ropewalk.capture(sys.argv[1] + "/A", sys.argv[1] + "/long.jsonl", context=40, dtype="float32", device="cpu")
for _ in range(2):  # the second one waits for its turn
    threading.Thread(target=capture, daemon=True).start()
time.sleep(0.5)
"""

WAITING = """
import logging, os, signal, sys, threading
import ropewalk
begun = threading.Event()
class Heard(logging.Handler):  # what a job says while it runs
    def emit(self, record):
        begun.set()
logging.getLogger("ropewalk").addHandler(Heard())
logging.getLogger("ropewalk").setLevel(logging.INFO)
capture = lambda: ropewalk.capture(sys.argv[1] + "/A", sys.argv[1] + "/long.jsonl", context=40, dtype="float32", device="cpu")
job = threading.Thread(target=capture, daemon=True)
job.start()
begun.wait()
try:
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    ropewalk.inspect(sys.argv[1] + "/A")
    print("finished")
except KeyboardInterrupt:
    print("interrupted", job.is_alive())
"""


COMPANIONS = """
import os, sys, threading
import ropewalk
def companions():
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words, state = open(f"/proc/{name}/cmdline").read(), open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if state[0] != "Z" and int(state[1]) == os.getpid() and words.split("\\0")[1:2] == ["-P"]:  # not a fork of this process
            found.add(name)
    return found
study, out, seen = ropewalk.open(sys.argv[1]), sys.argv[2], set()
def draw(name):
    threading.Thread(target=lambda: ropewalk.figures(study, f"{out}/{name}", format=["svg"])).start()
    while threading.active_count() > before:
        seen.update(companions())
    return len(companions())
before = threading.active_count()
left = draw("one")
child = os.fork()
if child == 0:
    os.read(os.open(out + "/fifo", os.O_RDONLY), 1)  # keeps everything open meanwhile
    os._exit(0)
print(left, draw("two"), len(seen))
os.close(os.open(out + "/fifo", os.O_WRONLY))
os.waitpid(child, 0)
"""


def test_one_companion_per_verb(folder, tmp_path):
    """It ends with its verb: also where a thread called it that has ended, and beside a fork that holds on to everything."""
    os.mkfifo(tmp_path / "fifo")
    done = subprocess.run([sys.executable, "-c", COMPANIONS, folder, tmp_path], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["0", "0", "2"], done.stdout + done.stderr
    assert (tmp_path / "two" / "taxonomy.svg").exists()


@pytest.mark.parametrize("code, output", [(DAEMON, ""), (WAITING, "interrupted True")])
def test_jobs_of_other_threads(source, code, output):
    """A daemon thread ends with the program, and Ctrl-C is heard while another thread's job runs."""
    rows = [json.loads(line) for line in (source.root / "corpus.jsonl").read_text().splitlines()]
    (source.root / "long.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows * 8000))
    done = subprocess.run([sys.executable, "-c", code, source.root], capture_output=True, text=True, timeout=120)
    (source.root / "long.jsonl").unlink()
    assert (done.returncode, done.stdout.strip()) == (0, output), done.stderr


def test_standard_error_may_be_anything(source, monkeypatch):
    for stream in (None, types.SimpleNamespace(write=lambda text: None)):
        monkeypatch.setattr(sys, "stderr", stream)
        ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", **SETTINGS)


def test_a_listener_cannot_start_another_job(source, monkeypatch):
    """It would wait for itself. The next job runs as ever."""
    from ropewalk import _listener

    monkeypatch.setattr(_listener.Listener, "progress", lambda *_: ropewalk.inspect(source.root / "A"))
    with pytest.raises(ropewalk.UsageError, match="cannot start another"):
        ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", **SETTINGS)
    monkeypatch.undo()
    assert ropewalk.inspect(source.root / "A")["layers"] == 2


def test_a_listener_that_fails_stops_the_work(source, tmp_path, monkeypatch):
    from ropewalk import _listener

    def fail(self, *_):
        raise RuntimeError("the screen is gone")

    monkeypatch.setattr(_listener.Listener, "progress", fail)
    with pytest.raises(RuntimeError, match="the screen is gone"):
        ropewalk.run(source.root / "study.yaml", tmp_path / "out", format=["json"])
