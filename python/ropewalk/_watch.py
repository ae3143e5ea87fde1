"""Measures a model while it trains."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _attention, _checks, _watch_log
from ._listener import log as _log
from ._measurement import Measurement
from ._moments import Moments
from ._processes import Processes
from ._study import Study
from ._watch_writer import Writer
from .errors import Error, InputError, UsageError

if TYPE_CHECKING:
    import torch


def watch(
    model: torch.nn.Module, *, every: int = 500, layers: int | Sequence[int] | None = None, batches: int = 8, log: Any = None, out: str | os.PathLike[str] | None = None,
    step: int = 0, name: str = "", components: int = 10, group: Any = None, pre_rope: bool = False,
) -> Watch:  # fmt: skip
    """Measures the queries and keys of a model while it trains, at every `every`-th step; a context manager.

    Queries and keys of a model of transformers are taken where its attention interface gets them, after RoPE; other models call `Watch.tap`. A step is
    a step of the optimizer. A measurement takes `batches` batches, from that step on and of all processes together; each is a block, from which
    standard errors come. `layers`: numbers of those to measure, or how many there are; default: all. `log`: who is told means over heads, with errors: a
    SummaryWriter, a run of wandb or trackio, a function of values and step, or a list of them. `out`: a results folder, which may hold former steps.
    `step`: what training starts from. `name`: of the model, in tables. `components`: rows per head in `components`. `group`: of torch.distributed.
    `pre_rope`: also what vectors were before RoPE, turned back as the model's configuration says; it makes `bands` and `curves`.
    """
    return Watch(model, every=every, layers=layers, batches=batches, log=log, out=out, step=step, name=name, components=components, group=group, pre_rope=pre_rope)


class Watch:
    """A model that is measured while it trains: see `ropewalk.watch`."""

    def __init__(
        self, model: torch.nn.Module, *, every: int = 500, layers: int | Sequence[int] | None = None, batches: int = 8, log: Any = None,
        out: str | os.PathLike[str] | None = None, step: int = 0, name: str = "", components: int = 10, group: Any = None,
        pre_rope: bool = False,
    ) -> None:  # fmt: skip
        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook

        self._closed = True
        if not isinstance(model, torch.nn.Module):
            raise UsageError(f"model: found {type(model).__name__}, expected a torch.nn.Module")
        every, batches, step = _checks.whole("every", every, 1), _checks.whole("batches", batches, 1), _checks.whole("step", step, 0)
        components = _checks.components(components)
        self._model, self._every, self._step = model, every, step
        config = getattr(model, "config", None)
        text = config.get_text_config() if config is not None and hasattr(config, "get_text_config") else config
        numbered = max(_attention.numbered(model).values(), default=-1) + 1  # of a module around a model of transformers
        self._layers, self._chosen = _layers(layers, getattr(text, "num_hidden_layers", numbered or None))
        if pre_rope and config is None:
            raise UsageError(f"pre_rope: {type(model).__name__} has no configuration of transformers, which says how RoPE turns; leave pre_rope out")
        self._config = config if pre_rope else None
        self._tell = _watch_log.teller(log)
        self._processes = Processes(group)
        self._batches = -(-batches // self._processes.count())
        self._measurement: Measurement | None = None
        self._interfaces: list[_attention.Interface] = []
        self._numbers: dict[int, int] = {}
        self._hooks: list[Any] = []
        self._measuring = False
        self._counted = False  # a model of transformers runs that got no positions
        self._gradients: bool | None = None  # whether it runs with gradients, outside of what is computed again
        self._taker = _taker(weakref.ref(self))
        self._take_outside = _attention.outside(self._take)
        name = name or os.path.basename(str(getattr(config, "_name_or_path", "") or "")) or type(model).__name__
        self._writer = Writer(out, name, components) if self._processes.rank() == 0 else None
        self._optimizer: weakref.ref[torch.optim.Optimizer] | None = None
        self._hook = register_optimizer_step_post_hook(_counter(weakref.ref(self)))
        self._closed = False
        self.at(step)

    @property
    def step(self) -> int:
        """Steps of the optimizer so far."""
        return self._step

    @property
    def study(self) -> Study:
        """The results so far; in the first process."""
        if self._writer is None:
            raise UsageError("watch: results are in the first process")
        self._writer.wait()
        self._deliver()
        return self._writer.study()

    def at(self, step: int) -> None:
        """Says how many steps the model has made, where no optimizer of torch counts them. Between steps; by every process."""
        self._usable()
        self._step = _checks.whole("step", step, 0)
        measurement = self._measurement
        if measurement is not None and self._step != measurement.step:
            # Processes may make different numbers of passes per step: they finish together.
            progress = self._processes.all((measurement.batches, measurement.full))
            if any(batches == 0 for batches, _ in progress):
                self._drop()
                raise UsageError(
                    f"watch: step {measurement.step} showed no attention of {type(self._model).__name__}: expected a model of transformers in training, "
                    "whose attention goes through its attention interface, or calls of Watch.tap"
                )
            if all(full for _, full in progress):
                self._finish()
        if self._measurement is None and self._step % self._every == 0:
            self._begin()
        self._deliver()  # last: who is told may close the watch

    def tap(self, layer: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None = None, mask: torch.Tensor | None = None) -> None:
        """For modules of your own: takes queries [batch, q_heads, tokens, d_head] and keys [batch, kv_heads, tokens, d_head], as the dot product sees them.

        Call it in every forward pass; it does nothing at steps that are not measured. `positions`: [tokens] or [batch, tokens]; default: 0, 1, 2, …
        `mask`: [batch, tokens], 0 where a token is padding.
        """
        if self._closed:
            self._usable()
        if self._measuring:
            layer = _checks.whole("watch: tap: layer", layer, 0, self._layers - 1 if self._layers else 2**31)
            self._take_outside(layer, 0, q, k, positions, mask, None, self._model.training)

    def close(self) -> None:
        """Finishes what is under way and lets the model go. A second time it does nothing."""
        if self._closed:
            return
        try:
            measurement = self._measurement
            if measurement is not None and all(batches > 0 for batches in self._processes.all(measurement.batches)):
                self._finish()
            if self._writer is not None:
                self._writer.wait()
            self._deliver()
        finally:
            self._end()

    def abort(self) -> None:
        """Lets the model go without finishing the step at hand: what is left to do after an exception."""
        if not self._closed:
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
        state = "closed" if self._closed else "measuring" if self._measuring else "waiting"
        return f"<ropewalk.Watch of {type(self._model).__name__} at step {self._step}: {state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Unwatched, ()  # a copy of a model that holds its watch

    def _usable(self) -> None:
        if self._closed:
            raise UsageError("watch: is closed; make a new one")

    def _begin(self) -> None:
        self._measurement = Measurement(self._step, self._batches, self._layers, self._chosen, self._config, self._processes.rank(), self._processes.count())
        self._numbers = _attention.numbered(self._model)
        self._interfaces = _attention.interfaces(self._model)
        for interface in self._interfaces:
            interface.add(self._taker)
        for module in _attention.models(self._model):
            self._hooks.append(module.register_forward_pre_hook(_Noter(weakref.ref(self), True), with_kwargs=True))
            self._hooks.append(module.register_forward_hook(_Noter(weakref.ref(self), False), with_kwargs=True, always_call=True))
        self._measuring = True

    def _drop(self) -> None:
        for interface in self._interfaces:
            interface.remove(self._taker)
        for hook in self._hooks:
            hook.remove()
        self._measurement, self._interfaces, self._hooks, self._measuring, self._counted, self._gradients = None, [], [], False, False, None

    def _finish(self) -> None:
        """The step's moments, of all processes, go to the writer of the first one. Collective."""
        measurement = self._measurement
        self._drop()
        assert measurement is not None and measurement.moments is not None
        if self._processes.count() > 1:
            self._join(measurement, measurement.moments)
        if self._writer is not None:
            self._writer.add(measurement)

    def _join(self, measurement: Measurement, moments: Moments) -> None:
        """All processes raise what is wrong in one of them."""
        problem = ""
        try:
            measurement.fetch()
        except InputError as error:
            problem = str(error)
        facts = self._processes.all((problem, measurement.facts(), measurement.context))
        for problem, found, _ in facts:
            if problem:
                raise InputError(f"watch: step {measurement.step}: {problem}")
            if found != facts[0][1]:
                raise UsageError(f"watch: step {measurement.step}: found {found} in one process and {facts[0][1]} in the first: expected the same heads and batches")
        measurement.context = max(context for _, _, context in facts)
        moments._join_in_first(self._processes)

    def _deliver(self) -> None:
        if self._writer is not None:
            for step, values in self._writer.finished():
                self._tell(values, step)

    def _end(self) -> None:
        self._drop()
        self._hook.remove()
        self._closed = True
        if self._writer is not None:
            self._writer.close()

    # Called while the model runs

    def _seen(self, module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, mask: Any, named: dict[str, Any]) -> None:
        layer = self._numbers.get(id(module))
        if layer is not None:
            self._take(layer, id(module), query, key, named.get("position_ids"), mask, named.get("scaling"), module.training)

    def _take(
        self, layer: int, owner: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None, mask: Any, scale: float | None, training: bool
    ) -> None:
        import torch

        if torch._C._current_graph_task_id() != -1:
            return  # computed again for backward: counted before
        # Other passes without gradients are evaluation or generation.
        if self._measurement is None or not (torch.is_grad_enabled() or training and self._gradients is not False and self._checkpoints()):
            return
        step = self._measurement.step
        try:
            with torch.no_grad():
                self._measurement.take(layer, owner, q, k, positions, mask, scale, self._counted)
        except Error as error:
            self._drop()
            raise type(error)(f"watch: step {step}: {error}") from None

    def _checkpoints(self) -> bool:
        """Whether activations are computed again: the first time, gradients may be off."""
        return any(getattr(module, "gradient_checkpointing", False) is True for module in self._model.modules())


