"""Reads safetensors files as numpy arrays that stay in the file until they are used."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from .errors import InputError, SystemError  # noqa: A004

TYPES: dict[str, np.dtype[Any]] = {"F64": np.dtype("<f8"), "F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "I64": np.dtype("<i8")}
LONGEST_HEADER = 100_000_000


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The tensors by name, and the metadata."""
    try:
        data = np.memmap(path, mode="r")
    except FileNotFoundError:
        raise SystemError(f"{path}: cannot open: No such file or directory") from None
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise InputError(f"{path}: cannot be read as safetensors: {error}") from None
    size = int.from_bytes(data[:8].tobytes(), "little")
    if len(data) < 8 or size > min(LONGEST_HEADER, len(data) - 8):
        raise InputError(f"{path}: is not a safetensors file: its header would have {size} bytes")
    try:
        header = json.loads(data[8 : 8 + size].tobytes())
        metadata = header.pop("__metadata__", {})
        other = [f"tensor '{name}' is of {entry['dtype']}" for name, entry in header.items() if entry["dtype"] not in TYPES]
        tensors = {} if other else {name: _tensor(data[8 + size :], entry) for name, entry in header.items()}
    except (ValueError, KeyError, TypeError, AttributeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: has no valid safetensors header: {error}") from None
    if other:
        raise InputError(f"{path}: {other[0]}, expected one of {', '.join(TYPES)}; is this a moments file?")
    return tensors, metadata


def _tensor(data: np.ndarray, entry: dict[str, Any]) -> np.ndarray:
    (begin, end), shape, dtype = entry["data_offsets"], tuple(entry["shape"]), TYPES[entry["dtype"]]
    if not all(isinstance(n, int) and n >= 0 for n in (*shape, begin, end)):
        raise ValueError("sizes are whole numbers")
    if not begin <= end <= len(data) or math.prod(shape) * dtype.itemsize != end - begin:
        raise ValueError(f"a tensor of {list(shape)} does not lie at [{begin}, {end}] of {len(data)} bytes")
    tensor: np.ndarray = data[begin:end].view(dtype).reshape(shape)
    return tensor
