"""What becomes of a fault of a watch: training is worth more than what is measured of it."""

from __future__ import annotations

import contextlib
import re

from ._listener import log
from .errors import Error, InputError, SystemError, UsageError  # noqa: A004

DROPPED = "that measurement is dropped, and training goes on"

CHOICES = ("warn", "raise")

_KINDS: dict[str, type[Error]] = {kind.__name__: kind for kind in (UsageError, InputError, SystemError)}


class Faults:
    """Says a fault once per kind, or raises it where the caller wants that."""

    def __init__(self, errors: str) -> None:
        if errors not in CHOICES:
            raise UsageError(f"errors: found {errors!r}, expected 'warn' or 'raise'")
        self.raised = errors == "raise"
        self._said: set[tuple[str, str]] = set()

    def warn(self, text: str, error: BaseException, then: str) -> None:
        """`then`: what becomes of it."""
        if isinstance(error, OSError):
            kind = "", "OSError"  # the machine refuses, in whatever words
        else:
            kind = re.sub(r"\d+", "#", text) if isinstance(error, Error) else "", type(error).__name__
        if kind in self._said:
            return
        self._said.add(kind)
        with contextlib.suppress(Exception):  # of a handler of the training's own
            log.warning("%s; %s", text, then)


def told(error: BaseException) -> str:
    """One line. Errors of others are named by their type."""
    text = " ".join(str(error).split())
    return text if isinstance(error, Error) else f"{type(error).__name__}: {text}" if text else type(error).__name__


def kind_of(error: BaseException) -> str:
    """What `again` makes the same exception of, in another process."""
    return next((name for name, kind in _KINDS.items() if isinstance(error, kind)), "")


def again(kind: str, text: str) -> Error:
    return _KINDS.get(kind, Error)(text)
