"""What becomes of a fault of a watch: training is worth more than what is measured of it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

from ._listener import log
from .errors import Error, InputError, SystemError, UsageError  # noqa: A004

DROPPED = "that measurement is dropped, and training goes on"

CHOICES = ("warn", "raise")

_KINDS: dict[str, type[Error]] = {kind.__name__: kind for kind in (UsageError, InputError, SystemError)}


class Faults:
    """Says a fault once per kind, or raises it where the caller wants that; of several processes in all of them, at the next exchange."""

    def __init__(self, errors: str) -> None:
        if errors not in CHOICES:
            raise UsageError(f"errors: found {errors!r}, expected 'warn' or 'raise'")
        self.raised = errors == "raise"
        self.awaited = False  # others wait for this process at the next exchange, and learn there of what it is to raise
        self._pending: BaseException | None = None  # what all processes are to raise
        self._of_all: BaseException | None = None  # what all processes raise
        self._said: set[tuple[str, str]] = set()

    def guard(self, work: Callable[..., None], *arguments: Any, then: str = DROPPED) -> None:
        """Nothing of ours ends the training, unless that is wanted."""
        try:
            work(*arguments)
        except Exception as error:
            self.take(error, then)

    def take(self, error: BaseException, then: str = DROPPED) -> None:
        """Of this process. `then`: what becomes of it."""
        if not self.raised:
            self.warn(_of_watch(told(error)), error, then)
        elif self.awaited and error is not self._of_all:
            self._pending = error
        else:
            raise error

    def take_of_all(self, kind: str, text: str, first: bool) -> None:
        """All processes were told; the `first` one says it."""
        error = again(kind, _of_watch(text))
        if self.raised:
            self._of_all = error
            raise error
        if first:
            self.warn(str(error), error, DROPPED)

    def pending(self) -> BaseException | None:
        """Once: whoever asks tells the others, or raises it."""
        error, self._pending = self._pending, None
        return error

    def warn(self, text: str, error: BaseException, then: str) -> None:
        if isinstance(error, OSError):
            kind = "", "OSError"  # the machine refuses, in whatever words
        else:
            kind = re.sub(r"\d+", "#", text) if isinstance(error, Error) else "", type(error).__name__
        if kind in self._said:
            return
        self._said.add(kind)
        with contextlib.suppress(Exception):  # of a handler of the training's own
            log.warning("%s; %s", text, then)


def _of_watch(text: str) -> str:
    return text if text.startswith("watch: ") else f"watch: {text}"


def told(error: BaseException) -> str:
    """One line. Errors of others are named by their type."""
    text = " ".join(str(error).split())
    return text if isinstance(error, Error) else f"{type(error).__name__}: {text}" if text else type(error).__name__


def kind_of(error: BaseException) -> str:
    """What `again` makes the same exception of, in another process."""
    return next((name for name, kind in _KINDS.items() if isinstance(error, kind)), "")


def again(kind: str, text: str) -> Error:
    return _KINDS.get(kind, Error)(text)
