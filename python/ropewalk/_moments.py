"""Moments of queries and keys that you compute yourself: of a model in training, or in any library that uses torch."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _checks, _module
from ._listener import Listener
from ._capture import Capture, Kind, StreamMoments
from ._processes import Processes
from .errors import UsageError
from ._study import Study
from ._temporary import TemporaryFolder

if TYPE_CHECKING:
    import numpy
    import torch


MOST_DOCUMENTS = 2**52  # document numbers are sent as float64


class Moments:
    """First and second moments of queries and keys, accumulated as vectors arrive. Memory does not grow with the number of tokens.

    `q_heads` query heads read `kv_heads` key heads of `d_head` dimensions, in each of `layers` layers. Documents are dealt to `blocks` blocks,
    from which standard errors are computed. `scale` is the factor by which attention multiplies q·k (default: 1/√d_head), `context` the largest
    number of tokens per document; only numbers in units of logits need them. `config`: the model's transformers configuration, or a dict like its
    config.json. It says how RoPE rotated the vectors: they are rotated back, and sums before RoPE are kept too, from which `bands` and `curves`
    are computed.
    """

    def __init__(
        self, q_heads: int, kv_heads: int, d_head: int, *, layers: int = 1, blocks: int = 16, scale: float | None = None, context: int | None = None,
        config: Any = None,
    ) -> None:  # fmt: skip
        sizes = {"layers": layers, "q_heads": q_heads, "kv_heads": kv_heads, "d_head": d_head, "blocks": blocks}
        layers, q_heads, kv_heads, d_head, blocks = (_checks.whole(name, size, 1) for name, size in sizes.items())
        scale = None if scale is None else _checks.positive("scale", scale)
        context = None if context is None else _checks.whole("context", context, 1)
        text = "" if config is None else json.dumps(config.to_dict() if hasattr(config, "to_dict") else config, default=str)
        if scale is None and not text:
            scale = d_head**-0.5
        self._kept = _module.core().SharedMoments(layers, q_heads, kv_heads, d_head, blocks, scale or 0.0, context or 0, text)
        self._numbered = False  # whether the caller numbered the documents
        self._device: torch.device | None = None

    @classmethod
    def _of(cls, kept: Any, numbered: bool) -> Moments:
        made = cls.__new__(cls)
        made._kept, made._numbered, made._device = kept, numbered, None
        return made

    @property
    def layers(self) -> int:
        return int(self._kept.shape()[0])

    @property
    def q_heads(self) -> int:
        return int(self._kept.shape()[1])

    @property
    def kv_heads(self) -> int:
        return int(self._kept.shape()[2])

    @property
    def d_head(self) -> int:
        return int(self._kept.shape()[3])

    @property
    def blocks(self) -> int:
        return int(self._kept.shape()[4])

    @property
    def documents(self) -> list[int]:
        """The numbers of the documents, which are the same in all layers."""
        return self.capture().documents

    def add(
        self, layer: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None = None, document: int | Sequence[int] | None = None
    ) -> None:
        """Adds queries [batch, q_heads, tokens, d_head] and keys [batch, kv_heads, tokens, d_head] of one layer, as the dot product sees them.

        Every row of the batch is a document; for a single document the first dimension can be left out. Any floating-point type, any strides, CPU
        or GPU, with or without gradients: nothing is copied to the host and no graph is kept. `positions`: [tokens] or [batch, tokens], integers;
        default: 0, 1, 2, … `document`: the number of the first row, or of every row; default: consecutive numbers. Document i is in block i modulo
        `blocks`. Several threads may add, to one layer or to several; threads that each add to several layers must give document numbers.
        """
        self._add_checked(layer, q, k, positions, document)

    def _add_checked(
        self, layer: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None, document: int | Sequence[int] | None, turned: int = 0
    ) -> None:
        """`turned`: the number of tokens for which RoPE was chosen, where it depends on a length; 0: that of the longest row."""
        q, k = self._checked("q", q), self._checked("k", k)
        if q.dim() == k.dim() == 3:
            q, k = q.unsqueeze(0), k.unsqueeze(0)
        for name, tensor, heads in (("q", q, self.q_heads), ("k", k, self.kv_heads)):
            if tensor.dim() != 4 or tuple(tensor.shape) != (q.shape[0], heads, q.shape[2] if q.dim() == 4 else -1, self.d_head):
                raise UsageError(f"{name}: found a tensor of {list(tensor.shape)}, expected [batch, {heads}, tokens, {self.d_head}], with one batch and tokens for q and k")
        layer = _checks.whole("layer", layer, 0, self.layers - 1)
        numbers = None if document is None else self._numbers(q.shape[0], document)
        self._add(layer, q, k, None if positions is None else self._positions(positions, q), numbers, turned)
        self._numbered = self._numbered or document is not None

    def _add(self, layer: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None, numbers: list[int] | None, turned: int = 0) -> None:
        """Like add(), for checked arguments and without a graph."""
        self._kept.add(layer, numbers, _capsule(q), _capsule(k), None if positions is None else _capsule(positions), turned)

    def __add__(self, other: Moments) -> Moments:
        """The moments of the documents of both, which must be different. Where neither has document numbers from the caller, the documents of
        `other` follow those of `self`.
        """
        if not isinstance(other, Moments):
            return NotImplemented
        numbered = self._numbered or other._numbered
        return Moments._of(_module.core().sum(self._kept, other._kept, not numbered), numbered)

    def __radd__(self, other: object) -> Moments:
        """Allows sum()."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __reduce__(self) -> Any:
        raise UsageError("Moments cannot be copied or pickled; save() writes them to a folder, and Moments.load() reads it")

    def save(self, folder: str | os.PathLike[str], *, label: str = "", model: str = "") -> Path:
        """Writes a capture folder (docs/formats.md), which `ropewalk analyze` and `Moments.load` read. The folder must be new or empty."""
        out = Path(folder)
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(f"{out}: is not an empty folder; name a new one, or remove it first")
        with Listener() as listener:
            self._kept.save(listener, str(out), label or out.name, model)
        return out

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Moments:
        """Reads a capture folder that `save`, `ropewalk capture` or `ropewalk run` wrote."""
        with Listener() as listener:
            return cls._of(_module.core().load(listener, os.fspath(path)), numbered=True)

    def capture(self) -> Capture:
        """The moments as numpy arrays: `moments(layer, "q", head)`, and the input of a jackknife."""
        tensors, info = self._contents()
        return Capture(tensors, json.loads(info), "moments")

    def moments(self, layer: int, kind: Kind, head: int) -> StreamMoments:
        """n, mean, covariance and covariance with position of one query head ("q") or key head ("k")."""
        return self.capture().moments(layer, kind, head)

    def to_numpy(self) -> dict[str, numpy.ndarray]:
        """All numbers, by the tensor names of a moments file (docs/moments.md)."""
        return self._contents()[0]

    def analyze(self, out: str | os.PathLike[str] | None = None, *, label: str = "moments", model: str = "", components: int = 10) -> Study:
        """The tables of these moments, with standard errors, as `ropewalk analyze` makes them. `out`: a folder to keep them in."""
        return analyze({label: self}, out, model=model, components=components)

    def _contents(self) -> tuple[dict[str, numpy.ndarray], str]:
        from torch.utils.dlpack import from_dlpack

        tensors, info = self._kept.contents()
        return {name: from_dlpack(capsule).numpy() for name, capsule in tensors.items()}, info

    def _fetch(self, after: torch.cuda.Event | None, flags: Sequence[torch.Tensor]) -> tuple[set[int], list[bool]]:
        """Copies what a GPU holds to the host, together with flags that it computed before an event. Returns the blocks that are not finite, which
        are left out.
        """
        import torch

        def fetched() -> tuple[set[int], list[bool]]:
            return set(self._kept.fetch_finite()), torch.stack([flag.to(self._device) for flag in flags]).tolist() if flags else []

        if after is None:
            return fetched()
        # Sleeps here, before the GPU is asked for anything: a copy that waits in the driver keeps other threads from launching kernels.
        after.synchronize()
        with torch.cuda.stream(torch.cuda.Stream(self._device)):  # type: ignore[no-untyped-call]
            return fetched()

    def _event(self) -> torch.cuda.Event | None:
        """An event at the end of the GPU's current work; None without a GPU."""
        import torch

        if self._device is None or self._device.type != "cuda":
            return None
        event = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self._device))
        return event

    def _join(self, processes: Processes, documents: list[int], layers: list[int], blocks: int) -> Moments | None:
        """Joins the moments of all processes in the first one. `documents`: of every batch; this process has its own in its blocks. Collective."""
        joint = self._kept.join(processes, documents, layers, blocks)
        return None if joint is None else Moments._of(joint, numbered=True)

    def _checked(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        import torch

        if not isinstance(tensor, torch.Tensor):
            raise UsageError(f"{name}: found {type(tensor).__name__}, expected a torch tensor")
        if not tensor.dtype.is_floating_point or tensor.layout != torch.strided:
            raise UsageError(f"{name}: found a tensor of {tensor.dtype} and {tensor.layout}, expected a floating type and torch.strided")
        if tensor.device.type not in ("cpu", "cuda"):
            raise UsageError(f"{name}: is on {tensor.device}; expected cpu or cuda")
        if not _has_memory(tensor):
            raise UsageError(f"{name}: found a tensor without data of its own (nested, in FakeTensorMode, or in a function that torch.func transforms), expected a plain one")
        self._device = self._device or tensor.device
        return tensor.detach()

    def _positions(self, positions: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        import torch

        known = isinstance(positions, torch.Tensor) and positions.layout == torch.strided and positions.dtype not in (torch.uint16, torch.uint32, torch.uint64)
        if not known or positions.dtype.is_floating_point or positions.dtype.is_complex or not _has_memory(positions):
            found = f"a tensor of {positions.dtype} and {positions.layout}" if isinstance(positions, torch.Tensor) else type(positions).__name__
            raise UsageError(f"positions: found {found}, expected a plain torch tensor of whole numbers, such as torch.int64")
        batch, tokens = q.shape[0], q.shape[2]
        if positions.device.type == "cpu" and positions.numel() and int(positions.min()) < 0:
            raise UsageError(f"positions: found {int(positions.min())}, expected numbers from 0")
        if positions.device.type not in ("cpu", "cuda"):
            raise UsageError(f"positions: are on {positions.device}; expected cpu or cuda")
        if tuple(positions.shape) not in {(tokens,), (batch, tokens), (1, tokens)}:
            raise UsageError(f"positions: found a tensor of {list(positions.shape)}, expected [{tokens}] or [{batch}, {tokens}]")
        return positions.detach().to(torch.int64).expand(batch, tokens)

    def _numbers(self, rows: int, document: int | Sequence[int]) -> list[int]:
        if not isinstance(document, Sized) or getattr(document, "ndim", 1) == 0:
            first = _checks.whole("document", document, 0, MOST_DOCUMENTS)
            return list(range(first, first + rows))
        if len(document) != rows:
            raise UsageError(f"document: found {len(document)} numbers, expected one for each of {rows} rows")
        return [_checks.whole("document", number, 0, MOST_DOCUMENTS) for number in document]

    def __repr__(self) -> str:
        shape = f"{self.layers} layers of {self.q_heads} query and {self.kv_heads} key heads, {self.d_head} dimensions"
        return f"<ropewalk.Moments of {shape}: {self._kept.next_document()} documents>"


def analyze(steps: Mapping[Any, Moments], out: str | os.PathLike[str] | None = None, *, model: str = "", components: int = 10) -> Study:
    """The tables of several moments by label, in this order."""
    if not steps:
        raise UsageError("analyze: found nothing, expected moments by label, such as {'1000': moments}")
    components = _checks.components(components)
    labels = [str(label) for label in steps]
    if len(set(labels)) < len(labels):
        raise UsageError(f"analyze: found the labels {labels}, expected different ones")
    for label, moments in steps.items():
        if not isinstance(moments, Moments):
            raise UsageError(f"analyze: found {type(moments).__name__} as '{label}', expected Moments, or capture folders without labels")
        moments._kept.require_whole()
    kept = TemporaryFolder() if out is None else None
    folder = _checks.folder(kept.path if kept else out or "")
    _module.core().refuse_held(str(folder))
    with Listener() as listener:
        tables = _module.core().Tables()
        for label, moments in steps.items():
            tables.add(listener, moments._kept, str(label), model, components)
        tables.write(listener, str(folder))
    study = Study(folder)
    study._kept = kept
    return study


def _has_memory(tensor: torch.Tensor) -> bool:
    import torch
    from torch._subclasses import FakeTensor

    return not (tensor.is_nested or isinstance(tensor, FakeTensor) or torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def _capsule(tensor: torch.Tensor) -> Any:
    from torch.utils import dlpack

    return dlpack.to_dlpack(tensor.resolve_neg())  # type: ignore[attr-defined]
