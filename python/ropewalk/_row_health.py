"""Rows of attention of a model in training: how large logits are, and what heads attend to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import _module
from ._attention import Scores
from ._moments import _capsule

if TYPE_CHECKING:
    import torch

ROWS = 64  # per batch and layer
DOCUMENTS = 4  # of which they are at most


class HeadRows(NamedTuple):
    """What is known of a head, in the order of RowHealth::Column (ropewalk/moments/tensors/row_health.h)."""

    rows: float
    peak: float
    largest: float
    entropy: float
    sink: float
    longest_q: float
    longest_k: float
    scale: float


class RowHealth:
    """The rows of one measurement in one process."""

    def __init__(self, layers: int, q_heads: int) -> None:
        self._kept = _module.core().RowHealth(layers, q_heads)

    def add(self, layer: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor, scores: Scores, part: int, parts: int) -> None:
        """Adds part `part` of the `parts` of a batch: documents [documents, heads, tokens, d_head] and their positions [documents, tokens]."""
        import torch

        wanted = ROWS // min(parts, DOCUMENTS) if part < DOCUMENTS else 0
        scale = q.shape[3] ** -0.5 if scores.scale is None else float(scores.scale)
        where = positions.to(torch.int64).expand(q.shape[0], -1).contiguous()
        sinks = None if scores.sinks is None else _capsule(scores.sinks.detach().float())
        self._kept.add(layer, wanted, _capsule(q), _capsule(k), _capsule(where), scale, scores.window or 0, float(scores.cap or 0), sinks)

    def numbers(self) -> list[list[list[float]]]:
        """By layer and query head: HeadRows. Waits for a GPU."""
        import torch

        found: list[list[list[float]]] = torch.utils.dlpack.from_dlpack(self._kept.numbers()).tolist()
        return found


def joined(of: Sequence[list[list[list[float]]]]) -> list[list[list[float]]]:
    """The numbers of several processes together."""
    return [[_head([HeadRows(*one) for one in heads]) for heads in zip(*layers, strict=True)] for layers in zip(*of, strict=True)]


def _head(parts: list[HeadRows]) -> list[float]:
    some = [one for one in parts if one.rows > 0] or parts[:1]
    return list(
        HeadRows(
            sum(one.rows for one in some), max(one.peak for one in some), sum(one.largest for one in some), sum(one.entropy for one in some), sum(one.sink for one in some),
            max(one.longest_q for one in parts), max(one.longest_k for one in parts), max(one.scale for one in parts),
        )
    )  # fmt: skip
