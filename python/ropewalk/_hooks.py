"""Hooks that receive queries and keys of a model in training, and hooks that count its steps."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import _attention
from ._listener import log

if TYPE_CHECKING:
    import torch

# Called with layer, the module's id, queries, keys, positions, mask, scores, and whether the model got no positions.
VectorsReceiver = Callable[[int, int, "torch.Tensor", "torch.Tensor", "torch.Tensor | None", Any, _attention.Scores, bool], None]


class Hooks:
    """The hooks of one model. While they are attached, `take` receives queries and keys. It must not raise errors that the training should not
    see.
    """

    def __init__(self, model: torch.nn.Module, take: VectorsReceiver) -> None:
        self._model, self._take = model, take
        self._interfaces: list[_attention.Interface] = []
        self._numbers: dict[int, int] = {}
        self._registered: list[Any] = []
        self._counted = False  # a transformers model is running that got no positions
        self._gradients: bool | None = None  # whether the pass began with gradients; recomputation for the backward pass does not change it
        self._checkpoints: bool | None = None  # whether activations are recomputed; None: not yet known for this pass
        self._receiver = _receiver(weakref.ref(self))
        self.take_outside = _attention.outside(self.take)
        self.attached = False
        self._every_pass = False  # also take passes without gradients

    def attach(self) -> None:
        self.attached = True
        self._numbers = _attention.numbered(self._model)
        for interface in _attention.interfaces(self._model):
            interface.add(self._receiver)
            self._interfaces.append(interface)
        for module in _attention.models(self._model):
            self._registered.append(module.register_forward_pre_hook(_AttentionRecorder(weakref.ref(self), True), with_kwargs=True))
            self._registered.append(module.register_forward_hook(_AttentionRecorder(weakref.ref(self), False), with_kwargs=True, always_call=True))

    def detach(self) -> None:
        for interface in self._interfaces:
            interface.remove(self._receiver)
        for hook in self._registered:
            hook.remove()
        self._interfaces, self._registered, self.attached = [], [], False
        self._counted, self._gradients, self._checkpoints = False, None, None

    @contextlib.contextmanager
    def measured_passes(self) -> Iterator[torch.nn.Module]:
        """For extra passes that are only measured: without gradients, in eval mode, and without changing the state of random numbers."""
        import torch

        model = self._model
        modes = [(module, module.training) for module in model.modules()]
        devices = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
        self._every_pass = True
        try:
            with torch.no_grad(), torch.random.fork_rng(devices):
                model.eval()
                # The wrapper would exchange buffers with other processes, which may make a different number of passes.
                yield model.module if isinstance(model, torch.nn.parallel.DistributedDataParallel) else model
        finally:
            self._every_pass = False
            for module, training in modes:
                module.training = training

    def seen(self, module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, mask: Any, named: dict[str, Any]) -> None:
        layer = self._numbers.get(id(module))
        if layer is not None:
            self.take(layer, id(module), query, key, named.get("position_ids"), mask, _attention.scores_of(named), module.training)

    def take(
        self, layer: int, owner: int, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None, mask: Any, scores: _attention.Scores, training: bool
    ) -> None:
        import torch

        if torch._C._current_graph_task_id() != -1:
            return  # recomputed for the backward pass, and counted before
        # Other passes without gradients are evaluation or generation.
        if not (self._every_pass or torch.is_grad_enabled() or training and self._gradients is not False and self._recomputes()):
            return
        with torch.no_grad():
            self._take(layer, owner, q, k, positions, mask, scores, self._counted)

    def note(self, before: bool, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        import torch

        self._counted = before and len(arguments) <= 1 and named.get("position_ids") is None
        self._gradients = torch.is_grad_enabled() if before else None
        self._checkpoints = None

    def _recomputes(self) -> bool:
        """Whether activations are recomputed; then the first pass may run without gradients."""
        if self._checkpoints is None:
            self._checkpoints = any(getattr(module, "gradient_checkpointing", False) is True for module in self._model.modules())
        return self._checkpoints


def _receiver(hooks: weakref.ref[Hooks]) -> _attention.Receiver:
    """A taker with a weak reference, so that it keeps neither the hooks nor their model alive."""

    def take(module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, mask: Any, named: dict[str, Any]) -> None:
        self = hooks()
        if self is not None:
            self.seen(module, query, key, mask, named)

    return take


class _AttentionRecorder:
    """Records, while a transformers model runs, whether it was called with gradients, and whether without positions (with ids only, or with keyword
    arguments). The innermost model makes the positions.

    Copies and saved files of the model do not contain the watch.
    """

    def __init__(self, hooks: weakref.ref[Hooks] | None = None, before: bool = False) -> None:
        self._hooks, self._before = hooks, before
        self._note_outside = None if hooks is None else _attention.outside(self._note)

    def __call__(self, module: torch.nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], *_: Any) -> None:
        if self._note_outside is not None:
            self._note_outside(arguments, named)

    def _note(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        hooks = self._hooks() if self._hooks else None
        if hooks is not None:
            hooks.note(self._before, arguments, named)

    def __reduce__(self) -> tuple[Any, ...]:
        return _AttentionRecorder, ()


class StepCounter:
    """Counts the steps of one optimizer that holds parameters of the model: the first one that makes a step. If it stops, another one takes over."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = weakref.ref(model)
        self._known: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
        self._others: weakref.WeakSet[Any] = weakref.WeakSet()  # others that made a step since the counted one did
        self._counted: weakref.ref[Any] | None = None

    def counts(self, optimizer: torch.optim.Optimizer) -> bool:
        """Whether this step counts."""
        if not self.holds_the_model(optimizer):
            return False
        counted = self._counted() if self._counted else None
        if counted not in (None, optimizer):
            if optimizer not in self._others:
                self._others.add(optimizer)
                return False
            log.warning("watch: %s made two steps while the optimizer whose steps are counted made none; from now on its steps are counted; Watch.at(step) sets the number", type(optimizer).__name__)
        self._others.clear()
        self._counted = weakref.ref(optimizer)
        return True

    def holds_the_model(self, optimizer: torch.optim.Optimizer) -> bool:
        mine = self._known.get(optimizer)
        if mine is None:
            model = self._model()
            there = {id(parameter) for parameter in model.parameters()} if model is not None else set()
            mine = any(id(parameter) in there for group in optimizer.param_groups for parameter in group["params"])
            with contextlib.suppress(TypeError):
                self._known[optimizer] = mine
        return mine


class OptimizerHooks:
    """Hooks around the steps of all optimizers. `before` and `after` are methods; their object is referenced weakly. They receive functions that
    say whether the optimizer holds the model, and whether its step counts. They must not raise errors that the training should not see.
    """

    def __init__(self, model: torch.nn.Module, before: Callable[[Callable[[], bool]], None], after: Callable[[Callable[[], bool]], None]) -> None:
        from torch.optim import optimizer

        steps = StepCounter(model)
        self._registered = [
            optimizer.register_optimizer_step_pre_hook(_hook(weakref.WeakMethod(before), steps.holds_the_model)),
            optimizer.register_optimizer_step_post_hook(_hook(weakref.WeakMethod(after), steps.counts)),
        ]

    def remove(self) -> None:
        for hook in self._registered:
            hook.remove()


def _hook(method: Any, question: Callable[[Any], bool]) -> Any:
    @_attention.outside
    def hook(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        call = method()
        if call is not None:
            call(lambda: question(optimizer))

    return hook
