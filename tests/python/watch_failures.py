"""Trainings of 40 steps in which something fails that a watch needs; alone, or as one of two processes (started by test_watch_harmless.py)."""

import contextlib
import logging
import os
import resource
import sys
import time
import types
from pathlib import Path

import ropewalk
import torch
import transformers
import watch_group
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from watch_models import TOKENS, make_documents, make_model

STEPS = 40
HANGS = 10  # seconds; no failure may cost more


class Training:
    """One process's part of a training, and what a failure changes in it."""

    def __init__(self, rank, parallel):
        self.rank, self.parallel, self.step, self.watch, self.callback = rank, parallel, 0, None, None
        self.model = make_model(use_cache=False)
        self.run = DistributedDataParallel(self.model) if parallel else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        self.documents = make_documents(4, seed=7 + rank)

    def train(self, prepare=None, between=None):
        """Losses of all steps. A step whose gradients are not finite is skipped, unless the test does not check them."""
        losses = []
        for self.step in range(STEPS):
            if self.callback is not None:
                self.callback.on_step_begin(None, types.SimpleNamespace(global_step=self.step), None)
            inputs = {"input_ids": self.documents, "labels": self.documents}
            with prepare(self, inputs) if prepare else contextlib.nullcontext():
                loss = self.run(**inputs).loss
                loss.backward()
            if prepare is lost_weights or all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in self.model.parameters()):
                self.optimizer.step()
            self.optimizer.zero_grad()
            losses.append(loss.detach().clone())
            if between and self.watch is not None:
                between(self)
        return torch.stack(losses)


# Failures in a step, which happen with a watch and without.


@contextlib.contextmanager
def poisoned_weights(training, inputs):
    """Infinite queries in one layer of one process, now and then: the training skips such a step."""
    weight = training.model.model.layers[1].self_attn.q_proj.weight
    kept = weight.detach().clone()
    if training.step % 9 == 0 and training.rank == 0:
        with torch.no_grad():
            weight.fill_(float("nan") if training.step % 2 else float("inf"))
    yield
    with torch.no_grad():
        weight.copy_(kept)


@contextlib.contextmanager
def lost_weights(training, inputs):
    """Queries that are not finite from some step on: the training is lost, but continues."""
    if training.step == 10:
        with torch.no_grad():
            training.model.model.layers[1].self_attn.q_proj.weight[3] = float("nan")
    yield


@contextlib.contextmanager
def padding_alone(training, inputs):
    mask = torch.ones(4, TOKENS, dtype=torch.long)
    if training.step % 8 < 4:
        mask[:] = 0
    inputs["attention_mask"] = mask
    yield


@contextlib.contextmanager
def prefix(training, inputs):
    """Keys before all queries, as prefix tuning adds them."""
    if training.step < 6 and training.rank == 0:
        cache = transformers.DynamicCache()
        for layer in range(3):
            cache.update(torch.ones(4, 2, 3, 8), torch.ones(4, 2, 3, 8), layer)
        inputs.update(past_key_values=cache, use_cache=True)
    yield


# Failures outside the training.


def odd_tap(training):
    if training.rank == 0:
        training.watch.tap(0, torch.ones(3), torch.ones(3))


def no_memory(training):
    """An unexpected error where queries and keys are added."""
    measurement = training.watch._measuring.measurement
    if measurement is not None and training.rank == 1 - (not training.parallel):

        def fail(*_):
            raise MemoryError("none left")

        measurement._add = fail


def close_early(training):
    """In a single process, the last one."""
    if training.step == 9 and training.rank == int(training.parallel):
        training.callback.watch.close()


def raising(values, step):
    raise KeyError(step)


class Full:
    """No file can grow beyond a few bytes."""

    def __enter__(self):
        self.limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, self.limits[1]))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_FSIZE, self.limits)


def damaged(folder):
    """A step that was measured before and then damaged."""
    (folder / "checkpoints" / "step-0").mkdir(parents=True)
    for name in ("analysis.bin", "moments.safetensors", "capture.json"):
        (folder / "checkpoints" / "step-0" / name).write_text("damaged")


# By name: options of the watch, the failure, and the text of the one warning; None: there is no warning.
FAILURES = {
    "logger": (dict(log=raising), {}, "KeyError: "),
    "disk": ({}, {}, "File too large|No space left|cannot"),
    "nan": ({}, dict(prepare=poisoned_weights), None),
    "weights": ({}, dict(prepare=lost_weights), "not all finite"),
    "padding": ({}, dict(prepare=padding_alone), "every token of the measured batches was padding"),
    "prefix": ({}, dict(prepare=prefix), "found a tensor of .*27.*, expected"),
    "shape": ({}, dict(between=odd_tap), r"q: found a tensor of \[3\]"),
    "memory": ({}, dict(between=no_memory), "MemoryError: none left"),
    "damaged": (dict(step=1), {}, "damaged|step-0"),
    "closed": ({}, dict(between=close_early), "process 1 stopped"),
    "closes": ({}, {}, None),
}


class Heard(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def train_with(name, out, rank=0, parallel=False):
    """Losses and warnings."""
    options, happens, _ = FAILURES[name]
    training, heard = Training(rank, parallel), Heard()
    if name == "damaged" and rank == 0:
        damaged(out)
    if parallel:
        distributed.barrier()
    options = {"every": 4, "batches": 4 if parallel else 2, "out": out, **options}
    if name == "closes":
        options["log"] = lambda values, step: training.watch.close()
    logging.getLogger("ropewalk").addHandler(heard)
    try:
        if name == "closed":
            training.callback = ropewalk.trainer_callback(**options)
            training.callback.on_train_begin(None, types.SimpleNamespace(global_step=0), None, model=training.model)
            training.watch = training.callback.watch
        else:
            training.watch = ropewalk.watch(training.run, **options)
        with Full() if name == "disk" else contextlib.nullcontext():
            losses = training.train(**happens)
        if training.callback is not None:
            training.callback.on_train_end(None, None, None)
        training.watch.close()
    finally:
        logging.getLogger("ropewalk").removeHandler(heard)
    return losses, heard.lines


def same_bits(one, other):
    return one.numpy().tobytes() == other.numpy().tobytes()


def plain(name, rank=0, parallel=False):
    happens = {key: value for key, value in FAILURES[name][1].items() if key == "prepare"}
    return Training(rank, parallel).train(**happens)


def raised(name, out, rank):
    """At which step, and which error, where errors are raised: in both processes, although only one has the error."""
    options, happens, _ = FAILURES[name]
    training = Training(rank, True)
    training.watch = ropewalk.watch(training.run, **{"every": 4, "batches": 4, "out": out, "errors": "raise", **options})
    try:
        training.train(**happens)
    except ropewalk.Error as error:
        return f"at {training.step}: {error}"
    finally:
        training.watch.abort()
    return "nothing"


RAISED = ("shape", "logger", "prefix")  # failures that occur in only one process


def main(folder):
    watch_group.begin()
    rank = distributed.get_rank()
    for name in FAILURES:
        began = time.monotonic()
        without = plain(name, rank, True)
        alone = time.monotonic() - began
        losses, lines = train_with(name, Path(folder) / name, rank, True)
        assert same_bits(losses, without), name
        took = time.monotonic() - began - alone
        assert took < 4 * alone + HANGS, f"{name}: {took:.1f} s with a watch, {alone:.1f} s without"
        print(f"{rank} {name}: {len(lines)} {' | '.join(lines)}", flush=True)
    for name in RAISED:
        print(f"{rank} raises {name}: {raised(name, Path(folder) / f'{name} raised', rank)}", flush=True)
    watch_group.end()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(sys.argv[1])
