"""How processes of the tests begin, meet, and end."""

import datetime
import os
import subprocess
import sys
import tempfile

from torch import distributed

# After so many seconds, processes give up waiting for each other. Who waits for a process that does not come waits for
# ever, so that any limit finds it; a busy machine may need more than the ten that are promised.
LIMIT = 60


def begin():
    """By a file: a port may be somebody else's."""
    distributed.init_process_group(
        "gloo", init_method=f"file://{os.environ['MEETING']}", rank=int(os.environ["RANK"]), world_size=2, timeout=datetime.timedelta(seconds=LIMIT)
    )


def end():
    """Without Python's own end. Threads of gloo (`ProcessGroupGloo::runLoop`) let go of tensors a moment after whoever waited for
    them goes on, and need Python for it; where Python is ending, it ends such a thread, and C++ ends the process with
    'terminate called without an active exception'. Torch does that by itself: in about one of 100 processes that gather an object and end."""
    distributed.barrier()
    sys.stdout.flush()
    os._exit(0)


def two_processes(*arguments, script="watch_processes.py"):
    """What each of them wrote."""
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
