"""What happens after an error in a watch: the training is worth more than its measurements."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

from ._listener import log
from .errors import Error, InputError, SystemError, UsageError  # noqa: A004

DROPPED = "this measurement is dropped, and training continues"

CHOICES = ("warn", "raise")

_KINDS: dict[str, type[Error]] = {kind.__name__: kind for kind in (UsageError, InputError, SystemError)}


class Faults:
    """Warns of an error once per kind, or raises it where the user wants that; with several processes in all of them, at the next exchange."""

    def __init__(self, errors: str) -> None:
        if errors not in CHOICES:
            raise UsageError(f"errors: found {errors!r}, expected 'warn' or 'raise'")
        self.raised = errors == "raise"
        self.awaited = False  # the other processes wait for this one at the next exchange, where it tells them what to raise
        self._pending: BaseException | None = None  # to be raised in all processes
        self._of_all: BaseException | None = None  # raised by all processes
        self._said: set[tuple[str, str]] = set()

    def guard(self, work: Callable[..., None], *arguments: Any, then: str = DROPPED) -> None:
        """Calls `work` such that its errors do not end the training, unless the user wants that."""
        try:
            work(*arguments)
        except Exception as error:
            self.take(error, then)

    def take(self, error: BaseException, then: str = DROPPED) -> None:
        """Handles an error of this process; `then` says what is done about it."""
        if not self.raised:
            self.warn(_of_watch(error_line(error)), error, then)
        elif self.awaited and error is not self._of_all:
            self._pending = error
        else:
            raise error

    def take_of_all(self, kind: str, text: str, first: bool) -> None:
        """Handles an error that all processes know; the `first` process warns of it."""
        error = rebuild_error(kind, _of_watch(text))
        if self.raised:
            self._of_all = error
            raise error
        if first:
            self.warn(str(error), error, DROPPED)

    def pending(self) -> BaseException | None:
        """The error to tell or to raise; it is returned once."""
        error, self._pending = self._pending, None
        return error

    def warn(self, text: str, error: BaseException, then: str) -> None:
        if isinstance(error, OSError):
            kind = "", "OSError"  # the system refuses something, whatever the message
        else:
            kind = re.sub(r"\d+", "#", text) if isinstance(error, Error) else "", type(error).__name__
        if kind in self._said:
            return
        self._said.add(kind)
        with contextlib.suppress(Exception):  # errors of a log handler that the training installed
            log.warning("%s; %s", text, then)


def _of_watch(text: str) -> str:
    return text if text.startswith("watch: ") else f"watch: {text}"


def error_line(error: BaseException) -> str:
    """The error as one line. Errors that are not ours begin with their type."""
    text = " ".join(str(error).split())
    return text if isinstance(error, Error) else f"{type(error).__name__}: {text}" if text else type(error).__name__


def kind_of(error: BaseException) -> str:
    """A key from which `rebuild_error` makes the same exception in another process."""
    return next((name for name, kind in _KINDS.items() if isinstance(error, kind)), "")


def rebuild_error(kind: str, text: str) -> Error:
    return _KINDS.get(kind, Error)(text)
