"""What the attention of a transformers model is like, layer by layer, without running it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from . import _attention
from .errors import InputError

if TYPE_CHECKING:
    import torch


def attention_modules(model: torch.nn.Module) -> dict[int, torch.nn.Module]:
    """The modules that look up their function in the attention interface, by layer; without those that read another sequence (cross-attention)."""
    find = getattr(model, "get_decoder", None)
    decoder = (find() if callable(find) else None) or model
    found: dict[int, torch.nn.Module] = {}
    for module in decoder.modules():
        layer = getattr(module, "layer_idx", None)
        code = getattr(inspect.unwrap(type(module).forward), "__code__", None)
        if type(layer) is not int or code is None or _attention.INTERFACE not in code.co_names:
            continue
        if getattr(module, "is_cross_attention", "CrossAttention" in type(module).__name__):
            continue
        if layer in found:
            raise InputError(f"{type(model).__name__}: two attention modules have the layer number {layer}; expected a decoder")
        found[layer] = module
    if not found:
        raise InputError(
            f"no attention of {type(model).__name__} uses the attention interface of transformers, where queries and keys are taken; "
            "measure it in Python, with ropewalk.watch and its tap"
        )
    return dict(sorted(found.items()))


def described(module: torch.nn.Module, text: Any, layer: int) -> dict[str, Any]:
    """The sizes of a layer's queries and keys. `text`: the configuration of the language model."""
    q_heads = _first((module, text), "num_heads", "num_attention_heads")
    groups = _first((module,), "num_key_value_groups")
    return {
        "layer": layer,
        "q_heads": q_heads,
        "kv_heads": q_heads // groups if groups else _first((module, text), "num_key_value_heads") or q_heads,
        "d_head": _first((module, text), "qk_head_dim", "head_dim", "head_size"),
        "scale": _first((module,), "scaling"),
        "window": _window_of(module, text, layer),
    }


def forget_lengths(model: torch.nn.Module) -> None:
    """Resets RoPE of type dynamic, which otherwise turns a document according to the longest one before it."""
    for module in model.modules():
        most = getattr(module, "original_max_seq_len", None)
        for name in [name for name in vars(module) if name.endswith("max_seq_len_cached")] if most else []:
            prefix = name.removesuffix("max_seq_len_cached")
            original = getattr(module, f"{prefix}original_inv_freq", None)
            if original is None or getattr(module, name) == most:
                continue
            module.register_buffer(f"{prefix}inv_freq", original.to(getattr(module, f"{prefix}inv_freq").device), persistent=False)
            setattr(module, name, most)


def _window_of(module: torch.nn.Module, text: Any, layer: int) -> Any:
    """The number of tokens that the layer's attention sees; None: all."""
    kind = (getattr(text, "layer_types", None) or [None] * (layer + 1))[layer]
    if kind == "sliding_attention" or kind is None and getattr(text, "use_sliding_window", True):
        return _first((module, text), "sliding_window")
    return getattr(text, "attention_chunk_size", None) if kind == "chunked_attention" else None


def _first(things: tuple[Any, ...], *names: str) -> Any:
    return next((value for thing in things for name in names if (value := getattr(thing, name, None))), None)
