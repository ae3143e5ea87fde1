"""The results of a watch: files, and values that are reported; in the first of its processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from . import _faults, _watch_log
from ._faults import Faults
from ._health import Alert, AlertFunction, HealthMonitor
from ._listener import log
from ._measurement import Measurement
from ._processes import Processes
from ._study import Study
from ._watch_writer import Writer, Written
from .errors import UsageError


class Alarms(NamedTuple):
    """When a watch alarms, and whom."""

    max_logit: float | None
    warmup: int | None  # the first step at which growing logits alarm
    every: int  # steps between measurements
    on_alert: AlertFunction | None

    def tell(self, alert: Alert) -> None:
        """Without a function of the user's, a warning is logged."""
        if self.on_alert is None:
            log.warning("watch: %s", alert)
        else:
            self.on_alert(alert)


class Results:
    """Writes and reports results; in other processes than the first it does nothing."""

    def __init__(
        self, processes: Processes, faults: Faults, log: Any, out: str | os.PathLike[str] | None, name: str, components: int, alarms: Alarms
    ) -> None:
        """Errors of the first process are raised in all of them. Collective."""
        self._faults = faults
        self._log_functions, self._image_functions = _watch_log.log_functions(log), _watch_log.image_functions(log)
        self._alarms = alarms
        self._writer: Writer | None = None
        self.delivering = False
        problem = None
        if processes.rank() == 0:
            try:
                self._writer = Writer(out, name, components, HealthMonitor(alarms.max_logit, alarms.warmup, alarms.every))
            except Exception as error:
                problem = error
        reported = processes.all(None if problem is None else (_faults.kind_of(problem), _faults.error_line(problem)))
        if problem is not None:
            raise problem
        if reported[0] is not None:
            raise _faults.rebuild_error(*reported[0])

    @property
    def idle(self) -> bool:
        """Whether nothing is being written or waiting to be reported."""
        return self._writer is None or self._writer.idle

    def study(self) -> Study:
        """The study of all steps so far."""
        if self._writer is None:
            raise UsageError("watch: only the first process has results; ask for them there (rank 0)")
        self._writer.wait()
        self.deliver()
        return self._writer.study()

    def add(self, measurement: Measurement) -> None:
        if self._writer is not None:
            self._writer.add(measurement)

    def deliver(self) -> None:
        """Reports finished steps. A listener may close the watch."""
        if self.idle or self._writer is None:
            return
        before, self.delivering = self.delivering, True
        try:
            for step, future in self._writer.finished():
                error = future.exception()
                if error is not None:
                    self._faults.take(error, _faults.DROPPED)
                    continue
                self._tell(future.result(), step)
        finally:
            self.delivering = before

    def _tell(self, written: Written, step: int) -> None:
        told: list[Callable[[], None]] = [*(partial(tell, written.values, step) for tell in self._log_functions)]
        told += [partial(draw, written.images, step) for draw in self._image_functions]
        told += [partial(self._alarms.tell, alert) for alert in written.alerts]
        for tell in told:
            try:
                tell()
            except Exception as raised:
                self._faults.take(raised, "other loggers get the values, and training continues")

    def close(self) -> None:
        """Waits for what is being written, and makes the tables."""
        if self._writer is None:
            return
        try:
            self._writer.wait()
            self.deliver()
            self._writer.make_tables()
        except Exception as error:
            self._faults.take(error, "the tables are missing; ropewalk.open makes them")
        finally:
            self._writer.close()

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.close()
