"""The results of `ropewalk forecast`, as DataFrames and a figure."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

from . import _tables
from ._figure import Figure
from ._temporary import TemporaryFolder
from .errors import InputError, SystemError  # noqa: A004


class Forecast:
    """What RoPE settings would do to the heads of a checkpoint at a longer context, in logits (docs/forecast.md).

    `settings`: one row per setting, the lowest score first. `heads`: one row per setting and head. Where the forecast was checked, `losses` has the
    measured loss of every setting by position, `documents` that of every document, and `check` how the forecast ranks these losses; else they are
    None. `path`: the folder with all results.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder)
        self._kept: TemporaryFolder | None = None
        self._whole = _tables.read(self.path / "forecast.csv")

    @functools.cached_property
    def settings(self) -> Any:
        table = self._table[self._table.layer.isna()].sort_values("score", kind="stable", ignore_index=True)
        return table.drop(columns=["layer", "q_head", "kv_head", "moved", "moved_low", "moved_high", "preferred", "preferred_then"]).astype({"heads": int, "breaks": int})

    @functools.cached_property
    def heads(self) -> Any:
        table = self._table[self._table.layer.notna()].reset_index(drop=True)
        whole = dict.fromkeys(["layer", "q_head", "kv_head", "preferred", "breaks"], int)
        return table.drop(columns=["heads"]).astype(whole)

    @functools.cached_property
    def losses(self) -> Any:
        return self._read("forecast_loss.csv")

    @functools.cached_property
    def documents(self) -> Any:
        return self._read("forecast_documents.csv")

    @functools.cached_property
    def check(self) -> Any:
        return self._read("forecast_check.csv")

    def figure(self) -> Figure:
        """The settings by score, and the heads that each changes most."""
        path = self.path / "figures" / "forecast.vl.json"
        try:
            return Figure("forecast", json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise SystemError(f"{path}: cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise InputError(f"{path}: is not a figure written by ropewalk: {error}") from None

    @functools.cached_property
    def _table(self) -> Any:
        return _tables.convert(self._whole, "pandas")

    def _read(self, name: str) -> Any:
        return _tables.convert(_tables.read(self.path / name), "pandas") if (self.path / name).exists() else None

    def __repr__(self) -> str:
        rows = sorted((row for row in self._whole.select(["setting", "layer", "score"]).to_pylist() if row["layer"] is None), key=lambda row: row["score"])
        scores = "; ".join(f"{row['setting']}: {row['score']:.4f}" for row in rows)
        return f"Forecast({scores}, {self.path})"
