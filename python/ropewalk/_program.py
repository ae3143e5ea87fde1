"""Starts the program of this package; the command `ropewalk` calls this."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import NoReturn

from . import _module


def _library_folders() -> list[str]:
    """The folders of torch and pyarrow, where these are in another site-packages than this package, which otherwise finds them next to itself."""
    own_folder = Path(__file__).resolve().parents[1]
    folders = []
    for package, inside in (("torch", "lib"), ("pyarrow", "")):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or [])[:1] if spec else []:
            if Path(folder).resolve().parent != own_folder:
                folders.append(str(Path(folder) / inside))
    return folders


def main() -> NoReturn:
    """Replaces this process by the program, with the same arguments. Raises ImportError where torch or pyarrow differ from the versions with which
    it was built.
    """
    _module.check()
    _module.set_environment()
    if folders := _library_folders():
        os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, [*folders, os.environ.get("LD_LIBRARY_PATH")]))
    os.execv(Path(__file__).parent / "bin" / "ropewalk", sys.argv)
