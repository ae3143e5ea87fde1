"""A watch as a callback of transformers' Trainer or of Lightning. Both are imported only when they are needed."""

from __future__ import annotations

import importlib
import sys
import weakref
from collections.abc import Callable
from typing import Any

from ._watch import Watch
from .errors import UsageError


YOUNG = 10  # a tenth of the training: heads that learn look like heads that explode


def _again(make: Callable[..., Any], options: dict[str, Any]) -> Any:
    return make(**options)


class _WatchHolder:
    """Holds the watch of a training run: created when training starts, closed when it ends."""

    def __init__(self, make: Callable[..., Any], options: dict[str, Any]) -> None:
        self._make, self._options = make, options
        self.watch: Watch | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._make, self._options)  # pickled for processes that a trainer starts

    def start(self, model: Any, step: int, steps: int, log: Any = None) -> None:
        """`steps`: of the whole training, -1 where it is not known."""
        if self.watch is not None:
            self.watch.abort()  # left over from a run that ended with an exception
        young = {"warmup": steps // YOUNG} if steps > 0 else {}
        self.watch = Watch(model, **{"step": step, **young, **self._options, "log": log})
        self.watch._followed = True

    def at(self, step: int) -> None:
        if self.watch is not None:
            self.watch._measuring.follow(step)

    def close(self) -> None:
        if self.watch is not None:
            self.watch._followed = False
            self.watch.close()

    def abort(self) -> None:
        if self.watch is not None:
            self.watch.abort()


def _caller() -> Any:
    """The Trainer whose loop calls this function; callbacks are not told which one it is."""
    frame = sys._getframe(1)
    while frame is not None:
        found = frame.f_locals.get("self")
        if hasattr(found, "callback_handler") and callable(getattr(found, "log", None)):
            return found
        frame = frame.f_back  # type: ignore[assignment]
    raise UsageError('log: found "trainer", but the caller is not a transformers Trainer; give log a function of values and step')


def _log_of(trainer: Any) -> Callable[[dict[str, float], int], None]:
    kept = weakref.ref(trainer)

    def tell(values: dict[str, float], step: int) -> None:
        trainer = kept()
        if trainer is not None:
            trainer.log({**values, "ropewalk/step": step})  # the training has already gone further

    return tell


def trainer_callback(**options: Any) -> Any:
    """A callback for `transformers.Trainer(callbacks=[...])`. Options are those of `ropewalk.watch`; its attribute `watch` is the Watch.

    `log="trainer"`: the Trainer's own log, and with it every service to which the Trainer reports.
    """
    from transformers import TrainerCallback

    class WatchCallback(_WatchHolder, TrainerCallback):  # type: ignore[misc, unused-ignore]
        def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            self.start(model, state.global_step, state.max_steps, self._log())

        def _log(self) -> Any:
            """The option `log`, with "trainer" replaced by the calling Trainer."""
            log = self._options.get("log")
            if log == "trainer":
                return _log_of(_caller())
            if isinstance(log, list | tuple):
                return [_log_of(_caller()) if one == "trainer" else one for one in log]
            return log

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.at(state.global_step)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.close()

    return WatchCallback(trainer_callback, options)


def lightning_callback(**options: Any) -> Any:
    """A callback for `lightning.Trainer(callbacks=[...])`. Options are those of `ropewalk.watch`; its attribute `watch` is the Watch."""
    base: Any = None
    for package in ("lightning.pytorch", "pytorch_lightning"):
        try:
            base = importlib.import_module(package).Callback
            break
        except ImportError:
            continue
    if base is None:
        raise UsageError("lightning_callback: neither lightning nor pytorch_lightning can be imported; install one")

    class WatchCallback(_WatchHolder, base):  # type: ignore[misc, unused-ignore]
        def on_train_start(self, trainer: Any, module: Any) -> None:
            steps = trainer.estimated_stepping_batches
            self.start(module, trainer.global_step, steps if isinstance(steps, int) else -1, self._options.get("log"))

        def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
            self.at(trainer.global_step)

        def on_train_end(self, trainer: Any, module: Any) -> None:
            self.close()

        def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
            self.abort()

    return WatchCallback(lightning_callback, options)
