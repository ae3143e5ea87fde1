"""What a watch knows about the model that it measures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _attention, _checks
from .errors import UsageError

if TYPE_CHECKING:
    import torch


class WatchedModel(NamedTuple):
    """A model, without its wrappers."""

    kind: str  # name of its class
    name: str  # name in tables
    config: Any  # says how RoPE rotated vectors; None: vectors before RoPE are not wanted
    layers: int | None  # number of layers; None: unknown
    chosen: frozenset[int] | None  # layers to measure; None: all


def watched_model(model: torch.nn.Module, layers: int | Sequence[int] | None, name: str, pre_rope: bool) -> WatchedModel:
    """Throws UsageError where the model cannot be watched."""
    import torch

    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"model: found {type(model).__name__}, expected a torch.nn.Module")
    kind, config = _attention.described(model)
    text = config.get_text_config() if config is not None and hasattr(config, "get_text_config") else config
    numbered = max(_attention.numbered(model).values(), default=-1) + 1  # for a module around a transformers model
    known, chosen = _checks.layers(layers, getattr(text, "num_hidden_layers", numbered or None))
    if pre_rope and config is None:
        raise UsageError(f"pre_rope: {kind} has no transformers configuration, which would say how RoPE rotates; leave pre_rope out")
    if layers is None and not _attention.interfaces(model):
        raise UsageError(
            f"model: no attention of {kind} uses the attention interface of transformers: expected a model that does, or layers= and calls of Watch.tap"
        )
    name = name or os.path.basename(str(getattr(config, "_name_or_path", "") or "")) or kind
    return WatchedModel(kind, name, config if pre_rope else None, known, chosen)
