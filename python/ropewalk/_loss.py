"""The results of `ropewalk loss`, as DataFrames."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

from . import _tables, _views
from ._temporary import TemporaryFolder


class Loss:
    """The loss of a checkpoint on a corpus, in nats per token.

    `table`: one row for all positions, then one per bin of positions (docs/formats.md). `documents`: one row per document. `path`: the folder with
    both.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder)
        self._kept: TemporaryFolder | None = None
        self._whole = _tables.read(self.path / "loss.csv")

    @property
    def value(self) -> float:
        """The loss over all positions."""
        return float(self._whole["loss"][0].as_py())

    @property
    def se(self) -> float:
        """Its standard error over documents; NaN for a single document."""
        se = self._whole["loss_se"][0].as_py()
        return float("nan") if se is None else float(se)

    @functools.cached_property
    def table(self) -> Any:
        return _tables.convert(self._whole, "pandas")

    @functools.cached_property
    def documents(self) -> Any:
        return _tables.convert(_tables.read(self.path / "loss_documents.csv"), "pandas")

    def __repr__(self) -> str:
        return f"Loss({self.value:.4f}{_views.error_text(self.se, 4)} nats per token, {self.path})"
