"""One measured step of a training run: moments of the queries and keys of some batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _attention
from ._attention import Scores
from ._moments import Moments
from ._row_health import RowHealth
from .errors import InputError, UsageError

if TYPE_CHECKING:
    import torch


HEADS = (0, 2, 3)  # the dimensions of [batch, heads, tokens, d_head] over which a number per head is computed


class Rows:
    """The tokens of a batch: their positions, in host memory, and which of them are not padding. All layers of a batch have the same rows. Finding
    this out waits for a GPU, unless positions are known to be `counted`: 0, 1, 2, …, without padding.
    """

    def __init__(self, positions: torch.Tensor | None, mask: Any, batch: int, tokens: int, device: torch.device, counted: torch.Tensor | None) -> None:
        """`counted`: a tensor 0, 1, 2, … on the device of the positions."""
        import torch

        if positions is None:
            positions = torch.arange(tokens)
        elif not isinstance(positions, torch.Tensor):
            raise UsageError(f"positions: found {type(positions).__name__}, expected a torch tensor of whole numbers")
        elif positions.dim() == 3:  # one row per axis of an image; the first is for text
            positions, counted = positions[0], None
        if positions.dim() not in (1, 2) or positions.shape[-1] != tokens or positions.dim() == 2 and positions.shape[0] not in (1, batch):
            raise UsageError(f"positions: found a tensor of {list(positions.shape)}, expected [{tokens}] or [{batch}, {tokens}]")
        self.wrong: torch.Tensor | None = None  # whether positions turned out to be different from 0, 1, 2, …
        self._device = device
        self._turned = tokens  # the length for which RoPE was chosen, where it depends on a length; padding counts
        if counted is not None and mask is None:
            self.positions, self.real_indexes, self.context = torch.arange(tokens).expand(batch, tokens), None, tokens
            self.wrong = (positions.detach() != counted).any()
            return
        self.positions = positions.detach().to("cpu").expand(batch, tokens)
        self._turned = int(self.positions.max()) + 1 if self.positions.numel() else 0
        real = _attention.real_tokens(mask, batch, tokens)
        real = None if real is None else real.to("cpu")
        self.real_indexes = None if real is None or bool(real.all()) else [row.nonzero().flatten() for row in real]
        seen = self.positions if self.real_indexes is None or real is None else self.positions[real]
        self.context = int(seen.max()) + 1 if seen.numel() else 0

    def parts(self, q: torch.Tensor, k: torch.Tensor, documents: list[int]) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[int]]]:
        """Queries, keys, positions and documents, without padding."""
        if self.real_indexes is None:
            return [(q, k, self.positions, documents)]
        found = []
        for row, (real_indexes, document) in enumerate(zip(self.real_indexes, documents, strict=True)):
            if len(real_indexes) > 0:
                there = real_indexes.to(self._device)
                found.append((q[row : row + 1].index_select(2, there), k[row : row + 1].index_select(2, there), self.positions[row : row + 1, real_indexes], [document]))
        return found

    @property
    def turned(self) -> int:
        """The number of tokens for which RoPE was chosen."""
        return self._turned

    @property
    def documents(self) -> int:
        """The number of rows with tokens that are not padding."""
        return len(self.positions) if self.real_indexes is None else sum(len(real_indexes) > 0 for real_indexes in self.real_indexes)


class NotFinite(Exception):
    """The batch is left out. Either the training skips it too, or it has a worse problem than its monitor."""


class Measurement:
    """The batches of one process from `step` on. Each batch is a block, and its rows are documents."""

    def __init__(self, step: int, batches: int, layers: int | None, chosen: frozenset[int] | None, config: Any) -> None:
        """`config`: the model's configuration, where vectors before RoPE are wanted too; else None."""
        self.step, self._config = step, config
        self.moments: Moments | None = None
        self._attended: RowHealth  # beside the moments
        self.attention: list[list[list[float]]] = []  # what it found, of all processes: by layer and query head (_row_health.py)
        self.context = 0  # most tokens of a document
        self.problem: BaseException | None = None  # why there is no result
        self.left_out: set[int] = set()  # batches with values that are not finite
        self.batches_left_out = 0  # the number of these in all processes
        self.joint = False  # whether the moments are those of all processes
        self.wanted, self._layers, self._chosen = batches, layers, chosen
        self._fetched = False
        self._done: dict[int, int] = {}  # number of batches, per layer
        self._documents = [0] * batches
        self.now = step  # current training step
        self.steps: list[float] = [step] * batches  # steps at which batches came; after joining, per block
        self.last = step
        self._owners: dict[int, int] = {}  # from a layer to the id of its module
        self._rows: tuple[int, list[tuple[Any, Any, Rows]]] = (-1, [])  # rows of the current batch
        self._known: tuple[Any, ...] = ()  # properties of the tensors that the moments accepted before
        self._counted: torch.Tensor | None = None  # 0, 1, 2, … on the device of the positions
        self._wrong: list[torch.Tensor] = []  # flags: whether positions were different from 0, 1, 2, …
        self._finite: list[tuple[int, torch.Tensor]] = []  # flags: whether a batch is finite; they are read later
        self._why = ""  # the reason, where a batch was left out

    @property
    def batches(self) -> int:
        return max(self._done.values(), default=0)

    @property
    def full(self) -> bool:
        return bool(self._done) and min(self._done.values()) >= self.wanted

    @property
    def label(self) -> str:
        """Names the checkpoint. The weights may have changed between its batches."""
        return f"step-{self.step}" if self.last == self.step else f"step-{self.step}…{self.last}"

    def shape(self) -> tuple[tuple[int, ...] | None, list[int], list[int]]:
        """Layers, query heads, key heads and dimensions; the measured layers; documents per batch."""
        moments = self.moments
        sizes = (moments.layers, moments.q_heads, moments.kv_heads, moments.d_head) if moments else None
        return sizes, sorted(self._done), [0 if batch in self.left_out else count for batch, count in enumerate(self._documents)]

    def empty(self, sizes: Any) -> Moments:
        """Empty moments of the same shape as those of a process that has documents."""
        layers, q_heads, kv_heads, d_head = sizes
        return Moments(q_heads, kv_heads, d_head, layers=layers, blocks=self.wanted, config=self._config)

    def fetch(self, after: torch.cuda.Event | None = None) -> None:
        """Copies to the host what a GPU computed before an event. Batches that are not finite are left out and counted."""
        if self.moments is None or self._fetched:
            return
        self._fetched = True
        self.moments._kept.set_context(self.context)
        left, flags = self.moments._fetch(after, [*self._wrong, *(finite for _, finite in self._finite)])
        self.attention = self._attended.numbers()
        wrong, finite = flags[: len(self._wrong)], flags[len(self._wrong) :]
        if any(wrong):
            raise InputError(
                "positions are not 0, 1, 2, … though the model was called without position_ids and without a padding mask; call it with position_ids"
            )
        self.left_out |= left | {batch for (batch, _), known in zip(self._finite, finite, strict=True) if not known}
        for batch in self.left_out - left:
            self.moments._kept.leave_out(batch)
        self.batches_left_out = len(self.left_out)

    def why_nothing(self) -> str:
        """The reason, where no document is left."""
        if self.batches_left_out:
            return self._why or "queries or keys of every batch are not all finite"
        return "every token of the measured batches was padding; expected some that are not"

    def take(
        self, layer: int, owner: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None, mask: Any, scores: Scores, counted: bool
    ) -> None:
        """`counted`: the model got no positions, so they are 0, 1, 2, … unless there is padding."""
        if self._chosen is not None and layer not in self._chosen:
            return
        known = (type(q), type(k), getattr(q, "shape", None), getattr(k, "shape", None), getattr(q, "dtype", None), getattr(k, "dtype", None), getattr(q, "device", None))
        if known != self._known:
            self._check(layer, q, k)
        if self._owners.setdefault(layer, owner) != owner:
            raise UsageError(f"layer {layer}: two attention modules of the model have this number; give watch only the part of the model that is to be measured")
        done = self._done.get(layer, 0)
        if done >= self.wanted:
            return
        if done not in self.left_out:
            try:
                self._add(layer, done, q.detach(), k.detach(), self._find_rows(done, positions, mask, q.shape[0], q.shape[2], q.device, counted), scores, known)
            except NotFinite as error:
                self.left_out.add(done)
                self._why = str(error)
            except UsageError as error:
                raise UsageError(f"layer {layer}: {error}") from None
        self._done[layer] = done + 1

    def _add(self, layer: int, batch: int, q: torch.Tensor, k: torch.Tensor, rows: Rows, scores: Scores, known: tuple[Any, ...]) -> None:
        if self.moments is None:
            layers = self._layers or layer + 1
            self.moments = Moments(q.shape[1], k.shape[1], q.shape[3], layers=layers, blocks=self.wanted, scale=scores.scale, config=self._config)
            self._attended = RowHealth(layers, q.shape[1])
        if rows.real_indexes is not None and k.shape[2] != q.shape[2]:
            raise UsageError(f"k: found a tensor of {list(k.shape)}, expected {q.shape[2]} tokens, as many as queries")
        self.context = max(self.context, rows.context)
        self._documents[batch], self.steps[batch] = rows.documents, self.now
        self.last = self.now
        checked = known == self._known and layer < self.moments.layers
        parts = rows.parts(q, k, [row * self.wanted + batch for row in range(q.shape[0])])
        for part, (some_q, some_k, positions, documents) in enumerate(parts):
            some_q, some_k = self._finite_or_none(layer, batch, some_q, some_k)
            if checked:
                self.moments._add(layer, some_q, some_k, positions, documents, rows.turned)
            else:
                self.moments._add_checked(layer, some_q, some_k, positions, documents, rows.turned)
            self._attended.add(layer, some_q, some_k, positions, scores, part, len(parts))
        self._known = known

    def _finite_or_none(self, layer: int, batch: int, q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Raises NotFinite where the check is free. On a GPU the sums show it at the end, per batch; where there are no sums before RoPE, zeros
        replace them.
        """
        import torch

        if q.is_cuda and self._config is None or q.device != k.device or q.device.type not in ("cpu", "cuda") or not (q.is_floating_point() and k.is_floating_point()):
            return q, k
        if q.is_cuda:
            finite = (torch.cat([_norm(q, HEADS), _norm(k, HEADS)]) < torch.inf).all()  # NaN is not less than anything
            self._finite.append((batch, finite))
            return torch.where(finite, q, 0), torch.where(finite, k, 0)
        for what, vectors in (("queries", q), ("keys", k)):
            if _norm(vectors) < torch.inf:
                continue
            finite = _norm(vectors, HEADS) < torch.inf  # the norm over all heads may overflow where the norm of each head does not
            if not finite.all():
                raise NotFinite(f"{what} in layer {layer}, head {int(finite.int().argmin())}, are not all finite, or their squares overflow float32, in every batch")
        return q, k

    def _check(self, layer: int, q: torch.Tensor, k: torch.Tensor) -> None:
        import torch

        for name, tensor in (("q", q), ("k", k)):
            if not isinstance(tensor, torch.Tensor) or tensor.dim() != 4:
                found = f"a tensor of {list(tensor.shape)}" if isinstance(tensor, torch.Tensor) else type(tensor).__name__
                raise UsageError(f"layer {layer}: {name}: found {found}, expected a tensor [batch, heads, tokens, d_head]")
            if hasattr(tensor, "to_local"):
                raise UsageError(f"layer {layer}: {name}: is spread over processes (DTensor); expected all heads in each process")

    def _counting(self, positions: Any, tokens: int) -> torch.Tensor | None:
        import torch

        if not isinstance(positions, torch.Tensor):
            return None
        if self._counted is None or self._counted.device != positions.device or len(self._counted) != tokens:
            self._counted = torch.arange(tokens, device=positions.device)
        return self._counted

    def _find_rows(self, number: int, positions: torch.Tensor | None, mask: Any, batch: int, tokens: int, device: torch.device, counted: bool) -> Rows:
        if self._rows[0] != number:
            self._rows = number, []
        for one, other, rows in self._rows[1]:
            if _same(one, positions) and _same(other, mask):
                return rows
        rows = Rows(positions, mask, batch, tokens, device, self._counting(positions, tokens) if counted else None)
        if rows.wrong is not None:
            self._wrong.append(rows.wrong)
        self._rows[1].append((positions, mask, rows))
        return rows


def _norm(vectors: torch.Tensor, over: tuple[int, ...] | None = None) -> torch.Tensor:
    """Norms in float32 over the dimensions `over`. One pass, without copies of the vectors' size."""
    import torch

    vectors = vectors.float() if vectors.dtype == torch.float64 else vectors
    norm: torch.Tensor = torch.linalg.vector_norm(vectors, dim=over, dtype=torch.float32)
    return norm


def _same(one: Any, other: Any) -> bool:
    """Whether both are one object, or tensors in the same memory. The references that are kept here prevent that memory from being reused."""
    import torch

    if one is other:
        return True
    if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)):
        return False
    return one.data_ptr() == other.data_ptr() and one.shape == other.shape and one.stride() == other.stride()
