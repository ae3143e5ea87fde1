"""Measures a model while it trains."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _checks
from ._faults import Faults
from ._measuring import MeasurementCycle, Schedule
from ._processes import Processes
from ._results import Results
from ._study import Study
from ._watched_model import watched_model
from .errors import UsageError

if TYPE_CHECKING:
    import torch

def watch(
    model: torch.nn.Module, *, every: int = 500, layers: int | Sequence[int] | None = None, batches: int = 8, log: Any = None, out: str | os.PathLike[str] | None = None,
    step: int = 0, name: str = "", components: int = 10, group: Any = None, pre_rope: bool = False, errors: str = "warn",
    passes: Callable[[torch.nn.Module], Any] | None = None,
) -> Watch:  # fmt: skip
    """Measures the queries and keys of a model while it trains, at every `every`-th step; a context manager.

    Queries and keys of a model of transformers are taken where its attention interface gets them, after RoPE; other models call `Watch.tap`. A step is
    a step of the optimizer. A measurement takes `batches` batches, of all processes together; each is a block, from which standard errors come. They are
    the batches of that step, and where it has fewer, those that `passes` makes: a function of the model that runs it once, on a batch of its own.
    Without `passes` they are those of the steps that follow, between which weights move: the checkpoint is then called `step-0…7`. `layers`: numbers of those to measure, or how many there are; default: all. `log`: who is told means over heads, with errors: a
    SummaryWriter, a run of wandb or trackio, a function of values and step, or a list of them. `out`: a results folder, which may hold former steps.
    `step`: what training starts from. `name`: of the model, in tables. `components`: rows per head in `components`. `group`: of torch.distributed.
    `pre_rope`: also what vectors were before RoPE, turned back as the model's configuration says; it makes `bands` and `curves`.
    `errors`: "warn" says once what went wrong in a measurement and lets the training go on; "raise" raises it.
    """
    return Watch(
        model, every=every, layers=layers, batches=batches, log=log, out=out, step=step, name=name, components=components, group=group, pre_rope=pre_rope, errors=errors,
        passes=passes,
    )


class Watch:
    """A model that is measured while it trains: see `ropewalk.watch`."""

    def __init__(
        self, model: torch.nn.Module, *, every: int = 500, layers: int | Sequence[int] | None = None, batches: int = 8, log: Any = None,
        out: str | os.PathLike[str] | None = None, step: int = 0, name: str = "", components: int = 10, group: Any = None,
        pre_rope: bool = False, errors: str = "warn", passes: Callable[[torch.nn.Module], Any] | None = None,
    ) -> None:  # fmt: skip
        self._closed = True
        self._subject = watched_model(model, layers, name, pre_rope)
        if passes is not None and not callable(passes):
            raise UsageError(f"passes: found {type(passes).__name__}, expected a function of the model")
        schedule = Schedule(_checks.whole("every", every, 1), _checks.whole("batches", batches, 1), passes)
        components, step = _checks.components(components), _checks.whole("step", step, 0)
        self._faults = Faults(errors)
        self._model = model
        self._processes = Processes(group)
        self._followed = False  # a callback follows the training, whoever closes this
        self._results = Results(self._processes, self._faults, log, out, self._subject.name, components)
        self._measuring = MeasurementCycle(model, self._subject, schedule, self._processes, self._faults, self._results)
        self._closed = False
        self.at(step)

    @property
    def step(self) -> int:
        """Steps of the optimizer so far."""
        return self._measuring.step

    @property
    def study(self) -> Study:
        """The results so far, whose tables are made now; in the first process."""
        return self._results.study()

    def at(self, step: int) -> None:
        """Says how many steps the model has made, where no optimizer of torch counts them. Between steps; by every process."""
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
        """Finishes what is under way, makes the tables and lets the model go. A second time it does nothing. By every process."""
        alone = self._processes.count() > 1 and (self._results.delivering or self._followed)  # maybe: the others learn of it at the next exchange
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
        """Lets the model go without finishing the step at hand: what is left to do after an exception."""
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
        return DetachedWatch, ()  # a copy of a model that holds its watch

    def _usable(self) -> None:
        if self._closed:
            raise UsageError("watch: is closed; make a new one")


class DetachedWatch:
    """What a copy of a model, or what is saved of it, has in the place of a watch: nothing is measured."""

    def tap(self, layer: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None = None, mask: torch.Tensor | None = None) -> None:
        """Does nothing."""
