"""Measures a model while it trains."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _checks
from ._faults import Faults
from ._health import Alert
from ._measuring import MeasurementCycle, Schedule
from ._processes import Processes
from ._results import Alarms, Results
from ._study import Study
from ._watched_model import watched_model
from .errors import UsageError

if TYPE_CHECKING:
    import torch

def watch(
    model: torch.nn.Module, *, every: int = 500, layers: int | Sequence[int] | None = None, batches: int = 8, log: Any = None, out: str | os.PathLike[str] | None = None,
    step: int = 0, name: str = "", components: int = 10, group: Any = None, pre_rope: bool = False, errors: str = "warn",
    passes: Callable[[torch.nn.Module], Any] | None = None, max_logit: float | None = 100.0, warmup: int | None = None,
    on_alert: Callable[[Alert], Any] | None = None,
) -> Watch:  # fmt: skip
    """Measures the queries and keys of a model while it trains, at every `every`-th step; a context manager.

    Queries and keys of a transformers model are taken where its attention interface receives them, after RoPE; other models call `Watch.tap`. A
    step is a step of the optimizer. A measurement takes `batches` batches, of all processes together; each is a block, from which standard errors
    are computed. They are the batches of that step; where it has fewer, `passes` makes the others: a function of the model that runs it once, on a
    batch of its own. Without `passes` they come from the following steps, between which the weights change: the checkpoint is then called
    `step-0…7`. `layers`: the numbers of the layers to measure, or how many layers there are; default: all. `log`: receives means over heads, with
    errors: a SummaryWriter, a run of wandb or trackio, a function of values and step, or a list of them. `out`: a results folder, which may hold
    former steps. `step`: the step at which training starts. `name`: of the model, in tables. `components`: rows per head in `components`. `group`:
    of torch.distributed. `pre_rope`: also sums of vectors before RoPE, which are rotated back according to the model's configuration; `bands` and
    `curves` are computed from them. `max_logit`, `on_alert`: a head whose largest logit, of 64 rows of attention per batch, is above this is
    alarmed about; so is one whose logits grow away from their own history, from step `warmup` on. `on_alert` gets an Alert, which names layer and
    head; default: a warning. `errors`: "warn" reports an error in a measurement once and lets the training continue; "raise" raises it.
    """
    return Watch(
        model, every=every, layers=layers, batches=batches, log=log, out=out, step=step, name=name, components=components, group=group, pre_rope=pre_rope, errors=errors,
        passes=passes, max_logit=max_logit, warmup=warmup, on_alert=on_alert,
    )


class Watch:
    """A model that is measured while it trains: see `ropewalk.watch`."""

    def __init__(
        self, model: torch.nn.Module, *, every: int = 500, layers: int | Sequence[int] | None = None, batches: int = 8, log: Any = None,
        out: str | os.PathLike[str] | None = None, step: int = 0, name: str = "", components: int = 10, group: Any = None,
        pre_rope: bool = False, errors: str = "warn", passes: Callable[[torch.nn.Module], Any] | None = None,
        max_logit: float | None = 100.0, warmup: int | None = None, on_alert: Callable[[Alert], Any] | None = None,
    ) -> None:  # fmt: skip
        self._closed = True
        self._subject = watched_model(model, layers, name, pre_rope)
        if passes is not None and not callable(passes):
            raise UsageError(f"passes: found {type(passes).__name__}, expected a function of the model")
        schedule = Schedule(_checks.whole("every", every, 1), _checks.whole("batches", batches, 1), passes)
        if on_alert is not None and not callable(on_alert):
            raise UsageError(f"on_alert: found {type(on_alert).__name__}, expected a function of an Alert")
        alarms = Alarms(
            None if max_logit is None else _checks.positive("max_logit", max_logit), None if warmup is None else _checks.whole("warmup", warmup, 0), schedule.every, on_alert
        )
        components, step = _checks.components(components), _checks.whole("step", step, 0)
        self._faults = Faults(errors)
        self._model = model
        self._processes = Processes(group)
        self._followed = False  # a callback follows the training, no matter who closes this
        self._results = Results(self._processes, self._faults, log, out, self._subject.name, components, alarms)
        self._measuring = MeasurementCycle(model, self._subject, schedule, self._processes, self._faults, self._results)
        self._closed = False
        self.at(step)

    @property
    def step(self) -> int:
        """The number of steps of the optimizer so far."""
        return self._measuring.step

    @property
    def study(self) -> Study:
        """The results so far, with tables made now; in the first process."""
        return self._results.study()

    def at(self, step: int) -> None:
        """Says how many steps the model has made, where no torch optimizer counts them. To be called between steps, in every process."""
        self._faults.guard(self._usable, then="nothing is measured")
        self._faults.guard(lambda: self._measuring.follow(_checks.whole("step", step, 0)))

    def tap(self, layer: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None = None, mask: torch.Tensor | None = None) -> None:
        """For modules of your own: takes queries [batch, q_heads, tokens, d_head] and keys [batch, kv_heads, tokens, d_head], as the dot product sees them.

        Call it in every forward pass; it does nothing at steps that are not measured. `positions`: [tokens] or [batch, tokens]; default: 0, 1, 2, …
        `mask`: [batch, tokens], 0 where a token is padding.
        """
        if self._measuring.attached:
            self._measuring.tap(layer, q, k, positions, mask, self._model.training)
        elif self._closed:
            self._faults.guard(self._usable, then="nothing is measured")

    def close(self) -> None:
        """Finishes what is under way, makes the tables and detaches from the model. Calling it again does nothing. To be called in every process."""
        # possibly alone: the others learn of it at the next exchange
        alone = self._processes.count() > 1 and (self._results.delivering or self._followed)
        if self._closed:
            if self._measuring.stops and not alone:
                self._measuring.leave()
            return
        self._closed = True
        self._measuring.close()
        if alone:
            self._measuring.stop()
            self._results.close()
            return
        try:
            self._measuring.leave()
            self._results.close()
        finally:
            self.abort()
        self._measuring.say_unmeasured()
        if (error := self._faults.pending()) is not None:
            raise error

    def abort(self) -> None:
        """Detaches from the model without finishing the current measurement: for use after an exception."""
        self._closed = True
        self._measuring.end()
        self._results.abandon()

    def __enter__(self) -> Watch:
        self._usable()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close() if kind is None else self.abort()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.abort()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "stopped" if self._measuring.over else "measuring" if self._measuring.attached else "waiting"
        return f"<ropewalk.Watch of {self._subject.kind} at step {self.step}: {state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return DetachedWatch, ()  # for copies of a model that contains its watch

    def _usable(self) -> None:
        if self._closed:
            raise UsageError("watch: is closed; make a new one")


class DetachedWatch:
    """Replaces a watch in a copy or a saved file of a model; it measures nothing."""

    def tap(self, layer: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None = None, mask: torch.Tensor | None = None) -> None:
        """Does nothing."""
