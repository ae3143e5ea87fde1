"""Your own statistics, with standard errors by leaving out one block of documents at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ._capture import Capture, HeadMoments
from .errors import UsageError

OWN = {"checkpoint", "layer", "q_head", "kv_head", "paired"}  # columns that every table has

Statistic = Callable[[HeadMoments], float | Mapping[str, float]]


def error(whole: np.ndarray, without: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Standard errors of `whole` [columns], from its values without each block [blocks, columns], whose numbers of tokens are `sizes`.

    The delete-m_j jackknife of Busing, Meijer & van der Leeden (1999), as in the program's tables.
    """
    if len(without) < 2:
        return np.full(whole.shape, np.nan)
    sizes = sizes[:, None]
    n, blocks = sizes.sum(), len(without)
    h = n / sizes
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values have no error
        centre = blocks * whole - ((1 - sizes / n) * without).sum(0)
        pseudo = h * whole - (h - 1) * without
        return np.asarray(np.sqrt(((pseudo - centre) ** 2 / (h - 1)).mean(0)))


def _short(found: object) -> str:
    return f"an array of shape {list(found.shape)}" if isinstance(found, np.ndarray) else " ".join(repr(found).split())[:100]


def _check_names(names: list[str]) -> None:
    columns = [column for name in names for column in (name, "se" if name == "value" else f"{name}_se")]
    if not all(isinstance(name, str) for name in names) or len(set(columns)) < len(columns) or OWN.intersection(columns):
        raise UsageError(f"the statistic returned {names}: expected names that are not {', '.join(sorted(OWN))}, nor X and X_se")


class Values:
    """A statistic of one head: the names of its numbers, their values, and their values without each block. `names`: the names at earlier heads."""

    def __init__(self, capture: Capture, layer: int, q_head: int, statistic: Statistic, names: list[str] | None = None) -> None:
        rows = []
        self.names = names
        for head in capture.cases(layer, q_head):
            found = statistic(head)
            named = found if isinstance(found, Mapping) else {"value": found}
            if self.names is None:
                self.names = list(named)
                _check_names(self.names)
            if list(named) != self.names:
                raise UsageError(f"the statistic returned {list(named)} after {self.names}: expected the same names for every head and block")
            try:
                if any(isinstance(value, str) for value in named.values()):
                    raise TypeError
                rows.append([float(value) for value in named.values()])
            except (TypeError, ValueError, OverflowError):
                raise UsageError(f"the statistic returned {_short(found)}: expected a number, or a dict of numbers") from None
        self.values, self.without = np.array(rows[0]), np.array(rows[1:]).reshape(len(rows) - 1, len(rows[0]))

    def row(self, values: np.ndarray, errors: np.ndarray) -> dict[str, float]:
        row: dict[str, float] = {}
        for name, value, se in zip(self.names or [], values, errors, strict=True):
            row |= {name: value, "se" if name == "value" else f"{name}_se": se}
        return row


def of_capture(capture: Capture, statistic: Statistic) -> list[dict[str, Any]]:
    """One row per head: the statistic and its standard error."""
    rows = []
    names: list[str] | None = None
    for layer, q_head, kv_head in capture.heads:
        found = Values(capture, layer, q_head, statistic, names)
        names = found.names
        errors = error(found.values, found.without, capture._head_sizes(layer, q_head))
        rows.append({"layer": layer, "q_head": q_head, "kv_head": kv_head, **found.row(found.values, errors)})
    return rows


def _unknown(capture: Capture) -> bool:
    """Whether vectors came without their tokens, so that their documents are unknown."""
    return "query.block_tokens" not in capture.tensors and not np.any(capture.tensors["document.prefix_digest"])


def same_documents(a: Capture, b: Capture) -> bool:
    """Whether both read the same documents in the same blocks."""
    names = ("document.index", "document.prefix_digest")
    digests = all(name in one.tensors for name in names for one in (a, b)) and not any(_unknown(one) for one in (a, b))
    return (
        digests
        and all(np.array_equal(a.tensors[name], b.tensors[name]) for name in names)
        and a.info.get("blocks") == b.info.get("blocks")
        and len(a.block_sizes) == len(b.block_sizes)
    )


def of_difference(a: Capture, b: Capture, statistic: Statistic, known: bool | None = None) -> list[dict[str, Any]]:
    """One row per head that both captures have: b - a, and its standard error. `known`: whether both read the same documents."""
    paired, there = same_documents(a, b) if known is None else known, {(layer, q_head) for layer, q_head, _ in a.heads}
    rows = []
    for layer, q_head, kv_head in b.heads:
        if (layer, q_head) not in there:
            continue
        before = Values(a, layer, q_head, statistic)
        after = Values(b, layer, q_head, statistic, before.names)
        change = after.values - before.values
        if paired:
            errors = error(change, after.without - before.without, b._head_sizes(layer, q_head))
        else:
            errors = np.hypot(*(error(one.values, one.without, capture._head_sizes(layer, q_head)) for one, capture in ((before, a), (after, b))))
        rows.append({"layer": layer, "q_head": q_head, "kv_head": kv_head, **after.row(change, errors), "paired": int(paired)})
    return rows
