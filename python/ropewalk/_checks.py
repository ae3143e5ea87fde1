"""Checks of arguments. Errors say what was found and what was expected."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import SystemError, UsageError  # noqa: A004


def whole(name: str, value: Any, least: int, most: int = 2**63 - 1) -> int:
    """An integer of any integer type, such as numpy's, but not a bool."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise UsageError(f"{name}: found {value!r}, expected a whole number from {least} {'on' if most >= 2**52 else f'to {most}'}")
    return number


def positive(name: str, value: Any) -> float:
    number = _number(value)
    if not (number > 0 and math.isfinite(number)):
        raise UsageError(f"{name}: found {value!r}, expected a number above 0")
    return number


def share(name: str, value: Any) -> float:
    number = _number(value)
    if not 0 <= number <= 1:
        raise UsageError(f"{name}: found {value!r}, expected a number from 0 to 1")
    return number


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def components(value: Any) -> int:
    return whole("components", value, 1, 1024)


def layers(value: int | Sequence[int] | None, known: int | None) -> tuple[int | None, frozenset[int] | None]:
    """The number of layers, and the layers to measure; None: all."""
    if value is None:
        return known, None
    most = known or 2**31
    try:
        chosen = [whole("layer", layer, 0, most - 1) for layer in value] if isinstance(value, Sequence) else list(range(whole("layers", value, 1, most)))
    except UsageError:
        chosen = []
    if not chosen:
        raise UsageError(f"layers: found {value!r}, expected layer numbers from 0 to {known - 1 if known else '…'}, or the number of layers")
    return known or max(chosen) + 1, frozenset(chosen)


def folder(path: str | os.PathLike[str]) -> Path:
    """The folder; it is created where it is missing."""
    made = Path(path)
    try:
        made.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SystemError(f"{made}: cannot be a results folder: {error.strerror}") from None
    return made
