"""Turns calls of the package's verbs into arguments of the program, and objects that are not files into files."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _module
from ._capture import Capture
from ._listener import Listener
from .errors import UsageError


def call(verb: str, indexes: Iterable[Any], options: Mapping[str, Any], progress: bool | None, repeated: Mapping[str, Sequence[str]] | None = None) -> str:
    """Runs a verb, and returns what it prints."""
    words = [verb]
    for name, value in options.items():
        option = "--" + name.strip("_").replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False and value != "":
            words.append(f"{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    for name, values in (repeated or {}).items():
        words += [f"--{name}={value}" for value in ([values] if isinstance(values, str) else values)]
    for index in indexes:
        if not isinstance(index, str | os.PathLike):
            raise UsageError(f"{verb}: found {type(index).__name__}, expected a path")
    words += ["--", *(os.fspath(index) for index in indexes)]
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{verb}: {word!r} cannot be written as UTF-8") from None
    with Listener(progress) as listener:
        return str(_module.core().call(listener, words))


def commas(values: Sequence[str]) -> str:
    return values if isinstance(values, str) else ",".join(values)


def labelled(label: Any, folder: Any) -> str:
    """LABEL=FOLDER, the form in which `ropewalk analyze` takes a capture with another label."""
    if not isinstance(label, str) or not label or "=" in label:
        raise UsageError(f"analyze: found {label!r}, expected a label: a text that is not empty and has no '='")
    if not isinstance(folder, str | os.PathLike):
        raise UsageError(f"analyze: found {type(folder).__name__} as '{label}', expected a capture folder, like the others")
    return f"{label}={os.fspath(folder)}"


def folder_of(capture: Capture, verb: str) -> Path:
    file = Path(capture._source)
    if not file.is_file():
        raise UsageError(f"{verb}: the capture is not in a folder; save it, and name the folder")
    return file.parent


def label_of(model: Any) -> str | None:
    """A label for a transformers model, because the name of its temporary folder means nothing."""
    if isinstance(model, str | os.PathLike):
        return None
    return Path(getattr(getattr(model, "config", None), "_name_or_path", "") or "model").name


def model_folder(model: Any, work: Path) -> Any:
    if isinstance(model, str | os.PathLike):
        return model
    if not hasattr(model, "save_pretrained"):
        raise UsageError(f"model: found {type(model).__name__}, expected a folder, a Hub id or a model of transformers")
    model.save_pretrained(work / "model")
    return work / "model"


def corpus_file(corpus: Any, work: Path) -> Any:
    if isinstance(corpus, str | os.PathLike):
        return corpus
    if not isinstance(corpus, Iterable) or isinstance(corpus, Mapping | bytes):
        found = f"{type(corpus).__name__} of {list(corpus)}," if isinstance(corpus, Mapping) else f"{type(corpus).__name__},"
        raise UsageError(f"corpus: found {found} expected a file, a folder, a dataset of the Hub, texts or lists of tokens")
    path = work / "corpus.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number, document in enumerate(corpus):
            if isinstance(document, str):
                row: dict[str, Any] = {"text": document}
            elif isinstance(document, Mapping):
                row = dict(document)
            else:
                try:
                    if isinstance(document, bytes):
                        raise TypeError
                    row = {"tokens": [operator.index(token) for token in document]}
                except (TypeError, ValueError):
                    raise UsageError(f"corpus: document {number} is {type(document).__name__}; expected a text or a list of tokens") from None
            file.write(json.dumps(row, default=plain) + "\n")
    return path


def plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
