"""Writes measured steps during the training, on a thread of its own, one step after another."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from . import _module, _watch_log
from ._health import Alert, HealthMonitor
from ._listener import Listener
from ._measurement import Measurement
from ._study import Study
from ._temporary import TemporaryFolder
from ._watch_folder import WatchFolder
from .errors import Error, InputError, UsageError

if TYPE_CHECKING:
    import torch

class Written(NamedTuple):
    """What is told of a written step."""

    values: _watch_log.Values
    images: _watch_log.Images
    alerts: list[Alert]


WITHOUT_OUT = "watch has no out=, so it keeps tables but no moments; name a folder with out= to use study.capture, jackknife and difference"


class Writer:
    """A results folder to which one capture is added per measured step. Without `out`, its tables exist as long as the writer."""

    def __init__(self, out: str | os.PathLike[str] | None, name: str, components: int, health: HealthMonitor) -> None:
        if out is not None and not os.fspath(out):
            raise UsageError("out: found '', expected a folder")
        self._kept = TemporaryFolder() if out is None else None
        self._folder = WatchFolder(self._kept.path if self._kept else Path(out or "").absolute())
        self._name, self._components, self._health = name, components, health
        self._pool = ThreadPoolExecutor(1, "ropewalk-watch", _step_back)
        self._working: list[tuple[int, Future[Written]]] = []
        self._folder.hold()

    def add(self, measurement: Measurement) -> None:
        """Starts to write a step after the previous ones are finished."""
        self.wait()
        event = measurement.moments._event() if measurement.moments is not None else None
        self._working.append((measurement.step, self._pool.submit(self._write, measurement, event)))

    def finished(self) -> list[tuple[int, Future[Written]]]:
        """The steps that were finished since the last call."""
        done = [(step, future) for step, future in self._working if future.done()]
        self._working = [(step, future) for step, future in self._working if not future.done()]
        return done

    @property
    def idle(self) -> bool:
        return not self._working

    def wait(self) -> None:
        """Waits until everything is written."""
        for _, future in self._working:
            future.exception()

    def study(self) -> Study:
        if not self._folder.steps:
            raise UsageError("watch: no step was measured yet")
        self.make_tables()
        study = Study(self._folder.path / "qk.csv")
        if self._kept:
            study._kept, study._without_captures = self._kept, WITHOUT_OUT
        return study

    def make_tables(self) -> None:
        """Makes the tables of all steps, where steps were added."""
        if self._folder.steps and self._folder.changed:
            self._folder.make_tables()

    def close(self) -> None:
        self._pool.shutdown(wait=True)
        self._folder.let_go()

    def _write(self, measurement: Measurement, measured: torch.cuda.Event | None) -> Written:
        step = measurement.step
        try:
            measurement.fetch(measured)  # the GPU's results are only known now
            if not any(measurement.shape()[2]) and not measurement.joint:
                raise InputError(measurement.why_nothing())
        except Error as error:
            raise type(error)(f"watch: step {step}: {error}") from None
        moments = measurement.moments
        assert moments is not None
        self._folder.require_model(self._name, (moments.layers, moments.q_heads, moments.kv_heads, moments.d_head), self._components)
        self._folder.set_aside_from(step)
        label = measurement.label
        with Listener() as listener:
            said = _module.core().write_step(
                listener, moments._kept, str(self._folder.of_step(label)), label, self._name, self._components, self._kept is None, step, measurement.steps
            )
        self._folder.add(label, step)
        summary = json.loads(said)
        others = {"batches_left_out": measurement.batches_left_out, "heads_with_trend": summary["trend"]}
        health = self._health.measure(step, summary["health"], measurement.attention)
        values = {**_watch_log.values(summary, label), **{f"ropewalk/{name}": float(value) for name, value in others.items()}, **health.values}
        return Written(values, health.images, health.alerts)


def _step_back() -> None:
    """Lowers the priority of this thread and of those that it starts, so that the training goes first. On Linux, priorities belong to threads."""
    with contextlib.suppress(AttributeError, OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
