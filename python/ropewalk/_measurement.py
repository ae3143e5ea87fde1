"""One measured step of a training run: moments of the queries and keys of some batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _attention
from ._moments import Moments
from .errors import InputError, UsageError

if TYPE_CHECKING:
    import torch


class Rows:
    """The tokens of a batch: their positions, on the host, and which of them are no padding. Every layer of a batch has the same. To find them out waits
    for a GPU, unless it is known that they are `counted`: 0, 1, 2, …, without padding."""

    def __init__(self, positions: torch.Tensor | None, mask: Any, batch: int, tokens: int, device: torch.device, counted: bool) -> None:
        import torch

        if positions is None:
            positions = torch.arange(tokens)
        elif not isinstance(positions, torch.Tensor):
            raise UsageError(f"positions: found {type(positions).__name__}, expected a torch tensor of whole numbers")
        elif positions.dim() == 3:  # one for each axis of an image; the first is that of text
            positions, counted = positions[0], False
        if positions.dim() not in (1, 2) or positions.shape[-1] != tokens or positions.dim() == 2 and positions.shape[0] not in (1, batch):
            raise UsageError(f"positions: found a tensor of {list(positions.shape)}, expected [{tokens}] or [{batch}, {tokens}]")
        self.wrong: torch.Tensor | None = None  # whether they are not what they were known to be
        self._device = device
        self._turned = tokens  # that RoPE was chosen for, where it asks for a length: padding counts too
        if counted and mask is None:
            self.positions, self.places, self.context = torch.arange(tokens).expand(batch, tokens), None, tokens
            self.wrong = (positions.detach() != torch.arange(tokens, device=positions.device)).any()
            return
        self.positions = positions.detach().to("cpu").expand(batch, tokens)
        self._turned = int(self.positions.max()) + 1 if self.positions.numel() else 0
        real = _attention.real_tokens(mask, batch, tokens)
        real = None if real is None else real.to("cpu")
        self.places = None if real is None or bool(real.all()) else [row.nonzero().flatten() for row in real]
        seen = self.positions if self.places is None or real is None else self.positions[real]
        self.context = int(seen.max()) + 1 if seen.numel() else 0

    def add(self, moments: Moments, layer: int, q: torch.Tensor, k: torch.Tensor, documents: list[int]) -> None:
        if self.places is None:
            moments._add_checked(layer, q, k, self.positions, documents, self._turned)
            return
        for row, (places, document) in enumerate(zip(self.places, documents, strict=True)):
            if len(places) == 0:
                continue
            there = places.to(self._device)
            moments._add_checked(layer, q[row].index_select(1, there), k[row].index_select(1, there), self.positions[row][places], document, self._turned)

    def add_known(self, moments: Moments, layer: int, q: torch.Tensor, k: torch.Tensor, documents: list[int]) -> None:
        """As add(), without padding, of tensors like those that were added before."""
        moments._add(layer, q.detach(), k.detach(), self.positions, documents, self._turned)


class Measurement:
    """Batches from `step` on. Each is a block, and its rows are documents; every process has batches of its own."""

    def __init__(
        self, step: int, batches: int, layers: int | None, chosen: frozenset[int] | None, config: Any, rank: int, processes: int
    ) -> None:
        """`config`: of a model whose vectors before RoPE are wanted too."""
        self.step, self._config = step, config
        self.moments: Moments | None = None
        self.context = 0  # tokens of a document at most
        self._wanted, self._layers, self._chosen, self._rank, self._processes = batches, layers, chosen, rank, processes
        self._done: dict[int, int] = {}  # batches, by layer
        self._owners: dict[int, int] = {}  # which module a layer is, by layer
        self._rows: tuple[int, list[tuple[Any, Any, Rows]]] = (-1, [])  # of the batch at hand
        self._known: tuple[Any, ...] = ()  # what tensors are like that moments took
        self._wrong: torch.Tensor | None = None  # whether positions were not what they were known to be

    @property
    def batches(self) -> int:
        return max(self._done.values(), default=0)

    @property
    def full(self) -> bool:
        return bool(self._done) and min(self._done.values()) >= self._wanted

    def facts(self) -> dict[str, Any]:
        """What all processes must have alike."""
        moments = self.moments
        return {"batches": self._done, "heads": (moments.q_heads, moments.kv_heads, moments.d_head) if moments else None}

    def fetch(self, after: torch.cuda.Event | None = None) -> Moments:
        """The moments, on the host, of all that a GPU was told before an event."""
        assert self.moments is not None
        self.moments._kept.set_context(self.context)
        if self.moments._fetch(after, self._wrong):
            raise InputError(
                "positions are not 0, 1, 2, … though the model was called without position_ids and without a mask of padding: call it with position_ids"
            )
        return self.moments

    def take(
        self, layer: int, owner: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None, mask: Any, scale: float | None, counted: bool
    ) -> None:
        """`counted`: nobody gave the model positions, so they are 0, 1, 2, … where nothing is padding."""
        if self._chosen is not None and layer not in self._chosen:
            return
        known = (type(q), type(k), getattr(q, "shape", None), getattr(k, "shape", None), getattr(q, "dtype", None), getattr(k, "dtype", None), getattr(q, "device", None))
        if known != self._known:
            self._check(layer, q, k)
        if self._owners.setdefault(layer, owner) != owner:
            raise UsageError(f"layer {layer}: two attention modules of the model have this number; give watch the part of the model that is meant")
        done = self._done.get(layer, 0)
        if done >= self._wanted:
            return
        batch, tokens = q.shape[0], q.shape[2]
        rows = self._find_rows(done, positions, mask, batch, tokens, q.device, counted)
        self.context = max(self.context, rows.context)
        if self.moments is None:
            layers = self._layers or layer + 1
            blocks = self._wanted * self._processes
            self.moments = Moments(q.shape[1], k.shape[1], q.shape[3], layers=layers, blocks=blocks, scale=scale, config=self._config)
        moments = self.moments
        block = done * self._processes + self._rank
        blocks = self._wanted * self._processes
        documents = [row * blocks + block for row in range(batch)]
        try:
            if known == self._known and rows.places is None and layer < moments.layers:
                rows.add_known(moments, layer, q, k, documents)
            else:
                rows.add(moments, layer, q, k, documents)
                self._known = known
        except UsageError as error:
            raise UsageError(f"layer {layer}: {error}") from None
        self._done[layer] = done + 1

    def _check(self, layer: int, q: torch.Tensor, k: torch.Tensor) -> None:
        import torch

        for name, tensor in (("q", q), ("k", k)):
            if not isinstance(tensor, torch.Tensor) or tensor.dim() != 4:
                found = f"a tensor of {list(tensor.shape)}" if isinstance(tensor, torch.Tensor) else type(tensor).__name__
                raise UsageError(f"layer {layer}: {name}: found {found}, expected a tensor [batch, heads, tokens, d_head]")
            if hasattr(tensor, "to_local"):
                raise UsageError(f"layer {layer}: {name}: is spread over processes (DTensor); expected all heads in each process")

    def _find_rows(self, number: int, positions: torch.Tensor | None, mask: Any, batch: int, tokens: int, device: torch.device, counted: bool) -> Rows:
        if self._rows[0] != number:
            self._rows = number, []
        for one, other, rows in self._rows[1]:
            if _same(one, positions) and _same(other, mask):
                return rows
        rows = Rows(positions, mask, batch, tokens, device, counted)
        if rows.wrong is not None:
            self._wrong = rows.wrong if self._wrong is None else self._wrong | rows.wrong
        self._rows[1].append((positions, mask, rows))
        return rows


def _same(one: Any, other: Any) -> bool:
    """Whether both are one object, or tensors in the same memory; what is kept here lets its memory go to no other."""
    import torch

    if one is other:
        return True
    if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)):
        return False
    return one.data_ptr() == other.data_ptr() and one.shape == other.shape and one.stride() == other.stride()
