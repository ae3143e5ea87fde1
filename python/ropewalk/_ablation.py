"""The results of `ropewalk ablate`, as DataFrames and a figure."""

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


class Ablation:
    """What edits of sets of heads cost a checkpoint, in nats per token, compared with the same edits of random sets.

    `table`: one row per set and edit (docs/cli.md). `positions`: one row per bin of positions of these. `documents`: one row per document of
    these. `controls`: the random sets and what they cost. `path`: the folder with all results.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder)
        self._kept: TemporaryFolder | None = None
        self._whole = _tables.read(self.path / "ablate.csv")

    @functools.cached_property
    def table(self) -> Any:
        return _tables.convert(self._whole, "pandas")

    @functools.cached_property
    def positions(self) -> Any:
        return self._read("ablate_positions.csv")

    @functools.cached_property
    def documents(self) -> Any:
        return self._read("ablate_documents.csv")

    @functools.cached_property
    def controls(self) -> Any:
        return self._read("ablate_controls.csv")

    def figure(self) -> Figure:
        """Each effect next to the effects of its controls and of removal."""
        path = self.path / "figures" / "ablate.vl.json"
        try:
            return Figure("ablate", json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise SystemError(f"{path}: cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise InputError(f"{path}: is not a figure written by ropewalk: {error}") from None

    def _read(self, name: str) -> Any:
        return _tables.convert(_tables.read(self.path / name), "pandas")

    def __repr__(self) -> str:
        rows = [f"{row['set']} {row['edit']}: {row['dloss']:+.4f}" for row in self._whole.select(["set", "edit", "dloss"]).to_pylist()]
        return f"Ablation({'; '.join(rows)} nats per token, {self.path})"
