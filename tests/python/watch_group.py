"""How processes of the tests start, meet, and end."""

import datetime
import os
import subprocess
import sys
import tempfile

from torch import distributed

# Processes stop waiting for each other after so many seconds. A process that waits for a missing one waits forever, so any limit finds it; a busy
# machine may need more than the ten that are promised.
LIMIT = 60


def begin():
    """Through a file, because a port may be in use."""
    distributed.init_process_group(
        "gloo", init_method=f"file://{os.environ['MEETING']}", rank=int(os.environ["RANK"]), world_size=2, timeout=datetime.timedelta(seconds=LIMIT)
    )


def end():
    """Ends without Python's own cleanup. Threads of gloo (`ProcessGroupGloo::runLoop`) release tensors a moment after whoever waited for them
    continues, and need Python for it. Where Python is ending, it ends such a thread, and C++ ends the process with 'terminate called without an
    active exception'. Torch alone shows this too: in about one of 100 processes that gather an object and end.
    """
    distributed.barrier()
    sys.stdout.flush()
    os._exit(0)


def two_processes(*arguments, script="watch_processes.py"):
    """The output of each process."""
    script = os.path.join(os.path.dirname(__file__), script)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "MEETING": f"{folder}/meeting"}
        started = [
            subprocess.Popen([sys.executable, script, *map(str, arguments)], env={**environment, "RANK": str(rank)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for rank in range(2)
        ]
        return outputs_of(started)


def outputs_of(started):
    try:
        outputs = [process.communicate(timeout=300)[0] for process in started]
        assert all(process.returncode == 0 for process in started), "\n".join(outputs)
        return outputs
    finally:
        for process in started:
            process.kill()
