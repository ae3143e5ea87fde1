"""Ropewalk watches attention heads learn position.

    import ropewalk

    study = ropewalk.open("out/my_run")           # results of `ropewalk run`
    study.heads                                   # a DataFrame: one row per checkpoint and head, with standard errors
    study.figure("position_signal")               # shows in a notebook
    study.jackknife(lambda head: head.q.n)        # your own statistic of every head, with its standard error

    study = ropewalk.run("my_run.yaml")           # the program's verbs: run, capture, loss, ablate, forecast, analyze, figures, audit, inspect, export

    moments = ropewalk.Moments(q_heads=16, kv_heads=4, d_head=128)
    moments.add(0, q, k)                          # torch tensors [batch, heads, tokens, d_head]
    moments.analyze().heads

    with ropewalk.watch(model, every=500, out="out/run"):
        train(model)                              # any loop on torch: the model is measured while it trains

docs/python.md has more.
"""

from . import _module
from ._ablation import Ablation
from ._build import VERSION as __version__
from ._capture import Capture, HeadMoments, StreamMoments
from .errors import Error, InputError, SystemError, UsageError  # noqa: A004
from ._figure import Figure
from ._forecast import Forecast
from ._loss import Loss
from ._moments import Moments
from ._study import Study, open  # noqa: A004
from ._verbs import Finding, ablate, analyze, audit, capture, export, figures, forecast, inspect, loss, run
from ._callbacks import lightning_callback, trainer_callback
from ._health import Alert
from ._watch import Watch, watch

_module.check_torch()

__all__ = [
    "Ablation",
    "Alert",
    "Capture",
    "Error",
    "Figure",
    "Finding",
    "Forecast",
    "HeadMoments",
    "InputError",
    "Loss",
    "Moments",
    "StreamMoments",
    "Study",
    "SystemError",
    "UsageError",
    "Watch",
    "__version__",
    "ablate",
    "analyze",
    "audit",
    "capture",
    "export",
    "figures",
    "forecast",
    "inspect",
    "lightning_callback",
    "loss",
    "open",
    "run",
    "trainer_callback",
    "watch",
]
