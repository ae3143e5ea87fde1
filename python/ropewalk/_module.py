"""Finds the extension module, with the torch and pyarrow that it needs."""

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

# Where the libcurl that is bundled looks for certificates, Debian's, and what says that they are elsewhere.
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


def check() -> None:
    """Whether torch and pyarrow are there, as the module and the program need them; imports neither."""
    check_torch()
    _check("pyarrow", _build.PYARROW, 1)
    for package, built in (("torch", _build.TORCH), ("pyarrow", _build.PYARROW)):
        spec = importlib.util.find_spec(package)
        if spec is None:
            raise ImportError(f"ropewalk computes with {package}, which is not installed: install {package} {_parts(built, 2)}")
        if package == "torch" and _build.CUDA and not any((Path(folder) / "lib/libtorch_cuda.so").exists() for folder in spec.submodule_search_locations or []):
            raise ImportError(
                f"ropewalk {_build.VERSION} was built for GPUs, with torch {built}, and finds a torch without CUDA: "
                "install torch for CUDA, or install ropewalk again in this environment"
            )


def set_environment() -> None:
    """What the library asks the environment for, where nobody set it."""
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
    """The extension module. Its libraries are those that torch and pyarrow have loaded."""
    check()
    with _without_interrupts():
        for package in ("torch", "pyarrow"):
            try:
                importlib.import_module(package)
            except ImportError as error:
                raise ImportError(f"ropewalk computes with {package}, which cannot be imported: {error}") from None
        set_environment()
        found = importlib.import_module("ropewalk._core")
        atexit.register(_end_jobs, found, os.getpid())
        return found


def _end_jobs(found: Any, process: int) -> None:
    """Of daemon threads; a forked process has none of them."""
    if os.getpid() == process:
        found.end_jobs()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C waits: a second import of torch after half a one ends the process."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
