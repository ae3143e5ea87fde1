"""Takes queries and keys of a transformers model where its attention interface receives them. Nothing here imports transformers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from .errors import UsageError

if TYPE_CHECKING:
    import torch

# A function that receives the attention module, its queries, keys and mask, and the other arguments by name.
Receiver = Callable[["torch.nn.Module", "torch.Tensor", "torch.Tensor", Any, dict[str, Any]], None]


class Scores(NamedTuple):
    """How attention makes scores of queries and keys, as far as its function is told; None: not told, or nothing of the kind."""

    scale: float | None = None
    window: int | None = None  # tokens that are seen, including the query's own
    cap: float | None = None
    sinks: torch.Tensor | None = None  # [q_heads]: one more score


def scores_of(named: dict[str, Any]) -> Scores:
    """From the arguments of an attention function."""
    return Scores(named.get("scaling"), named.get("sliding_window"), named.get("softcap"), named.get("s_aux"))


Function = TypeVar("Function", bound=Callable[..., Any])

WRAPPERS = ("torch", "deepspeed")  # modules of these packages may wrap the model
INTERFACE = "ALL_ATTENTION_FUNCTIONS"


def outside(function: Function) -> Function:
    """Excludes a function from the graph of a compiled model."""
    import torch

    return cast(Function, torch._dynamo.disable(function))  # type: ignore[no-untyped-call]


class Interface:
    """An attention interface whose functions also pass their arguments to takers. Without takers it does not differ from transformers' own."""

    def __init__(self, interface: Any) -> None:
        self._interface = interface
        self._receivers: list[Receiver] = []
        look_up = type(interface).get_interface
        hand_out = outside(self._hand_out)

        # Returns the same function every time, because torch.compile keeps a variant of the model per function.
        def get_interface(implementation: str, default: Callable[..., Any]) -> Callable[..., Any]:
            function = look_up(interface, implementation, default)

            def seen(module: Any, query: Any, key: Any, value: Any, *others: Any, **named: Any) -> Any:
                hand_out(module, query, key, others[0] if others else named.get("attention_mask"), named)
                return function(module, query, key, value, *others, **named)

            return seen

        self._get_interface = get_interface

    def add(self, receiver: Receiver) -> None:
        self._receivers.append(receiver)
        self._interface.get_interface = self._get_interface

    def remove(self, receiver: Receiver) -> None:
        self._receivers.remove(receiver)
        if not self._receivers:
            del self._interface.get_interface

    def _hand_out(self, module: Any, query: Any, key: Any, mask: Any, named: dict[str, Any]) -> None:
        for receiver in list(self._receivers):
            receiver(module, query, key, mask, named)


_known: dict[int, Interface] = {}  # by the id of objects that transformers keeps as long as the process lives


def interfaces(model: torch.nn.Module) -> list[Interface]:
    """The interfaces in which the classes of a model's modules look up their attention functions."""
    found: dict[int, Interface] = {}
    for kind in {kind for module in model.modules() for kind in type(module).__mro__}:
        interface = getattr(sys.modules.get(kind.__module__), INTERFACE, None)
        if interface is not None and hasattr(interface, "get_interface"):
            found[id(interface)] = _known.setdefault(id(interface), Interface(interface))
    return list(found.values())


def models(model: torch.nn.Module) -> list[torch.nn.Module]:
    """The modules that are complete transformers models."""
    return [module for module in model.modules() if hasattr(module, "config") and callable(getattr(module, "get_input_embeddings", None))]


def described(model: torch.nn.Module) -> tuple[str, Any]:
    """The name of the model's class, and its configuration or None, inside any wrappers: DistributedDataParallel, torch.compile, or a module of
    the user's.
    """
    inner = model
    while type(inner).__module__.partition(".")[0] in WRAPPERS:
        within = next((found for name in ("_orig_mod", "module") if (found := getattr(inner, name, None)) is not None), None)
        if not callable(getattr(within, "named_modules", None)):
            break
        inner = cast("torch.nn.Module", within)
    whole = next(iter(models(inner)), inner)
    return type(inner).__name__, getattr(whole, "config", None)


def numbered(model: torch.nn.Module) -> dict[int, int]:
    """From the id of a module to its layer number."""
    layers = ((module, getattr(module, "layer_idx", None)) for module in model.modules())
    return {id(module): layer for module, layer in layers if isinstance(layer, int)}


def real_tokens(mask: Any, batch: int, tokens: int) -> torch.Tensor | None:
    """A mask of the tokens that are not padding, [batch, tokens]; None: all of them.

    `mask`: [batch, tokens]; or what attention functions receive: [batch, 1, tokens, tokens], true or zero where a key is seen, or a BlockMask. A
    token that does not see itself is padding.
    """
    import torch

    if mask is None:
        return None
    if callable(getattr(mask, "mask_mod", None)):
        device = mask.kv_num_blocks.device
        row, token = torch.arange(batch, device=device)[:, None], torch.arange(tokens, device=device)[None]
        seen = mask.mask_mod(row, torch.zeros_like(row), token, token)
        return torch.as_tensor(seen, device=device).expand(batch, tokens)
    if isinstance(mask, torch.Tensor) and tuple(mask.shape) == (batch, tokens):
        return mask != 0
    if isinstance(mask, torch.Tensor) and mask.dim() == 4 and tuple(mask.shape[2:]) == (tokens, tokens) and mask.shape[0] in (1, batch):
        seen = mask[:, 0].diagonal(dim1=-2, dim2=-1)
        if seen.dtype.is_floating_point:
            seen = seen > torch.finfo(seen.dtype).min / 2
        return seen.expand(batch, tokens)
    found = f"a tensor of {list(mask.shape)}" if isinstance(mask, torch.Tensor) else type(mask).__name__
    raise UsageError(f"mask: found {found}, expected [{batch}, {tokens}] or [{batch}, 1, {tokens}, {tokens}]")
