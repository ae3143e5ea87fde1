"""Attention's health at a measured step of a training run: the extremes of its heads, and alarms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ._alarm import GrowthAlarm
from ._row_health import HeadRows

QUANTILES = (0.05, 0.5, 0.95)
UNHURRIED = 20  # measurements before the first alarm, where nothing says how long the training is


class Alert(NamedTuple):
    """A head whose logits are too large, or grow away from their own history."""

    step: int
    layer: int
    head: int
    number: str  # "logit_sd": grows; "logit_peak": passed max_logit
    value: float
    limit: float  # what it should be below

    def __str__(self) -> str:
        what = "the standard deviation of its logits" if self.number == "logit_sd" else "its largest logit"
        return f"step {self.step}: layer {self.layer}, head {self.head}: {what} is {self.value:.4g}, expected below {self.limit:.4g}"


AlertFunction = Callable[[Alert], Any]


class Health(NamedTuple):
    """What is reported of one step."""

    values: dict[str, float]
    images: dict[str, list[list[float]]]  # by layer and head; NaN: not measured
    alerts: list[Alert]


class HealthMonitor:
    """Follows a run, one measured step after another."""

    def __init__(self, max_logit: float | None, warmup: int | None, every: int) -> None:
        self._max_logit = max_logit
        self._growth = GrowthAlarm(UNHURRIED * every if warmup is None else warmup)

    def measure(self, step: int, summary: dict[str, Any], attention: Sequence[Sequence[Sequence[float]]]) -> Health:
        """`summary`: `health` of what write_step returns. `attention`: HeadRows by layer and query head; empty: none."""
        heads = list(zip(summary["layer"], summary["q_head"], strict=True))
        columns = {"logit_sd": [_number(value) for value in summary["logit_sd"]]}
        if attention:
            columns.update(_of_rows([HeadRows(*attention[layer][head]) for layer, head in heads]))
        values: dict[str, float] = {}
        for name, numbers in columns.items():
            values.update(extremes(name, heads, numbers))
        alerts = [
            Alert(step, *heads[place], "logit_sd", columns["logit_sd"][place], columns["logit_sd"][place] * math.exp(growth.allowed - growth.growth))
            for place, growth in self._growth.measure(step, columns["logit_sd"], [_number(error) for error in summary["logit_sd_se"]], summary["setting"])
        ]
        peaks = columns.get("logit_peak", [])
        if self._max_logit is not None:
            alerts += [Alert(step, *head, "logit_peak", peak, self._max_logit) for head, peak in zip(heads, peaks, strict=False) if peak > self._max_logit]
        return Health(values, {f"ropewalk/{name}": _image(heads, numbers) for name, numbers in columns.items()}, alerts)


def extremes(name: str, heads: Sequence[tuple[int, int]], numbers: Sequence[float]) -> dict[str, float]:
    """The largest number, whose it is, and quantiles over heads: one head of many is invisible in a mean."""
    known = sorted((number, head) for number, head in zip(numbers, heads, strict=True) if math.isfinite(number))
    if not known:
        return {}
    largest, (layer, head) = known[-1]
    found = {f"ropewalk/{name}_largest": largest, f"ropewalk/{name}_largest_layer": float(layer), f"ropewalk/{name}_largest_head": float(head)}
    for part in QUANTILES:
        place = part * (len(known) - 1)
        below, above = known[math.floor(place)][0], known[math.ceil(place)][0]
        found[f"ropewalk/{name}_q{round(100 * part):02}"] = below + (above - below) * (place - math.floor(place))
    return found


def _of_rows(heads: Sequence[HeadRows]) -> dict[str, list[float]]:
    """Columns as in heads.csv. A bound is of every token, the others of rows."""

    def mean(sum_of: Callable[[HeadRows], float]) -> list[float]:
        return [sum_of(one) / one.rows if one.rows > 0 else math.nan for one in heads]

    return {
        "logit_max": mean(lambda one: one.largest),
        "logit_peak": [one.peak if one.rows > 0 else math.nan for one in heads],
        "entropy": mean(lambda one: one.entropy),
        "sink": mean(lambda one: one.sink),
        "logit_bound": [one.scale * one.longest_q * one.longest_k if one.scale > 0 else math.nan for one in heads],
    }


def _image(heads: Sequence[tuple[int, int]], numbers: Sequence[float]) -> list[list[float]]:
    rows = [[math.nan] * (1 + max(head for _, head in heads)) for _ in range(1 + max(layer for layer, _ in heads))]
    for (layer, head), number in zip(heads, numbers, strict=True):
        rows[layer][head] = number
    return rows


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
