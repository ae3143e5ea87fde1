"""What processes tell each other of a measurement, and what follows from it in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Reported(NamedTuple):
    """What one process tells the others."""

    batches: int
    full: bool
    problem: tuple[str, str] | None  # kind and text
    stops: bool  # it measures no more
    closes: bool


class Problem(NamedTuple):
    """Of the first process that has one."""

    process: int
    kind: str
    text: str


class Agreement(NamedTuple):
    """The same in all processes, as all were told the same."""

    problem: Problem | None
    over: bool  # nobody makes an exchange any more
    gone: list[int]  # processes that measure no more
    ready: bool  # every process has its batches


def agreement(said: Sequence[Reported]) -> Agreement:
    """Processes that close together finish what they have. One that stops, or closes alone, ends the measuring of all."""
    problem = next((Problem(process, *one.problem) for process, one in enumerate(said) if one.problem), None)
    over = any(one.stops for one in said) or any(one.closes for one in said) and not all(one.closes for one in said)
    gone = [process for process, one in enumerate(said) if one.stops or one.closes] if over else []
    ready = problem is None and not over and all(one.full or one.closes and one.batches > 0 for one in said)
    return Agreement(problem, over, gone, ready)
