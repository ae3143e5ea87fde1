"""When a head's logits grow away from their own history: a rule without any state of a watch."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

HISTORY = 20  # former measurements of a head that are looked at
LEAST = 8  # fewer say nothing
GROWTH = math.log(1.25)  # of a head's logits over its median
ERRORS = 6.0  # of what its measurements vary by
FLOOR = 0.02  # which they vary by at least
SCALE = 1.4826  # from the median absolute deviation to a standard deviation
CONSECUTIVE = 2  # measurements in which a head must be beyond the rule


class Growth(NamedTuple):
    """How far a head is from its history, on the scale of logarithms, and how far it may be."""

    growth: float
    allowed: float

    @property
    def beyond(self) -> bool:
        return self.growth > self.allowed


def growths(histories: Sequence[Sequence[float]], values: Sequence[float], errors: Sequence[float]) -> list[Growth | None]:
    """For each head, from the logarithms of its former numbers, the logarithm of its number now, and the error of this. None: too few are known."""
    centres: list[float | None] = []
    spreads: list[float] = []
    for history in histories:
        recent = [value for value in list(history)[-HISTORY:] if math.isfinite(value)]
        centre = median(recent) if len(recent) >= LEAST else None
        centres.append(centre)
        spreads.append(math.nan if centre is None else SCALE * median(abs(value - centre) for value in recent))
    usual = median(known) if (known := [spread for spread in spreads if math.isfinite(spread)]) else 0.0
    found: list[Growth | None] = []
    for centre, spread, value, error in zip(centres, spreads, values, errors, strict=True):
        if centre is None or not math.isfinite(value):
            found.append(None)
            continue
        varies = math.hypot(max(spread, usual, FLOOR), error if math.isfinite(error) else 0.0)
        found.append(Growth(value - centre, max(GROWTH, ERRORS * varies)))
    return found


class GrowthAlarm:
    """Applies the rule along a run: an alarm takes two consecutive measurements beyond it. A head that stays beyond is alarmed once."""

    def __init__(self, warmup: int) -> None:
        """`warmup`: the first step at which there are alarms; what is measured before is history."""
        self._warmup = warmup
        self._setting: object = None
        self._histories: list[deque[float]] = []
        self._beyond: list[int] = []  # consecutive measurements, per head

    def measure(self, step: int, numbers: Sequence[float], errors: Sequence[float], setting: object = None) -> list[tuple[int, Growth]]:
        """The indexes of heads to alarm about. History starts anew where `setting` (context, RoPE) differs from the last measurement's."""
        if setting != self._setting or len(numbers) != len(self._histories):
            self._setting = setting
            self._histories = [deque(maxlen=HISTORY) for _ in numbers]
            self._beyond = [0] * len(numbers)
        values = [math.log(number) if number > 0 else math.nan for number in numbers]
        relative = [error / number if number > 0 else math.nan for number, error in zip(numbers, errors, strict=True)]
        alarms = []
        for head, growth in enumerate(growths(self._histories, values, relative)):
            beyond = growth is not None and growth.beyond and step >= self._warmup
            self._beyond[head] = self._beyond[head] + 1 if beyond else 0
            if growth is not None and self._beyond[head] == CONSECUTIVE:
                alarms.append((head, growth))
        for history, value in zip(self._histories, values, strict=True):
            history.append(value)
        return alarms
