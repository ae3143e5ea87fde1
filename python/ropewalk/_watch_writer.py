"""Tables of measured steps, made beside the training: on a thread of its own, one step after the other."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from . import _checks, _module, _watch_log
from ._listener import Listener, log
from ._measurement import Measurement
from ._moments import Moments
from ._study import Study
from ._temporary import TemporaryFolder
from .errors import InputError, UsageError

if TYPE_CHECKING:
    import torch

LABEL = "step-{}"  # of a checkpoint; every program that reads labels takes the step from it


class Writer:
    """A results folder that grows by one checkpoint per measured step. Without `out`, its tables live as long as the writer."""

    def __init__(self, out: str | os.PathLike[str] | None, name: str, components: int) -> None:
        self._kept = TemporaryFolder() if out is None else None
        self._folder = self._kept.path if self._kept else Path(out or "").absolute()
        self._name, self._components = name, components
        self._tables = _module.core().Tables(beside=True)
        self._steps: set[int] = set()  # in the tables
        self._shape: tuple[int, ...] | None = None  # of the model whose steps these are
        self._pool = ThreadPoolExecutor(1, "ropewalk-watch", _step_back)
        self._working: list[tuple[int, Future[_watch_log.Values]]] = []
        self._lock: object = None
        if self._kept is None:
            self._read()

    def add(self, measurement: Measurement) -> None:
        """Starts with a step, once those before are done."""
        self.wait()
        assert measurement.moments is not None
        self._working.append((measurement.step, self._pool.submit(self._write, measurement, measurement.moments._event())))

    def finished(self) -> list[tuple[int, _watch_log.Values]]:
        """What came out since it was last asked. Raises what went wrong."""
        done = [(step, future) for step, future in self._working if future.done()]
        self._working = [(step, future) for step, future in self._working if not future.done()]
        return [(step, future.result()) for step, future in done]

    def wait(self) -> None:
        """Until nothing is under way."""
        for _, future in self._working:
            future.exception()

    def study(self) -> Study:
        if not self._steps:
            raise UsageError("watch: no step was measured yet")
        study = Study(self._folder)
        study._kept = self._kept
        return study

    def close(self) -> None:
        self._pool.shutdown(wait=True)
        self._lock = None

    def _read(self) -> None:
        """Steps that a former process measured."""
        checkpoints = _checks.folder(self._folder / "checkpoints")
        self._lock = _module.core().FolderLock(str(self._folder))
        for name in sorted(entry.name for entry in checkpoints.iterdir() if not entry.name.startswith(".")):
            if not re.fullmatch(LABEL.format(r"\d+"), name):
                raise InputError(f"{self._folder / 'checkpoints' / name}: is no step of a watch; name another folder")
            self._analyze(int(name.rpartition("-")[2]), Moments.load(self._folder / "checkpoints" / name))

    def _analyze(self, step: int, moments: Moments) -> None:
        shape = (moments.layers, moments.q_heads, moments.kv_heads, moments.d_head)
        if self._shape not in (None, shape):
            raise InputError(
                f"{self._folder}: found steps with {self._shape} layers, query heads, key heads and dimensions, and step {step} with {shape}: "
                "expected one model; name another folder"
            )
        self._shape = shape
        with Listener() as listener:
            self._tables.add(listener, moments._kept, step, LABEL.format(step), self._name, self._components)
        self._steps.add(step)

    def _set_aside_after(self, step: int) -> None:
        """Steps that training comes to only now were of another course of it."""
        for later in sorted(one for one in self._steps if one > step):
            self._steps.remove(later)
            self._tables.remove(later)
            place, aside = self._folder / "checkpoints" / LABEL.format(later), self._folder / "replaced" / LABEL.format(later)
            if place.exists():
                aside.parent.mkdir(exist_ok=True)
                shutil.rmtree(aside, ignore_errors=True)
                place.rename(aside)
                log.warning("%s: training is at step %d again; what was measured later is in %s", place, step, aside.parent)

    def _write(self, measurement: Measurement, measured: torch.cuda.Event | None) -> _watch_log.Values:
        step = measurement.step
        if measurement.context == 0:
            raise InputError(f"watch: step {step}: every token of the measured batches was padding; expected some that are not")
        try:
            moments = measurement.fetch(measured)
        except InputError as error:  # what a GPU met is known only now
            raise InputError(f"watch: step {step}: {error}") from None
        self._set_aside_after(step)
        self._analyze(step, moments)
        if self._kept is None:
            self._save(self._folder / "checkpoints" / LABEL.format(step), moments)
        with Listener() as listener:
            summary = self._tables.write(listener, str(self._folder / "qk.csv"), LABEL.format(step))
        return _watch_log.values(json.loads(summary), LABEL.format(step))

    def _save(self, place: Path, moments: Moments) -> None:
        """In place of what a former process left there."""
        if place.exists():
            shutil.rmtree(place)
        moments.save(place, label=place.name, model=self._name)


def _step_back() -> None:
    """The training goes first: this thread, and those that it starts to compute, take what processors have left. Linux has that by thread."""
    with contextlib.suppress(AttributeError, OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
