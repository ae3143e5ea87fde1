"""Measures a model during training: when a measurement begins, which passes it takes, and how processes end it together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _checks, _faults
from ._agreement import Reported, agreement
from ._attention import Scores
from ._faults import Faults
from ._hooks import Hooks, OptimizerHooks
from ._join import join
from ._measurement import Measurement
from ._processes import Processes
from ._results import Results
from ._watched_model import WatchedModel
from .errors import Error, UsageError

if TYPE_CHECKING:
    import torch

ENDED = "measuring ends here, and training continues"


class Schedule(NamedTuple):
    """The settings of a watch."""

    every: int  # a measurement begins every so many steps
    batches: int  # batches per measurement, of all processes together
    passes: Callable[[torch.nn.Module], Any] | None  # makes the batches that a step lacks


class MeasurementCycle:
    """The measurements of one process: at most one at a time, from the step at which it begins to the exchange that ends it."""

    def __init__(self, model: torch.nn.Module, subject: WatchedModel, schedule: Schedule, processes: Processes, faults: Faults, results: Results) -> None:
        self.step = 0  # current training step
        self.measurement: Measurement | None = None
        self.closes = False  # the watch was closed
        self.stops = False  # this process measures no more, and tells the others at the next exchange
        self.over = False  # there are no further exchanges
        self._subject, self._every, self._passes = subject, schedule.every, schedule.passes
        self._processes, self._faults, self._results = processes, faults, results
        self._batches = -(-schedule.batches // processes.count())
        self._begun = -1  # the step at which the last measurement began
        self._unmeasured: list[int] = []  # steps that were not measured because the previous measurement was unfinished
        self._hooks = Hooks(model, self._take)
        self._optimizers = OptimizerHooks(model, self._before_step, self._after_step)
        faults.awaited = processes.count() > 1

    @property
    def attached(self) -> bool:
        """Whether queries and keys are being taken."""
        return self._hooks.attached

    def tap(self, layer: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None, mask: Any, training: bool) -> None:
        self._hooks.take_outside(layer, 0, q, k, positions, mask, Scores(), training)

    def _before_step(self, holds: Callable[[], bool]) -> None:
        """Called before every step of an optimizer, which may hold parameters of the model."""
        if self.measurement is not None and self._passes is not None:
            self._faults.guard(lambda: self._fill() if holds() else None, then="batches of the next steps are used instead")

    def _after_step(self, counts: Callable[[], bool]) -> None:
        if not self.over:
            self._faults.guard(lambda: self.follow(self.step + 1) if counts() else None)

    def follow(self, step: int) -> None:
        """Called at every step of the training, by the hook of its optimizer or by a callback."""
        if self.over:
            return
        if self.measurement is None and step % self._every != 0 and self._results.idle:
            self.step = step  # a step that is not measured costs nothing else
        else:
            self._faults.guard(self._go_to, step)

    def _go_to(self, step: int) -> None:
        self.step = step
        if self.measurement is not None and self.step != self.measurement.step:
            self._settle()
        if self.measurement is not None:
            self.measurement.now = step
            if step % self._every == 0 and step > self.measurement.step:
                self._note_unmeasured()
        elif not self.over and self.step % self._every == 0 and self.step != self._begun:
            self._begin()
        self._results.deliver()  # must be last, because a listener may close the watch

    def close(self) -> None:
        """Tells the others at the next exchange, which is the last one, that this process has finished."""
        self.closes = True
        self._faults.awaited = False

    def stop(self) -> None:
        """Measures no more, and tells the others at the next exchange."""
        self.stops = True
        self._hooks.detach()

    def leave(self) -> None:
        """Takes part in the last exchange, where others wait for one."""
        if not self.over and self.measurement is not None:
            self._faults.guard(self._settle)
        self._end_for_all([])

    def end(self) -> None:
        """Ends measuring without an exchange."""
        self.over, self._faults.awaited = True, False
        self._drop()
        self._optimizers.remove()

    def say_unmeasured(self) -> None:
        if len(self._unmeasured) > 1 and self._processes.rank() == 0:
            some = ", ".join(map(str, self._unmeasured[:10])) + (", …" if len(self._unmeasured) > 10 else "")
            self._faults.warn(f"watch: {len(self._unmeasured)} steps were not measured: {some}", UsageError("all"), "the measurements before them were unfinished")

    def _fill(self) -> None:
        """Makes additional passes before the weights change."""
        measurement = self.measurement
        if measurement is None or self._passes is None or measurement.problem or measurement.step != self.step or not self._hooks.attached:
            return
        with self._hooks.measured_passes() as model:
            while not measurement.full:
                before = measurement.batches
                self._passes(model)
                if measurement.problem is not None or self.measurement is not measurement:
                    return
                if measurement.batches == before:
                    raise UsageError(f"watch: step {measurement.step}: passes: no attention of {self._subject.kind} was seen: expected a function that runs the model once")

    def _note_unmeasured(self) -> None:
        """Notes that `every` is shorter than a measurement."""
        measurement = self.measurement
        assert measurement is not None
        self._unmeasured.append(self.step)
        if len(self._unmeasured) == 1 and self._processes.rank() == 0:
            text = f"watch: step {self.step} is not measured, because the measurement of step {measurement.step} has {measurement.batches} of {measurement.wanted} batches"
            self._faults.warn(text, UsageError(), "expected a longer every=, fewer batches=, or passes=")

    def _begin(self) -> None:
        self._begun = self.step
        self.measurement = Measurement(self.step, self._batches, self._subject.layers, self._subject.chosen, self._subject.config)
        if self.stops:
            return
        try:
            self._hooks.attach()
        except Exception as error:
            self._spoil(error)

    def _drop(self) -> None:
        self._hooks.detach()
        self.measurement = None

    def _settle(self) -> None:
        """Exchanges the state of the current measurement between all processes, which may make different numbers of passes per step, and finish
        together. Collective.
        """
        measurement = self.measurement
        assert measurement is not None
        reports = self._exchange(Reported(measurement.batches, measurement.full, self._problem(measurement), self.stops, self.closes and not self.stops))
        agreed = agreement(reports)
        if agreed.problem or agreed.over:
            self._drop()
        if agreed.over:
            self._end_for_all(agreed.gone)
        if agreed.problem:
            self._say(agreed.problem.process, measurement.step, agreed.problem.kind, agreed.problem.text)
        elif agreed.ready:
            self._finish(measurement)
        elif self.closes:
            self._drop()

    def _problem(self, measurement: Measurement) -> tuple[str, str] | None:
        error = self._faults.pending() or measurement.problem
        if error is not None:
            return _faults.kind_of(error), _faults.error_line(error)
        if measurement.batches or self.closes or self.stops:
            return None
        return "UsageError", (
            f"no attention of {self._subject.kind} was seen: expected a transformers model in training that uses the attention interface of transformers, "
            "or calls of Watch.tap"
        )

    def _exchange(self, value: Any) -> list[Any]:
        try:
            return self._processes.all(value)
        except Exception as error:
            self._drop()
            self._end_for_all([])
            raise Error(f"watch: measuring ends, because the other processes do not answer: {_faults.error_line(error)}") from error

    def _end_for_all(self, stopped: list[int]) -> None:
        """Ends measuring in all processes; all know that there are no further exchanges."""
        self.stops = self.over = True
        self._faults.awaited = False
        self._optimizers.remove()
        others = [process for process in stopped if process != 0]
        if others and self._processes.rank() == 0:
            self._faults.warn(f"watch: process {others[0]} stopped at step {self.step}", Error(), ENDED)

    def _finish(self, measurement: Measurement) -> None:
        """Joins the moments of all processes, and passes them to the writer of the first process. Collective."""
        self._drop()
        joint = join(measurement, self._processes, self._exchange)
        if isinstance(joint, Measurement):
            self._results.add(joint)
        else:
            self._say(joint.process, measurement.step, joint.kind, joint.text)

    # Called while the model runs

    def _take(
        self, layer: int, owner: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None, mask: Any, scores: Scores, counted: bool
    ) -> None:
        measurement = self.measurement
        if measurement is None or measurement.problem is not None:
            return
        try:
            layer = _checks.whole("tap: layer", layer, 0, (self._subject.layers or 2**31 + 1) - 1)
            measurement.take(layer, owner, q, k, positions, mask, scores, counted)
        except Exception as error:
            self._spoil(error)

    def _spoil(self, error: Exception) -> None:
        """Drops the current measurement; other processes learn of it at the next exchange."""
        measurement = self.measurement
        assert measurement is not None
        self._hooks.detach()
        measurement.problem = error
        if self._processes.count() > 1:
            return
        self._drop()
        if self._faults.raised and not isinstance(error, Error):
            raise error
        self._say(0, measurement.step, _faults.kind_of(error), _faults.error_line(error))

    def _say(self, process: int, step: int, kind: str, text: str) -> None:
        """Reports the problem of a measurement in one of the processes: the first process warns, or each raises it."""
        where = f", process {process}" if self._processes.count() > 1 else ""
        text = text if text.startswith("watch: ") else f"step {step}{where}: {text}"
        self._faults.take_of_all(kind, text, first=self._processes.rank() == 0)
