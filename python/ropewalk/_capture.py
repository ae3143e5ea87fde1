"""Captures: the moments of every query and key of a checkpoint, as numpy arrays."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from . import _safetensors
from .errors import InputError, UsageError

Kind = Literal["q", "k"]
NAMES = {"q": "query", "k": "key"}
NEEDED = ("layer", "head", "mean", "position", "products")
COUNTED = ("tokens", "position_mean", "position_scatter")


class StreamMoments:
    """Moments of the queries, or of the keys, of one head. The arrays are shared and read-only; use copy() to change one.

    `n` tokens, `mean` [d], `position_mean`, `position_variance`, `position_covariance` [d] (of every dimension with the token position), and
    `covariance` [d, d]; variances are over n - 1.
    """

    def __init__(self, n: float, mean: np.ndarray, position_mean: float, scatter: float, position: np.ndarray, products: np.ndarray) -> None:
        self.n = n
        self.mean = mean
        self.position_mean = position_mean
        self._scatter = scatter
        self._position = position
        self._products = products  # upper triangle, row by row
        for array in (mean, position, products):
            array.flags.writeable = False

    @property
    def d(self) -> int:
        return len(self.mean)

    @property
    def position_variance(self) -> float:
        return self._scatter / max(self.n - 1, 1)

    @property
    def position_covariance(self) -> np.ndarray:
        return self._position / max(self.n - 1, 1)

    @functools.cached_property
    def covariance(self) -> np.ndarray:
        full = np.empty((self.d, self.d))
        rows, columns = _triangle(self.d)
        full[rows, columns] = full[columns, rows] = self._products / max(self.n - 1, 1)
        full.flags.writeable = False
        return full

    def __repr__(self) -> str:
        return f"<ropewalk.StreamMoments of {self.n:.0f} tokens, {self.d} dimensions>"


@dataclass(frozen=True)
class HeadMoments:
    """A query head and its key head: `q` and `k` are StreamMoments."""

    layer: int
    q_head: int
    kv_head: int
    q: StreamMoments
    k: StreamMoments


@functools.cache
def _triangle(d: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(d)


@dataclass(frozen=True)
class _Counts:
    """Tokens and their positions: in total, and in every block that holds tokens."""

    n: float
    position_mean: float
    scatter: float
    blocks: np.ndarray  # indexes of the blocks
    block_n: np.ndarray
    block_mean: np.ndarray
    block_scatter: np.ndarray


class Capture:
    """The moments that `ropewalk capture` or `run` kept of one checkpoint (docs/formats.md). Nothing is read before it is needed.

    `info` is the capture's description, `tensors` the contents of its file, by name.
    """

    def __init__(self, tensors: Mapping[str, np.ndarray], info: dict[str, Any], source: str = "capture") -> None:
        self.tensors = tensors
        self.info = info
        self._source = source
        self._kept: object = None  # a temporary folder that lives as long as the capture
        self._keys: tuple[tuple[int, int], list[StreamMoments]] | None = None  # of the key head that was used last
        for kind in NAMES.values():
            for name in NEEDED:
                if f"{kind}.{name}" not in tensors:
                    raise InputError(f"{source}: tensor '{kind}.{name}' is missing; is this a moments file?")
        self._rows = {
            kind: {(int(layer), int(head)): row for row, (layer, head) in enumerate(zip(tensors[f"{name}.layer"], tensors[f"{name}.head"], strict=True))}
            for kind, name in NAMES.items()
        }

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Capture:
        """A capture folder, or its moments.safetensors."""
        file = Path(path)
        if file.is_dir():
            file /= "moments.safetensors"
        tensors, metadata = _safetensors.read(file)
        try:
            info = json.loads(metadata["ropewalk"])
        except (KeyError, ValueError):
            raise InputError(f"{file}: has no 'ropewalk' metadata; is this a moments file?") from None
        return cls(tensors, info, str(file))

    @functools.cached_property
    def heads(self) -> list[tuple[int, int, int]]:
        """Layer, query head and key head of every measured head, in order."""
        return [(layer, head, head // self._group) for layer, head in self._rows["q"]]

    @property
    def documents(self) -> list[int]:
        return [int(index) for index in self.tensors["document.index"]]

    @property
    def block_sizes(self) -> np.ndarray:
        """The number of tokens in every block that holds documents; for sampled vectors, all tokens of the documents."""
        return self._counts.block_n

    def moments(self, layer: int, kind: Kind, head: int) -> StreamMoments:
        """Moments over all documents of a query head (`kind` "q") or of a key head ("k")."""
        return self._all(kind, self._row(layer, kind, head))

    def head(self, layer: int, q_head: int) -> HeadMoments:
        """A query head and its key head, over all documents."""
        kv_head = self._kv_head(layer, q_head)
        return HeadMoments(layer, q_head, kv_head, self.moments(layer, "q", q_head), self.moments(layer, "k", kv_head))

    def cases(self, layer: int, q_head: int) -> Iterator[HeadMoments]:
        """The head over all documents, then without each block of documents: the input of a jackknife."""
        kv_head = self._kv_head(layer, q_head)
        # Heads with the same keys come one after another, so that the replicates of each key head are computed once.
        if self._keys is None or self._keys[0] != (layer, kv_head):
            self._keys = (layer, kv_head), list(self._cases("k", layer, kv_head))
        for q, k in zip(self._cases("q", layer, q_head), self._keys[1], strict=True):
            yield HeadMoments(layer, q_head, kv_head, q, k)

    @functools.cached_property
    def _group(self) -> int:
        """The number of query heads per key head."""
        config = self.info.get("config", {})
        try:
            group = config["n_q_heads"] // config["n_kv_heads"]
        except (KeyError, TypeError, ZeroDivisionError):
            group = 0
        if not isinstance(group, int) or group < 1:
            raise InputError(f"{self._source}: keys 'config.n_q_heads' and 'config.n_kv_heads': expected the first to be a multiple of the second")
        return group

    def _kv_head(self, layer: int, q_head: int) -> int:
        self._row(layer, "q", q_head)
        return q_head // self._group

    def _row(self, layer: int, kind: Kind, head: int) -> int:
        if kind not in NAMES:
            raise UsageError(f"kind '{kind}': expected 'q' or 'k'")
        if (layer, head) not in self._rows[kind]:
            raise UsageError(f"{self._source}: holds no {NAMES[kind]} head {head} of layer {layer}")
        return self._rows[kind][layer, head]

    @functools.cached_property
    def _counts(self) -> _Counts:
        return self._counted(*(np.asarray(self.tensors[f"block.{name}"], float) for name in COUNTED))

    def _counted(self, n: np.ndarray, mean: np.ndarray, scatter: np.ndarray) -> _Counts:
        blocks = np.flatnonzero(np.asarray(self.tensors["block.tokens"]) > 0)
        n, mean, scatter = n[blocks], mean[blocks], scatter[blocks]
        total = n.sum()
        if total == 0:
            raise InputError(f"{self._source}: holds no tokens")
        middle = (n * mean).sum() / total
        return _Counts(total, middle, (scatter + n * (mean - middle) ** 2).sum(), blocks, n, mean, scatter)

    def _counts_of(self, kind: Kind, row: int) -> _Counts:
        """For sampled vectors, every stream has its own counts."""
        if f"{NAMES[kind]}.block_tokens" not in self.tensors:
            return self._counts
        return self._counted(*(self._get(kind, f"block_{name}", row) for name in COUNTED))

    def _head_sizes(self, layer: int, q_head: int) -> np.ndarray:
        """For every block that holds tokens, the number of the head's queries and keys together."""
        q, k = self._row(layer, "q", q_head), self._row(layer, "k", self._kv_head(layer, q_head))
        return np.asarray(self._counts_of("q", q).block_n + self._counts_of("k", k).block_n)

    def _get(self, kind: Kind, field: str, row: int) -> np.ndarray:
        return np.asarray(self.tensors[f"{NAMES[kind]}.{field}"][row], float)

    def _all(self, kind: Kind, row: int) -> StreamMoments:
        counts = self._counts_of(kind, row)
        mean, position, products = (self._get(kind, field, row) for field in ("mean", "position", "products"))
        return StreamMoments(counts.n, mean, counts.position_mean, counts.scatter, position, products)

    def _cases(self, kind: Kind, layer: int, head: int) -> Iterator[StreamMoments]:
        """A stream in total, then without each block; means and sums are those of the remaining tokens."""
        row = self._row(layer, kind, head)
        counts, whole = self._counts_of(kind, row), self._all(kind, row)
        yield whole
        if f"{NAMES[kind]}.block_products" not in self.tensors:
            return
        means, positions, products = (self._get(kind, f"block_{field}", row) for field in ("mean", "position", "products"))
        rows, columns = _triangle(whole.d)
        for index, block in enumerate(counts.blocks):
            taken = counts.block_n[index]
            left = counts.n - taken
            share = taken / left if left > 0 else 0.0
            mean = whole.mean + (whole.mean - means[block]) * share
            t = counts.position_mean + (counts.position_mean - counts.block_mean[index]) * share
            offset, drift, weight = means[block] - mean, counts.block_mean[index] - t, taken * left / counts.n
            yield StreamMoments(
                left,
                mean,
                t,
                counts.scatter - counts.block_scatter[index] - weight * drift**2,
                whole._position - positions[block] - weight * drift * offset,
                whole._products - products[block] - weight * offset[rows] * offset[columns],
            )

    def __repr__(self) -> str:
        label = self.info.get("label") or self._source
        if not np.any(self.tensors["block.tokens"]):
            return f"<ropewalk.Capture {label}: no tokens>"
        return f"<ropewalk.Capture {label}: {len(self._rows['q'])} heads, {self._counts.n:.0f} tokens in {len(self.block_sizes)} blocks>"