class Unwatched:
    """What a copy of a model, or what is saved of it, has in the place of a watch: nothing is measured."""

    def tap(self, layer: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None = None, mask: torch.Tensor | None = None) -> None:
        """Does nothing."""


def _taker(watch: weakref.ref[Watch]) -> _attention.Taker:
    """Does not keep the watch, nor its model."""

    def take(module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, mask: Any, named: dict[str, Any]) -> None:
        self = watch()
        if self is not None:
            self._seen(module, query, key, mask, named)

    return take


class _Noter:
    """Notes, while a model of transformers runs, whether it was called with gradients, and without positions: with ids alone, or with names. The
    innermost one makes them.

    A copy of the model, and what is saved of it, belong to no watch.
    """

    def __init__(self, watch: weakref.ref[Watch] | None = None, before: bool = False) -> None:
        self._watch, self._before = watch, before
        self._note_outside = None if watch is None else _attention.outside(self._note)

    def __call__(self, module: torch.nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], *_: Any) -> None:
        if self._note_outside is not None:
            self._note_outside(arguments, named)

    def _note(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        import torch

        watch = self._watch() if self._watch else None
        if watch is not None:
            watch._counted = self._before and len(arguments) <= 1 and named.get("position_ids") is None
            watch._gradients = torch.is_grad_enabled() if self._before else None

    def __reduce__(self) -> tuple[Any, ...]:
        return _Noter, ()


def _layers(layers: int | Sequence[int] | None, known: int | None) -> tuple[int | None, frozenset[int] | None]:
    """How many there are, and which to measure."""
    if layers is None:
        return known, None
    most = known or 2**31
    try:
        chosen = [_checks.whole("layer", layer, 0, most - 1) for layer in layers] if isinstance(layers, Sequence) else list(range(_checks.whole("layers", layers, 1, most)))
    except UsageError:
        chosen = []
    if not chosen:
        raise UsageError(f"layers: found {layers!r}, expected numbers of layers from 0 to {known - 1 if known else '…'}, or how many there are")
    return known or max(chosen) + 1, frozenset(chosen)


def _counter(watch: weakref.ref[Watch]) -> Any:
    """Counts the steps of one optimizer that holds parameters of the model: the first, until another one makes two steps without it."""
    known: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
    others: weakref.WeakSet[Any] = weakref.WeakSet()  # that made a step since the one that is counted

    @_attention.outside
    def stepped(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        self = watch()
        if self is None or self._closed:
            return
        mine = known.get(optimizer)
        if mine is None:
            there = {id(parameter) for parameter in self._model.parameters()}
            mine = any(id(parameter) in there for group in optimizer.param_groups for parameter in group["params"])
            with contextlib.suppress(TypeError):
                known[optimizer] = mine
        if not mine:
            return
        counted = self._optimizer() if self._optimizer else None
        if counted not in (None, optimizer):
            if optimizer not in others:
                others.add(optimizer)
                return
            _log.warning("watch: %s made two steps without the optimizer whose steps were counted: its own are from here on; Watch.at(step) sets the number", type(optimizer).__name__)
        others.clear()
        self._optimizer = weakref.ref(optimizer)
        self.at(self._step + 1)

    return stepped
