"""The folder that a watch writes: one capture per measured step, and tables of all of them, which are made when they are needed."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from . import _checks, _module
from ._build import VERSION
from ._listener import Listener, log
from ._temporary import TemporaryFolder
from .errors import InputError, SystemError, UsageError  # noqa: A004

LABEL = re.compile(r"step-(\d+)(…\d+)?")  # label of a checkpoint; every program that reads labels takes the first step from it
FACTS = "watch.json"  # says to which training the folder belongs
TABLES = ("qk.csv", "heads.csv", "bands.csv", "curves.csv", "changes.csv", "summary.json")


class WatchFolder:
    """The steps in a folder. Measured steps are never removed, and no former step is read before tables are made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._checkpoints = path / "checkpoints"
        self._aside: Path | None = None  # folder for steps of an abandoned course of the training
        self._held: object = None
        self._facts: dict[str, Any] = {}
        self.steps: dict[str, int] = {}  # from a label to its first step
        self.changed = False  # whether steps changed since the tables were made, as far as this process knows

    @property
    def stale(self) -> bool:
        """Whether steps were added or removed since the tables were made, or at about that time."""
        try:
            return (self.path / "qk.csv").stat().st_mtime_ns <= self._checkpoints.stat().st_mtime_ns
        except OSError:
            return True

    def hold(self) -> None:
        """Locks the folder for this process, and creates it where it is missing. Refuses folders that no watch wrote."""
        _checks.folder(self._checkpoints)
        self._held = _module.core().FolderLock(str(self.path))
        self.read()
        self.changed = self.stale
        if not self._facts and (not self.steps or (self.path / "manifest.json").exists()):
            for name in ("manifest.json", *TABLES):
                if (self.path / name).exists():
                    raise UsageError(f"{self.path}: holds {name}, which was not written by a watch; name another folder with out=")

    def let_go(self) -> None:
        self._held = None

    def read(self) -> None:
        """Reads the names of the steps."""
        self._facts, self.steps = _facts(self.path), {}
        for name in os.listdir(self._checkpoints):
            if found := LABEL.fullmatch(name):
                self.steps[name] = int(found[1])
            elif not name.startswith("."):
                raise InputError(f"{self._checkpoints / name}: is not a step of a watch; name another folder")

    def add(self, label: str, step: int) -> None:
        self.steps[label], self.changed = step, True

    def of_step(self, label: str) -> Path:
        return self._checkpoints / label

    def require_model(self, name: str, sizes: tuple[int, ...], components: int) -> None:
        """Checks that all steps belong to one model, which is noted with the first step."""
        known = self._facts.get("sizes")
        if known is None:
            self._facts = {"ropewalk": VERSION, "model": name, "sizes": list(sizes), "components": components}
            self._write_facts()
        elif known != list(sizes):
            raise InputError(f"{self.path}: found steps with {known} layers, query heads, key heads and dimensions, and one with {list(sizes)}: expected one model; name another folder with out=")

    def _write_facts(self) -> None:
        new = self.path / f".{FACTS}.tmp-{os.getpid()}"
        try:
            new.write_text(json.dumps(self._facts) + "\n", encoding="utf-8")
            new.replace(self.path / FACTS)
        except OSError as error:
            self._facts = {}
            raise SystemError(f"{self.path / FACTS}: cannot be written: {error.strerror}") from None

    def set_aside_from(self, step: int) -> None:
        """Moves results of later steps, from the run before training was resumed, to `replaced/`: one folder for all that this watch moves."""
        later = sorted((one, label) for label, one in self.steps.items() if one >= step)
        for _, label in later:
            if self._aside is None:
                self._aside = _unused(self.path / "replaced" / datetime.now().strftime("%Y-%m-%dT%H-%M-%S"))
                log.warning(
                    "%s: training is at step %d, but steps up to %d were already measured: they are moved to %s; step= sets the step at which training continues",
                    self.path, step, later[-1][0], self._aside,
                )  # fmt: skip
            self._aside.mkdir(parents=True, exist_ok=True)
            self.of_step(label).rename(self._aside / label)
            del self.steps[label]
            self.changed = True

    def make_tables(self, out: Path | None = None) -> None:
        folders = [str(self.of_step(label)) for label in sorted(self.steps, key=self.steps.__getitem__)]
        with Listener() as listener:
            _module.core().write_step_tables(listener, folders, str(out or self.path), int(self._facts.get("components", 10)))
        self.changed = False


def tables_of(path: Path) -> tuple[Path, TemporaryFolder | None]:
    """The folder with the tables of what a watch wrote. Where steps were added since, tables are made now, in a temporary folder while the watch
    is running.
    """
    folder = WatchFolder(path)
    if not _facts(path) or not folder.stale:
        return path, None
    try:
        folder._held = _module.core().FolderLock(str(path))
    except SystemError:
        folder._held = None
    folder.read()
    if not folder.steps:
        return path, None
    if folder._held:
        folder.make_tables()
        folder.let_go()
        return path, None
    kept = TemporaryFolder()
    (kept.path / "checkpoints").symlink_to(path.absolute() / "checkpoints")
    folder.make_tables(kept.path)
    return kept.path, kept


def _facts(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads((path / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _unused(path: Path) -> Path:
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found
