"""Joins the measurements of all processes into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import _faults
from ._measurement import Measurement
from ._processes import Processes
from ._row_health import joined

MOST_BLOCKS = 32  # most blocks of all processes together


class NotFiniteRows(NamedTuple):
    """The problem of one process, which is raised in all of them."""

    process: int
    kind: str
    text: str


class _Facts(NamedTuple):
    """What one process knows about its measurement."""

    problem: tuple[str, str] | None
    sizes: tuple[int, ...] | None
    layers: list[int]  # measured layers
    documents: list[int]  # per batch
    context: int
    left_out: int
    steps: list[float]  # training step, per batch
    last: int
    attention: list[list[list[float]]]  # of rows, by layer and query head


def join(measurement: Measurement, processes: Processes, exchange: Callable[[Any], list[Any]]) -> Measurement | NotFiniteRows:
    """Returns the joint measurement in the first process; the results in other processes are not used. A process holds only its own batches,
    however many processes there are. Collective.
    """
    if processes.count() == 1 and measurement.wanted <= MOST_BLOCKS:
        return measurement
    problem = None
    try:
        measurement.fetch()
    except Exception as error:
        problem = _faults.kind_of(error), _faults.error_line(error)
    sizes, layers, documents = measurement.shape()
    told: list[_Facts] = [_Facts(*one) for one in exchange(tuple(_Facts(problem, sizes, layers, documents, measurement.context, len(measurement.left_out), measurement.steps, measurement.last, measurement.attention)))]
    for process, one in enumerate(told):
        if one.problem is not None:
            return NotFiniteRows(process, *one.problem)
    known = [(process, one) for process, one in enumerate(told) if one.sizes is not None]
    for process, one in known:
        first = known[0][1]
        if (one.sizes, one.layers) != (first.sizes, first.layers):
            return NotFiniteRows(
                process, "UsageError",
                f"found layers {one.layers} of {one.sizes} in this process and {first.layers} of {first.sizes} in process {known[0][0]}: expected the same in all",
            )  # fmt: skip
    blocks = min(MOST_BLOCKS, measurement.wanted * len(told))
    numbers = [count for one in told for count in one.documents]
    measurement.batches_left_out = sum(one.left_out for one in told)
    measurement.context = max(one.context for one in told)
    if not any(numbers):
        return NotFiniteRows(0, "InputError", measurement.why_nothing())
    measurement.last = max(one.last for one in told)
    measurement.attention = joined([one.attention for one in told if one.attention])
    measurement.steps = _by_block([step for one in told for step in one.steps], numbers, blocks)
    if processes.rank() == 0 or any(documents):
        moments = measurement.moments or measurement.empty(known[0][1].sizes)
        moments._kept.set_context(measurement.context)
        joint = moments._join(processes, numbers, known[0][1].layers, blocks)
        measurement.moments, measurement.joint = joint or moments, True
    return measurement


def _by_block(steps: list[float], documents: list[int], blocks: int) -> list[float]:
    """The mean step of each block's batches, for blocks that hold documents."""
    found: list[float] = []
    for block in range(blocks):
        held = [step for step, count in zip(steps[block::blocks], documents[block::blocks], strict=True) if count > 0]
        found.append(sum(held) / len(held) if held else min(steps))
    return found
