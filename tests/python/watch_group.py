"""How processes of the tests meet, and end."""

import datetime
import os
import sys

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
