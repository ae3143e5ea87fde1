"""The program's verbs as functions: the same code, with options as keywords."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from inspect import signature as inspect_signature
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

from . import _checks, _module, _words
from ._ablation import Ablation
from ._capture import Capture
from ._forecast import Forecast
from ._listener import Listener
from ._loss import Loss
from ._moments import Moments
from ._moments import analyze as _analyze_moments
from ._study import Study
from ._temporary import TemporaryFolder
from .errors import UsageError

PathLike = str | os.PathLike[str]


class Finding(NamedTuple):
    """A finding of `audit`: `kind` is missing, duplicate, config or gap."""

    kind: str
    text: str


@overload
def run(
    experiment: PathLike, out: PathLike | None = ..., *, only: Sequence[str] = ..., format: Sequence[str] = ..., evict: bool = ..., keep_going: bool = ...,  # noqa: A002
    replace: bool = ..., prune: bool = ..., threads: int | None = ..., progress: bool | None = ..., dry_run: Literal[False] = ...,
) -> Study: ...  # fmt: skip
@overload
def run(
    experiment: PathLike, out: PathLike | None = ..., *, only: Sequence[str] = ..., format: Sequence[str] = ..., evict: bool = ..., keep_going: bool = ...,  # noqa: A002
    replace: bool = ..., prune: bool = ..., threads: int | None = ..., progress: bool | None = ..., dry_run: Literal[True],
) -> str: ...  # fmt: skip
@overload
def run(
    experiment: PathLike, out: PathLike | None = ..., *, only: Sequence[str] = ..., format: Sequence[str] = ..., evict: bool = ..., keep_going: bool = ...,  # noqa: A002
    replace: bool = ..., prune: bool = ..., threads: int | None = ..., progress: bool | None = ..., dry_run: bool,
) -> Study | str: ...  # fmt: skip
def run(
    experiment: PathLike, out: PathLike | None = None, *, only: Sequence[str] = (), format: Sequence[str] = ("png", "svg", "pdf"),  # noqa: A002
    evict: bool = False, keep_going: bool = False, replace: bool = False, prune: bool = False, threads: int | None = None, progress: bool | None = None,
    dry_run: bool = False,
) -> Any:  # fmt: skip
    """Measures a training run (docs/experiments.md): from checkpoints to tables and figures, a Study. Finished results of a former run are kept.

    `out`: results folder; default: out/ with the experiment file's name. `format`: of the figures, ["json"] for specifications only. `progress`:
    bars; by default in a terminal or notebook. `dry_run`: returns a text instead, which says what would be read and computed. The other options
    are those of `ropewalk run`.
    """
    folder = Path(out) if out is not None else Path("out") / Path(experiment).stem
    options = dict(out=folder, format=_words.commas(format), evict=evict, keep_going=keep_going, replace=replace, prune=prune, threads=threads)
    text = _words.call("run", [experiment], options | {"dry_run": dry_run}, progress, repeated={"only": only})
    return text if dry_run else Study(folder)


def capture(
    model: Any = None, corpus: Any = None, out: PathLike | None = None, *, revision: str | None = None, tokenizer: PathLike | None = None, label: str | None = None,
    context: int | None = None, documents: int | None = None, min_tokens: int | None = None, field: str | None = None, id: str | None = None,  # noqa: A002
    split: str | None = None, dataset_config: str | None = None,
    chunk: bool = False, heads: int | None = None, seed: int | None = None, sliding: bool = False, pre_rope: bool = True, lags: bool = True, plasticity: bool = False, rows: int | str = 32,
    loss: bool = False, blocks: int | None = None, shard: str | None = None, vectors: str | None = None, rate: float | None = None, bucket_size: int | None = None, vectors_from: PathLike | None = None,
    backend: str | None = None, device: str | None = None, dtype: str | None = None, memory: str | None = None, threads: int | None = None, progress: bool | None = None,
) -> Capture:  # fmt: skip
    """Runs text through a checkpoint and keeps the moments of its queries and keys.

    `model`: a checkpoint folder, a Hub id, or a transformers model, which is saved to a temporary folder. `corpus`: a file, folder or dataset on
    the Hub as for `ropewalk capture`, or the documents themselves: texts, lists of tokens, or a `datasets.Dataset` with a column of either. `out`:
    a new folder; by default a temporary one, which exists as long as the result. `vectors_from`: instead of a corpus, vectors that were already
    captured. The other options are those of `ropewalk capture`.
    """
    with tempfile.TemporaryDirectory(prefix="ropewalk-") as work:
        kept = TemporaryFolder() if out is None else None
        folder = kept.path / "capture" if kept else Path(out or "")
        options = dict(
            corpus=_words.corpus_file(corpus, Path(work)) if corpus is not None or vectors_from is None else None, out=folder, revision=revision, tokenizer=tokenizer,
            label=label or (_words.label_of(model) if vectors_from is None else None), context=context,
            documents=documents, min_tokens=min_tokens, field=field, id=id, split=split, dataset_config=dataset_config, chunk=chunk, heads=heads, seed=seed, sliding=sliding,
            **_keep(pre_rope=pre_rope, lags=lags, plasticity=plasticity, rows=rows, loss=loss), blocks=blocks, shard=shard, vectors=vectors, rate=rate, bucket_size=bucket_size, vectors_from=vectors_from,
            backend=backend, device=device, dtype=dtype, memory=memory, threads=threads,
        )  # fmt: skip
        _words.call("capture", [_words.model_folder(model, Path(work))] if model is not None or vectors_from is None else [], options, progress)
    made = Capture.open(folder)
    made._kept = kept
    return made


def loss(
    model: Any, corpus: Any, out: PathLike | None = None, *, revision: str | None = None, tokenizer: PathLike | None = None, label: str | None = None,
    context: int | None = None, documents: int | None = None, min_tokens: int | None = None, field: str | None = None, id: str | None = None,  # noqa: A002
    split: str | None = None, dataset_config: str | None = None, chunk: bool = False, shard: str | None = None,
    device: str | None = None, dtype: str | None = None, memory: str | None = None, threads: int | None = None, progress: bool | None = None,
) -> Loss:  # fmt: skip
    """The loss of a checkpoint on a corpus, in nats per token, by position and by document.

    `model`, `corpus` and `out` are the same as for `capture`; the other options are those of `ropewalk loss`.
    """
    with tempfile.TemporaryDirectory(prefix="ropewalk-") as work:
        kept = TemporaryFolder() if out is None else None
        folder = kept.path / "loss" if kept else Path(out or "")
        options = dict(
            corpus=_words.corpus_file(corpus, Path(work)), out=folder, revision=revision, tokenizer=tokenizer, label=label or _words.label_of(model), context=context,
            documents=documents, min_tokens=min_tokens, field=field, id=id, split=split, dataset_config=dataset_config, chunk=chunk, shard=shard,
            device=device, dtype=dtype, memory=memory, threads=threads,
        )  # fmt: skip
        _words.call("loss", [_words.model_folder(model, Path(work))], options, progress)
    made = Loss(folder)
    made._kept = kept
    return made


def ablate(
    capture: Any, corpus: Any, heads: str | Sequence[str], edit: str | Sequence[str] = ("distance",), out: PathLike | None = None, *,
    controls: int | None = None, documents: int | None = None, chunk: bool = False, model: Any = None, revision: str | None = None,
    tokenizer: PathLike | None = None, field: str | None = None, id: str | None = None, split: str | None = None, dataset_config: str | None = None,  # noqa: A002
    format: Sequence[str] = ("png", "svg", "pdf"), device: str | None = None, memory: str | None = None, threads: int | None = None,  # noqa: A002
    progress: bool | None = None,
) -> Ablation:  # fmt: skip
    """How much the model of a capture needs its heads: the loss after something is taken away from them, compared with random sets of the same size.

    `capture`: its folder, or the result of `ropewalk.capture`. `corpus`: as for `capture`, with documents that the capture did not read. `heads`:
    one or several sets such as "top:dist_range:10%" or "3.0,3.1". `edit`: such as "distance" or "window:128". `out`: a new folder, or the folder
    of the same ablation, which is then resumed; by default a temporary one, which exists as long as the result. `model`: the current path of the
    model, or the transformers model itself. The other options are those of `ropewalk ablate`.
    """
    with tempfile.TemporaryDirectory(prefix="ropewalk-") as work:
        kept = TemporaryFolder() if out is None else None
        folder = kept.path / "ablation" if kept else Path(out or "")
        options = dict(
            corpus=_words.corpus_file(corpus, Path(work)), edit=_words.commas(edit), out=folder, controls=controls, documents=documents, chunk=chunk,
            model=None if model is None else _words.model_folder(model, Path(work)), revision=revision, tokenizer=tokenizer, field=field, id=id, split=split,
            dataset_config=dataset_config, format=_words.commas(format), device=device, memory=memory, threads=threads,
        )  # fmt: skip
        _words.call("ablate", [_words.folder_of(capture, "ablate") if isinstance(capture, Capture) else capture], options, progress, repeated={"heads": heads})
    made = Ablation(folder)
    made._kept = kept
    return made


def forecast(
    capture: Any, context: int, rope: str | Sequence[str] = ("none",), out: PathLike | None = None, *, trained: int | None = None,
    check: bool = False, corpus: Any = None, documents: int | None = None, chunk: bool = False, model: Any = None, revision: str | None = None,
    tokenizer: PathLike | None = None, field: str | None = None, id: str | None = None, split: str | None = None, dataset_config: str | None = None,  # noqa: A002
    format: Sequence[str] = ("png", "svg", "pdf"), device: str | None = None, memory: str | None = None, threads: int | None = None,  # noqa: A002
    progress: bool | None = None,
) -> Forecast:  # fmt: skip
    """What RoPE settings would do to every head of a capture's model at a longer context, computed in seconds without running the model.

    `capture`: its folder, or the result of `ropewalk.capture`. `context`: tokens that the model shall read. `rope`: settings such as "theta:x8" or
    "yarn:4"; "none" is the model's own. `check`: also runs the model under every setting on `corpus`, as for `capture`, and compares ranks. `out`: a
    new folder; by default a temporary one, which exists as long as the result. The other options are those of `ropewalk forecast`.
    """
    with tempfile.TemporaryDirectory(prefix="ropewalk-") as work:
        kept = TemporaryFolder() if out is None else None
        folder = kept.path / "forecast" if kept else Path(out or "")
        options = dict(
            context=context, trained=trained, check=check, corpus=None if corpus is None else _words.corpus_file(corpus, Path(work)), documents=documents,
            chunk=chunk, model=None if model is None else _words.model_folder(model, Path(work)), revision=revision, tokenizer=tokenizer, field=field, id=id,
            split=split, dataset_config=dataset_config, out=folder, format=_words.commas(format), device=device, memory=memory, threads=threads,
        )  # fmt: skip
        source = _words.folder_of(capture, "forecast") if isinstance(capture, Capture) else capture
        _words.call("forecast", [source], options, progress, repeated={"rope": rope})
    made = Forecast(folder)
    made._kept = kept
    return made


def analyze(
    captures: Any, out: PathLike | None = None, *, model: str = "", components: int = 10, keep_order: bool = False, from_: str | None = None, kv_group: int | None = None,
    between: Sequence[tuple[str, str]] = (), min_change: float | None = None, threads: int | None = None, progress: bool | None = None,
) -> Study:  # fmt: skip
    """The tables of captures, with standard errors: a Study.

    `captures`: one or several capture folders, in any order; a dict from the labels for the tables to folders; or `Moments` by label, such as
    {"1000": moments}, in the order of the run. `out`: a folder to keep the tables in; by default a temporary one, which exists as long as the
    result. The other options are those of `ropewalk analyze`.
    """
    if isinstance(captures, Mapping) and any(isinstance(one, str | os.PathLike) for one in captures.values()):
        captures = [_words.labelled(label, folder) for label, folder in captures.items()]
    if isinstance(captures, Mapping):
        return _analyze_moments(captures, out, model=model, components=components)
    folders = [captures] if isinstance(captures, str | os.PathLike) or not isinstance(captures, Iterable) else list(captures)
    for one in folders:
        if not isinstance(one, str | os.PathLike):
            raise UsageError(f"analyze: found {type(one).__name__}, expected capture folders, or Moments by label, such as {{'1000': moments}}")
    _checks.components(components)
    kept = TemporaryFolder() if out is None else None
    made = out is not None and not Path(out).exists()
    folder = _checks.folder(kept.path if kept else out or "")
    options = dict(out=folder, components=components, keep_order=keep_order, from_=from_, kv_group=kv_group, min_change=min_change, threads=threads)
    try:
        _words.call("analyze", folders, options, progress, repeated={"between": [_words.commas(pair) for pair in between]})
    except BaseException:
        if made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    study = Study(folder)
    study._kept = kept
    return study


def figures(
    study: Study | PathLike, out: PathLike, *, format: Sequence[str] = ("png", "svg", "pdf"), statistic: Sequence[str] = (),  # noqa: A002
    portrait: Sequence[tuple[str, str]] = (), portraits: Sequence[str] = (), distance: Sequence[str] = (), title: str | None = None,
    axis: str | None = None,
    experiment: PathLike | None = None, summary: PathLike | None = None,
) -> list[Path]:  # fmt: skip
    """Writes all figures of a study, or of any table such as qk.csv, to a folder. Returns the files."""
    table = study.path if isinstance(study, Study) else Study(study).path
    options = dict(
        out=out, format=_words.commas(format), statistic=_words.commas(statistic), portraits=_words.commas(portraits), distance=_words.commas(distance), title=title,
        axis=axis, experiment=experiment, summary=summary,
    )  # fmt: skip
    _words.call("figures", [table], options, False, repeated={"portrait": [_words.commas(pair) for pair in portrait]})
    return sorted(path for path in Path(out).iterdir() if path.suffix in (".json", ".png", ".svg", ".pdf"))


def inspect(
    model: PathLike, *, revision: str | None = None, context: int | None = None, heads: int | None = None, seed: int | None = None, sliding: bool = False,
    device: str | None = None, dtype: str | None = None, memory: str | None = None, threads: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A checkpoint's layers, heads, RoPE, memory and cost. No weight is read."""
    options = dict(
        revision=revision, context=context, heads=heads, seed=seed, sliding=sliding, device=device, dtype=dtype, memory=memory, threads=threads, json=True
    )
    found: dict[str, Any] = json.loads(_words.call("inspect", [model], options, False))
    return found


def audit(experiment: PathLike, *, progress: bool | None = None) -> list[Finding]:
    """Finds problems with the checkpoints of a run: duplicate, missing or changed ones. Empty: none."""
    with Listener(progress) as listener:
        return [Finding(*found) for found in _module.core().audit(listener, os.fspath(experiment))]


def export(capture: PathLike | Moments, to: str, out: PathLike) -> Path:
    """Exports a capture to files that another program loads: `to` is kvpress or q-filters."""
    if isinstance(capture, Moments):
        with tempfile.TemporaryDirectory(prefix="ropewalk-") as work:
            return export(capture.save(Path(work) / "capture"), to, out)
    _words.call("export", [capture], dict(to=to, out=out), False)
    return Path(out)


def _keep(**said: Any) -> dict[str, Any]:
    """What a capture keeps, as options of the command line, where it is not the default: --no-KEY switches off what is on by default."""
    words: dict[str, Any] = {}
    for name, value in said.items():
        default = inspect_signature(capture).parameters[name].default
        if default is True:
            words[f"no_{name}"] = not value
        else:
            words[name] = None if value == default else value
    return words
