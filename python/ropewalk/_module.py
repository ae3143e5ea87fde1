"""Finds the extension module, with the torch and pyarrow that it needs."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
import sys
from typing import Any

from . import _build


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _parts(version: str, count: int) -> str:
    return ".".join(version.split("+")[0].split(".")[:count])


def _check(package: str, built: str, count: int) -> None:
    """Raises ImportError where another version is installed than the module was built with: their C++ interfaces differ."""
    found = _installed(package)
    if found is not None and _parts(found, count) != _parts(built, count):
        wanted = _parts(built, count)
        raise ImportError(
            f"ropewalk {_build.VERSION} was built with {package} {built} and finds {package} {found}: "
            f"install {package} {wanted}, or install ropewalk again in this environment"
        )


def check_torch() -> None:
    """Called by `import ropewalk`; it does not import torch, which takes seconds."""
    _check("torch", _build.TORCH, 2)


@functools.cache
def core() -> Any:
    """The extension module. Its libraries are those that torch and pyarrow have loaded."""
    check_torch()
    _check("pyarrow", _build.PYARROW, 1)
    for package in ("torch", "pyarrow"):
        try:
            importlib.import_module(package)
        except ImportError as error:
            raise ImportError(f"ropewalk computes with {package}, which cannot be imported: {error}") from None
    # Figures are rendered by a child process with vl-convert: by this Python, unless somebody named another.
    os.environ.setdefault("ROPEWALK_PYTHON", sys.executable)
    return importlib.import_module("ropewalk._core")
