"""Temporary folders for results without a folder of their own."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path


class TemporaryFolder:
    """A temporary folder that exists as long as this object does, in the process that created it; a forked process does not remove it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="ropewalk-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
