"""Loads the extension module, with the torch and pyarrow that it needs."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import _build

# Where the bundled libcurl looks for certificates (Debian's path), and the variables that give another path.
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_CERTIFICATE_SETTINGS = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_DIR")


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _parts(version: str, count: int) -> str:
    return ".".join(version.split("+")[0].split(".")[:count])


def _check(package: str, built: str, count: int) -> None:
    """Raises ImportError where the installed version differs from the one with which the module was built, because C++ interfaces differ."""
    found = _installed(package)
    if found is not None and _parts(found, count) != _parts(built, count):
        wanted = _parts(built, count)
        raise ImportError(
            f"ropewalk {_build.VERSION} was built with {package} {built} but found {package} {found}: "
            f"install {package} {wanted}, or install ropewalk again in this environment"
        )


def check_torch() -> None:
    """Called by `import ropewalk`; it does not import torch, which takes seconds."""
    _check("torch", _build.TORCH, 2)


def check() -> None:
    """Checks that the torch and pyarrow which the module and the program need are installed, without importing them."""
    check_torch()
    _check("pyarrow", _build.PYARROW, 1)
    for package, built in (("torch", _build.TORCH), ("pyarrow", _build.PYARROW)):
        spec = importlib.util.find_spec(package)
        if spec is None:
            raise ImportError(f"ropewalk needs {package}, which is not installed: install {package} {_parts(built, 2)}")
        if package == "torch" and _build.CUDA and not any((Path(folder) / "lib/libtorch_cuda.so").exists() for folder in spec.submodule_search_locations or []):
            raise ImportError(
                f"ropewalk {_build.VERSION} was built for GPUs, with torch {built}, but found a torch without CUDA: "
                "install torch for CUDA, or install ropewalk again in this environment"
            )


def set_environment() -> None:
    """Sets environment variables that the library reads, unless the user set them."""
    # Figures are rendered by a child process with vl-convert.
    os.environ.setdefault("ROPEWALK_PYTHON", sys.executable)
    ready_made = Path(__file__).parent / "experiments"
    if ready_made.is_dir():
        os.environ.setdefault("ROPEWALK_EXPERIMENTS", str(ready_made))
    if not _CERTIFICATES.exists() and not any(name in os.environ for name in _CERTIFICATE_SETTINGS):
        try:
            import certifi
        except ImportError:
            return
        os.environ["SSL_CERT_FILE"] = certifi.where()


@functools.cache
def core() -> Any:
    """The extension module. It uses the libraries that torch and pyarrow have loaded."""
    check()
    with _without_interrupts():
        for package in ("torch", "pyarrow"):
            try:
                importlib.import_module(package)
            except ImportError as error:
                raise ImportError(f"ropewalk needs {package}, which cannot be imported: {error}") from None
        set_environment()
        found = importlib.import_module("ropewalk._core")
        atexit.register(_end_jobs, found, os.getpid())
        return found


def _end_jobs(found: Any, process: int) -> None:
    """Ends the jobs of daemon threads; a forked process has none."""
    if os.getpid() == process:
        found.end_jobs()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Delays Ctrl-C: after an interrupted import of torch, a second import ends the process."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
