"""Folders of results that nobody named."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path


class TemporaryFolder:
    """Lives as long as this object, in the process that made it: a process that it forks does not take it away."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="ropewalk-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
