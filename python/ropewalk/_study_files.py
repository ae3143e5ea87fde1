"""The files of a study's results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _tables
from .errors import Error, InputError, SystemError, UsageError  # noqa: A004

if TYPE_CHECKING:
    import pandas
    import pyarrow

EFFECTS = ["ablate.csv", "ablate_controls.csv"]  # exist where the experiment has `ablate:`


class StudyFiles:
    """Reads each file once, until any of them changes. `path` is the table of components; the others are in the same folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: dict[str, Any] = {}  # what was read, by name
        self._stamp: object = None  # state of the files when they were read

    def sibling(self, name: str) -> Path:
        """A file in the table's folder; a table with another name than qk.csv has none."""
        return self.path.parent / name if self.path.name == "qk.csv" else self.path / name

    def arrow(self, name: str) -> pyarrow.Table:
        if name not in ("heads", "components", "bands", "curves", "changes", "loss"):
            raise UsageError(f"'{name}' is not a table; expected heads, components, bands, curves, changes or loss")
        if name == "loss" and not self.sibling("loss.csv").is_file():
            raise UsageError(f"{self.sibling('loss.csv')}: this table does not exist; write `loss: true` in the experiment to measure the loss")
        return _tables.read(self.path if name == "components" else self.sibling(f"{name}.csv"))

    def frame(self, name: str) -> pandas.DataFrame:
        frame: pandas.DataFrame = self.read_once(name, lambda: _tables.convert(self.arrow(name), "pandas"))
        return frame

    def read_once(self, name: str, read: Callable[[], Any]) -> Any:
        """Reads something once, until any file changes: numbers of two runs must not be mixed."""
        while True:
            now = self._facts()
            if self._stamp != now:
                self._read, self._stamp = {}, now
            if name in self._read:
                return self._read[name]
            try:
                found = read()
            except Error:
                if now == self._facts():
                    raise
                continue
            if self._stamp == now == self._facts():  # nothing was written while this was read
                self._read[name] = found

    def _facts(self) -> list[tuple[int, int, int] | None]:
        """Facts about the files that change when they are replaced."""
        found: list[tuple[int, int, int] | None] = []
        for path in (self.path, *(self.sibling(name) for name in ("heads.csv", "bands.csv", "curves.csv", "changes.csv", "loss.csv", *EFFECTS, "summary.json"))):
            try:
                facts = path.stat()
            except OSError:
                found.append(None)
            else:
                found.append((facts.st_ino, facts.st_size, facts.st_mtime_ns))
        return found

    def summary(self) -> dict[str, Any]:
        """summary.json, read again."""
        path = self.sibling("summary.json")
        try:
            summary = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise SystemError(f"{path}: this file does not exist; ropewalk run and ropewalk analyze write it to the table's folder") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read: {error}") from None
        if not isinstance(summary, dict) or not isinstance(summary.get("checkpoints"), list):
            raise InputError(f"{path}: key 'checkpoints' is missing; expected a file written by ropewalk")
        return summary
