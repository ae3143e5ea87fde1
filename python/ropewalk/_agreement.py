"""What processes tell each other about a measurement, and what each of them concludes from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Reported(NamedTuple):
    """The message of one process to the others."""

    batches: int
    full: bool
    problem: tuple[str, str] | None  # kind and text
    stops: bool  # the process measures no more
    closes: bool


class Problem(NamedTuple):
    """The problem of the first process that has one."""

    process: int
    kind: str
    text: str


class Agreement(NamedTuple):
    """What follows from all messages. It is the same in all processes, because all have the same messages."""

    problem: Problem | None
    over: bool  # there are no further exchanges
    gone: list[int]  # processes that measure no more
    ready: bool  # every process has all of its batches


def agreement(reports: Sequence[Reported]) -> Agreement:
    """Decides what to do. Processes that close at the same time finish their measurement. A process that stops, or that closes alone, ends the
    measuring in all of them.
    """
    problem = next((Problem(process, *one.problem) for process, one in enumerate(reports) if one.problem), None)
    over = any(one.stops for one in reports) or any(one.closes for one in reports) and not all(one.closes for one in reports)
    gone = [process for process, one in enumerate(reports) if one.stops or one.closes] if over else []
    ready = problem is None and not over and all(one.full or one.closes and one.batches > 0 for one in reports)
    return Agreement(problem, over, gone, ready)
