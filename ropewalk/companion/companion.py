# The companion of ropewalk: a child process that does what Python libraries do best. The program contains this text
# and runs it with three names defined: SOURCES, the texts of the tasks by name; PARENT, the id of the parent process,
# with which this process ends; and REQUESTS, the file at descriptor 4.
#
# Requests arrive on descriptor 4 and answers leave on descriptor 3: lines of JSON, {"id": …, "task": …, "arrays":
# [{"name", "type", "shape"}]}, each followed by the bytes of its arrays, little-endian. An answer has the id of its
# request, and `error` and `kind` where something went wrong. {"beat": …} is a sign of life. What libraries print goes to
# standard error.
import contextlib
import json
import math
import os
import queue
import resource
import signal
import threading
import time
import types

signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and closes the requests
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_SETMASK, [])
for stream in map(int, os.listdir("/proc/self/fd")):  # files that the parent's libraries left open
    with contextlib.suppress(OSError):
        if stream > 4:
            os.close(stream)
for stream in (3, 4):
    os.set_inheritable(stream, False)
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

SIZES = {"u1": 1, "i4": 4, "i8": 8}
answering = threading.Lock()


class Refused(Exception):
    """A task cannot answer. `kind` says why: refused, missing (a package), memory, dropped (ask again)."""

    def __init__(self, text, kind="refused"):
        super().__init__(text)
        self.kind = kind


def send(words, arrays=None):
    """Sends one answer. `arrays` holds pairs of type and bytes, by name."""
    frames = [(name, kind, memoryview(data).cast("B")) for name, (kind, data) in (arrays or {}).items()]
    words["arrays"] = [{"name": name, "type": kind, "shape": [len(data) // SIZES[kind]]} for name, kind, data in frames]
    with answering:
        for part in (memoryview(json.dumps(words).encode() + b"\n"), *(data for _, _, data in frames)):
            while part:
                try:
                    part = part[os.write(3, part) :]
                except OSError:
                    os._exit(1)  # the parent has gone


def beat():
    """Sends a sign of life every second. Native code that blocks the interpreter for ever stops the signs, and the parent then
    ends this process. Where the parent has gone, the timer's signal ends it, without any help of Python code."""
    while True:
        signal.setitimer(signal.ITIMER_PROF, 60.0 * (os.cpu_count() or 1))
        send({"beat": True})
        time.sleep(1)
        if os.getppid() != PARENT:  # a fork of the parent may keep the requests open
            os._exit(0)


def one_line(error):
    return " ".join(str(error).split()) or type(error).__name__


def work(task, requests):
    """Answers the requests of one task, in order; each task has a thread of its own."""
    module = None
    while True:
        words, arrays = requests.get()
        try:
            if module is None:
                made = types.ModuleType(task)
                made.Refused = Refused
                exec(compile(SOURCES[task], f"ropewalk/companion/{task}.py", "exec"), made.__dict__)
                module = made
            answer, answer_arrays = module.answer(words, arrays)
        except Refused as error:
            answer, answer_arrays = {"error": str(error), "kind": error.kind}, None
        except MemoryError:
            answer, answer_arrays = {"error": "out of memory", "kind": "memory"}, None
        except BaseException as error:  # panics of Rust are not of type Exception
            answer, answer_arrays = {"error": one_line(error), "kind": "refused"}, None
        send({"id": words["id"], **answer}, answer_arrays)
        del words, arrays, answer, answer_arrays


def main():
    threading.Thread(target=beat, daemon=True).start()
    tasks = {}
    while line := REQUESTS.readline():
        words = json.loads(line)
        if words.get("end"):
            break
        arrays = {}
        for array in words.get("arrays", ()):
            size = math.prod(array["shape"]) * SIZES[array["type"]]
            arrays[array["name"]] = REQUESTS.read(size)
            if len(arrays[array["name"]]) != size:
                os._exit(0)
        task = words["task"]
        if task not in tasks:
            tasks[task] = queue.SimpleQueue()
            threading.Thread(target=work, args=(task, tasks[task]), daemon=True).start()
        tasks[task].put((words, arrays))
    os._exit(0)


main()
