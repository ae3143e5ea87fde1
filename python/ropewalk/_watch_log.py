"""The values that a watch reports for a step, and the functions that receive them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable
from typing import Any

from .errors import UsageError

Values = dict[str, float]
LogFunction = Callable[[Values, int], None]
Images = dict[str, list[list[float]]]  # by layer and head
ImageFunction = Callable[[Images, int], None]

PIXELS = 8  # of a head, in each direction

# Keys of summary.json that are reported; the results folder has all of them.
MEANS = (
    "mean_r2cv_q", "mean_r2cv_k", "mean_r_q", "mean_abs_r_k", "mean_within_r_q", "mean_abs_within_r_k", "mean_logit_pos_share", "mean_logit_sd", "mean_pc0_content",
    "mean_pc0_pos_q", "mean_pc0_pos_k", "pc0_explained_variance",
)  # fmt: skip


def values(summary: dict[str, Any], label: str) -> Values:
    """Means over all heads, X and X_se, and the share of heads in each class, of one step."""
    found: Values = {}
    for name in MEANS:
        _put(found, name, summary.get(name, {}).get(label))
    for name, leaf in summary.get("taxonomy", {}).get(label, {}).items():
        _put(found, f"share_{name.replace('-', '_')}", leaf)
    return found


def _put(found: Values, name: str, leaf: dict[str, Any] | None) -> None:
    for key, part in (("", "value"), ("_se", "se"), ("_low", "low"), ("_high", "high")):
        if leaf and leaf.get(part) is not None:
            found[f"ropewalk/{name}{key}"] = float(leaf[part])


def log_functions(log: Any) -> list[LogFunction]:
    """Functions of values and step, from a SummaryWriter, a run of wandb or trackio, a Lightning logger, a callable, or a list of them."""
    if log is None:
        return []
    if hasattr(log, "add_scalar"):

        def write(values: Values, step: int) -> None:
            for name, value in values.items():
                log.add_scalar(name, value, step)

        return [write]
    if hasattr(log, "log_metrics"):
        return [lambda values, step: log.log_metrics(values, step)]
    if callable(getattr(log, "log", None)) and not isinstance(log, logging.Logger):
        # Steps of these loggers must grow, and the training has already gone further, so the step is one of the values.
        return [lambda values, step: log.log({**values, "ropewalk/step": step})]
    if callable(log):
        return [lambda values, step: log(values, step)]
    if isinstance(log, Iterable) and not isinstance(log, str | bytes | dict):
        return [function for one in log for function in log_functions(one)]
    raise UsageError(f"log: found {type(log).__name__}, expected a SummaryWriter, a run of wandb or trackio, or a function of values and step")


def image_functions(log: Any) -> list[ImageFunction]:
    """Functions of images and step, from what shows images: a SummaryWriter or a run of wandb, or a list that holds one."""
    if hasattr(log, "add_image"):

        def draw(images: Images, step: int) -> None:
            for name, image in images.items():
                log.add_image(name, _pixels(image), step, dataformats="HW")

        return [draw]
    if type(log).__module__.partition(".")[0] == "wandb" and callable(getattr(log, "log", None)):
        make = sys.modules["wandb"].Image

        def write(images: Images, step: int) -> None:
            log.log({**{f"{name}_by_head": make(_pixels(image), mode="F") for name, image in images.items()}, "ropewalk/step": step})

        return [write]
    if isinstance(log, Iterable) and not isinstance(log, str | bytes | dict):
        return [function for one in log for function in image_functions(one)]
    return []


def _pixels(image: list[list[float]]) -> Any:
    """Grey from 0 to 1: a head's number over the largest of all; a row per layer, from the first on top. What was not measured is 0."""
    import numpy

    numbers = numpy.nan_to_num(numpy.array(image, dtype=numpy.float32), nan=0.0, posinf=0.0, neginf=0.0)
    most = max(float(abs(numbers).max()), 1e-30)
    return numpy.kron(numpy.clip(numbers / most, 0, 1), numpy.ones((PIXELS, PIXELS), dtype=numpy.float32))
