"""Measures a model while it trains."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _attention, _checks, _faults
from ._faults import Faults
from ._hooks import Hooks, OptimizerHooks
from ._join import join
from ._measurement import Measurement
from ._processes import Processes
from ._results import Results
from ._study import Study
from .errors import Error, UsageError

if TYPE_CHECKING:
    import torch

ENDED = "measuring ends here, and training goes on"


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


class _Said(NamedTuple):
    """What a process tells the others of its measurement."""

    batches: int
    full: bool
    problem: tuple[str, str] | None  # kind and text
    stops: bool  # it measures no more
    closes: bool


class Watch:
    """A model that is measured while it trains: see `ropewalk.watch`."""

    def __init__(
        self, model: torch.nn.Module, *, every: int = 500, layers: int | Sequence[int] | None = None, batches: int = 8, log: Any = None,
        out: str | os.PathLike[str] | None = None, step: int = 0, name: str = "", components: int = 10, group: Any = None,
        pre_rope: bool = False, errors: str = "warn", passes: Callable[[torch.nn.Module], Any] | None = None,
    ) -> None:  # fmt: skip
        import torch

        self._closed = self._over = True
        if not isinstance(model, torch.nn.Module):
            raise UsageError(f"model: found {type(model).__name__}, expected a torch.nn.Module")
        every, batches, step = _checks.whole("every", every, 1), _checks.whole("batches", batches, 1), _checks.whole("step", step, 0)
        components = _checks.components(components)
        self._faults = Faults(errors)
        self._model, self._every, self._step = model, every, step
        self._name, config = _attention.described(model)
        text = config.get_text_config() if config is not None and hasattr(config, "get_text_config") else config
        numbered = max(_attention.numbered(model).values(), default=-1) + 1  # of a module around a model of transformers
        self._layers, self._chosen = _checks.layers(layers, getattr(text, "num_hidden_layers", numbered or None))
        if pre_rope and config is None:
            raise UsageError(f"pre_rope: {self._name} has no configuration of transformers, which says how RoPE turns; leave pre_rope out")
        if passes is not None and not callable(passes):
            raise UsageError(f"passes: found {type(passes).__name__}, expected a function of the model")
        if layers is None and not _attention.interfaces(model):
            raise UsageError(
                f"model: no attention of {self._name} goes through an attention interface of transformers: expected one of which it does, or layers= and calls of Watch.tap"
            )
        self._config, self._passes = config if pre_rope else None, passes
        self._unmeasured: list[int] = []  # steps at which the measurement before was unfinished
        self._processes = Processes(group)
        self._batches = -(-batches // self._processes.count())
        self._measurement: Measurement | None = None
        self._begun = -1  # the step at which a measurement began last
        self._stops = False  # this process measures no more, and says so at the next exchange
        self._followed = False  # a callback follows the training, whoever closes this
        self._shared: BaseException | None = None  # what all processes raise
        self._pending: BaseException | None = None  # what all processes are to raise
        self._hooks = Hooks(model, self._take)
        name = name or os.path.basename(str(getattr(config, "_name_or_path", "") or "")) or self._name
        self._results = Results(self._processes, self._fault, log, out, name, components)
        self._optimizers = OptimizerHooks(model, self._before_step, self._after_step)
        self._closed = self._over = False
        self.at(step)

    @property
    def step(self) -> int:
        """Steps of the optimizer so far."""
        return self._step

    @property
    def study(self) -> Study:
        """The results so far, whose tables are made now; in the first process."""
        return self._results.study()

    def at(self, step: int) -> None:
        """Says how many steps the model has made, where no optimizer of torch counts them. Between steps; by every process."""
        self._guarded(self._usable, then="nothing is measured")
        self._guarded(lambda: self._follow(_checks.whole("step", step, 0)))

    def tap(self, layer: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None = None, mask: torch.Tensor | None = None) -> None:
        """For modules of your own: takes queries [batch, q_heads, tokens, d_head] and keys [batch, kv_heads, tokens, d_head], as the dot product sees them.

        Call it in every forward pass; it does nothing at steps that are not measured. `positions`: [tokens] or [batch, tokens]; default: 0, 1, 2, …
        `mask`: [batch, tokens], 0 where a token is padding.
        """
        if self._hooks.attached:
            self._hooks.take_outside(layer, 0, q, k, positions, mask, None, self._model.training)
        elif self._closed:
            self._guarded(self._usable, then="nothing is measured")

    def close(self) -> None:
        """Finishes what is under way, makes the tables and lets the model go. A second time it does nothing. By every process."""
        alone = self._processes.count() > 1 and (self._results.delivering or self._followed)  # maybe: the others learn of it at the next exchange
        if self._closed:
            if self._stops and not alone:
                self._leave()
            return
        self._closed = True
        if alone:
            self._stops = True
            self._hooks.detach()
            self._results.close()
            return
        try:
            self._leave()
            self._results.close()
        finally:
            self._end()
        if len(self._unmeasured) > 1 and self._processes.rank() == 0:
            some = ", ".join(map(str, self._unmeasured[:10])) + (", …" if len(self._unmeasured) > 10 else "")
            self._faults.warn(f"watch: {len(self._unmeasured)} steps were not measured: {some}", UsageError("all"), "measurements before them were unfinished")
        if self._pending is not None:
            raise self._pending

    def abort(self) -> None:
        """Lets the model go without finishing the step at hand: what is left to do after an exception."""
        self._closed = True
        self._end()

    def __enter__(self) -> Watch:
        self._usable()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close() if kind is None else self.abort()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.abort()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "stopped" if self._over else "measuring" if self._hooks.attached else "waiting"
        return f"<ropewalk.Watch of {self._name} at step {self._step}: {state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Unwatched, ()  # a copy of a model that holds its watch

    def _usable(self) -> None:
        if self._closed:
            raise UsageError("watch: is closed; make a new one")

    # Faults

    def _guarded(self, work: Callable[..., None], *arguments: Any, then: str = _faults.DROPPED) -> None:
        """Nothing of ours ends the training, unless that is wanted."""
        try:
            work(*arguments)
        except Exception as error:
            self._fault(error, then)

    def _fault(self, error: BaseException, then: str = _faults.DROPPED) -> None:
        if not self._faults.raised:
            text = _faults.told(error)
            self._faults.warn(text if text.startswith("watch: ") else f"watch: {text}", error, then)
        elif self._processes.count() > 1 and error is not self._shared and not self._closed and not self._over:
            self._pending = error  # others would wait for this process
        else:
            raise error

    def _spoil(self, error: Exception) -> None:
        """The measurement at hand comes to nothing; other processes learn of it at the next exchange."""
        measurement = self._measurement
        assert measurement is not None
        self._hooks.detach()
        measurement.problem = error
        if self._processes.count() > 1:
            return
        self._drop()
        if self._faults.raised and not isinstance(error, Error):
            raise error
        self._say(0, measurement.step, _faults.kind_of(error), _faults.told(error))

    def _say(self, process: int, step: int, kind: str, text: str) -> None:
        """What is wrong with a measurement, in one process of all: said by the first one, raised by each."""
        where = f", process {process}" if self._processes.count() > 1 else ""
        error = _faults.again(kind, text if text.startswith("watch: ") else f"watch: step {step}{where}: {text}")
        if self._faults.raised:
            self._shared = error
            raise error
        if self._processes.rank() == 0:
            self._faults.warn(str(error), error, _faults.DROPPED)

    # Steps

    def _before_step(self, holds: Callable[[], bool]) -> None:
        """Before the step of an optimizer, which may hold parameters of the model."""
        if self._measurement is not None and self._passes is not None:
            self._guarded(lambda: self._fill() if holds() else None, then="batches of the steps that follow take their place")

    def _after_step(self, counts: Callable[[], bool]) -> None:
        if not self._over:
            self._guarded(lambda: self._follow(self._step + 1) if counts() else None)

    def _follow(self, step: int) -> None:
        """Every step of the training comes by here, by the hook of its optimizer or by a callback."""
        if self._over:
            return
        if self._measurement is None and step % self._every != 0 and self._results.idle:
            self._step = step  # nothing else costs a step that is not measured anything
        else:
            self._guarded(self._go_to, step)

    def _go_to(self, step: int) -> None:
        self._step = step
        if self._measurement is not None and self._step != self._measurement.step:
            self._settle()
        if self._measurement is not None:
            self._measurement.now = step
            if step % self._every == 0 and step > self._measurement.step:
                self._note_unmeasured()
        elif not self._over and self._step % self._every == 0 and self._step != self._begun:
            self._begin()
        self._results.deliver()  # last: who is told may close the watch

    def _leave(self) -> None:
        """The last exchange, where others wait for one."""
        if not self._over and self._measurement is not None:
            self._guarded(self._settle)
        self._end_measuring([])

    def _fill(self) -> None:
        """Further passes, before weights move."""
        measurement = self._measurement
        if measurement is None or self._passes is None or measurement.problem or measurement.step != self._step or not self._hooks.attached:
            return
        with self._hooks.measured_passes() as model:
            while not measurement.full:
                before = measurement.batches
                self._passes(model)
                if measurement.problem is not None or self._measurement is not measurement:
                    return
                if measurement.batches == before:
                    raise UsageError(f"watch: step {measurement.step}: passes: no attention of {self._name} was seen: expected a function that runs the model once")

    def _note_unmeasured(self) -> None:
        """`every` is shorter than a measurement."""
        measurement = self._measurement
        assert measurement is not None
        self._unmeasured.append(self._step)
        if len(self._unmeasured) == 1 and self._processes.rank() == 0:
            text = f"watch: step {self._step} is not measured, as the measurement of step {measurement.step} has {measurement.batches} of {measurement.wanted} batches"
            self._faults.warn(text, UsageError(), "expected a longer every=, fewer batches=, or passes=")

    def _begin(self) -> None:
        self._begun = self._step
        self._measurement = Measurement(self._step, self._batches, self._layers, self._chosen, self._config)
        if self._stops:
            return
        try:
            self._hooks.attach()
        except Exception as error:
            self._spoil(error)

    def _drop(self) -> None:
        self._hooks.detach()
        self._measurement = None

    def _settle(self) -> None:
        """Where all processes stand with the measurement at hand. They may make different numbers of passes per step, and finish together. Collective."""
        measurement = self._measurement
        assert measurement is not None
        said = self._exchange(_Said(measurement.batches, measurement.full, self._problem(measurement), self._stops, self._closed and not self._stops))
        problems = [(process, one.problem) for process, one in enumerate(said) if one.problem]
        ends = any(one.stops for one in said) or any(one.closes for one in said) and not all(one.closes for one in said)
        if problems or ends:
            self._drop()
        if ends:
            self._end_measuring([process for process, one in enumerate(said) if one.stops or one.closes])
        if problems:
            process, (kind, text) = problems[0]
            self._say(process, measurement.step, kind, text)
        elif not ends and all(one.full or one.closes and one.batches for one in said):
            self._finish(measurement)
        elif not ends and self._closed:
            self._drop()

    def _problem(self, measurement: Measurement) -> tuple[str, str] | None:
        error, self._pending = self._pending or measurement.problem, None
        if error is not None:
            return _faults.kind_of(error), _faults.told(error)
        if measurement.batches or self._closed or self._stops:
            return None
        return "UsageError", (
            f"no attention of {self._name} was seen: expected a model of transformers in training, whose attention goes through its attention interface, "
            "or calls of Watch.tap"
        )

    def _exchange(self, value: Any) -> list[Any]:
        try:
            return self._processes.all(value)
        except Exception as error:
            self._drop()
            self._end_measuring([])
            raise Error(f"watch: measuring ends, as processes cannot be asked: {_faults.told(error)}") from error

    def _end_measuring(self, stopped: list[int]) -> None:
        """All processes know: none makes an exchange any more."""
        self._stops = self._over = True
        self._optimizers.remove()
        others = [process for process in stopped if process != 0]
        if others and self._processes.rank() == 0:
            self._faults.warn(f"watch: process {others[0]} stopped at step {self._step}", Error(), ENDED)

    def _finish(self, measurement: Measurement) -> None:
        """The step's moments, of all processes, go to the writer of the first one. Collective."""
        self._drop()
        joint = join(measurement, self._processes, self._exchange)
        if isinstance(joint, Measurement):
            self._results.add(joint)
        else:
            self._say(joint.process, measurement.step, joint.kind, joint.text)

    def _end(self) -> None:
        self._over = True
        self._drop()
        self._optimizers.remove()
        self._results.abandon()

    # Called while the model runs

    def _take(
        self, layer: int, owner: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None, mask: Any, scale: float | None, counted: bool
    ) -> None:
        measurement = self._measurement
        if measurement is None or measurement.problem is not None:
            return
        try:
            layer = _checks.whole("tap: layer", layer, 0, self._layers - 1 if self._layers else 2**31)
            measurement.take(layer, owner, q, k, positions, mask, scale, counted)
        except Exception as error:
            self._spoil(error)


class Unwatched:
    """What a copy of a model, or what is saved of it, has in the place of a watch: nothing is measured."""

    def tap(self, layer: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None = None, mask: torch.Tensor | None = None) -> None:
        """Does nothing."""
