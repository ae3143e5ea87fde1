"""Jobs of the program inside Python: threads, logging, progress, interrupts, and several at the same time."""

import concurrent.futures
import json
import logging
import os
import subprocess
import sys
import threading
import time
import types

import pytest
import ropewalk

from conftest import SETTINGS


def test_threads_are_for_one_call(source):
    """torch has one number of threads for the whole program: the training and the next call get theirs back."""
    import torch

    def seen():  # in a thread that is started later
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
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background may ignore it
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
signal.signal(signal.SIGINT, signal.default_int_handler)  # as above
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
    """A daemon thread ends with the program, and Ctrl-C works while another thread's job runs."""
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
    """It would wait for itself. The next job runs normally."""
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
