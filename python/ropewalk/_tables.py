"""Reads the tables of a results folder (docs/formats.md) with pyarrow, and converts them for pandas or polars."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .errors import InputError, SystemError, UsageError  # noqa: A004

if TYPE_CHECKING:
    import pyarrow

Kind = Literal["pandas", "polars", "arrow"]

# Columns that do not hold floating-point numbers.
TEXT = {"model", "checkpoint", "phase", "class", "within_class", "flag", "curve", "from", "to", "kind", "statistic", "digest", "set", "edit", "members",
        "setting", "positions", "ranked_by", "first", "best"}  # fmt: skip
WHOLE = {"order", "layer", "q_head", "pc", "n_q", "n_k", "n_blocks", "pair", "changed", "paired", "document", "documents", "group", "heads", "controls", "control_moved", "trained", "context", "settings"}
WHOLE_OR_EMPTY = {"kv_head", "rope", "step", "tokens", "position", "position_end", "real", "draw", "preferred", "preferred_then", "breaks"}
NAMES = ("model", "checkpoint", "phase", "from", "to")

# Names that spreadsheets would evaluate as formulas have an apostrophe in front.
GUARDED = re.compile(r"^'('*[=+\-@\t\r])")


def _header(path: Path) -> list[str]:
    import csv

    try:
        with path.open(encoding="utf-8", newline="") as file:
            return next(csv.reader(file), [])
    except FileNotFoundError:
        raise SystemError(f"{path}: this table does not exist; ropewalk run and ropewalk analyze write one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a table: {error}") from None


def read(path: Path) -> pyarrow.Table:
    """A table with typed columns. Empty numbers are null."""
    import pyarrow as pa
    from pyarrow import csv

    types: dict[str, pa.DataType] = {}
    for name in _header(path):
        if name in TEXT:
            types[name] = pa.string()
        elif name in WHOLE or name in WHOLE_OR_EMPTY:
            types[name] = pa.int64()
        else:
            types[name] = pa.float64()
    try:
        table = csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types))
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: is not a table in ropewalk's format: {error}") from None
    for name in NAMES:
        if name in table.column_names:
            table = _without_guard(table, name)
    return table


def _without_guard(table: pyarrow.Table, name: str) -> pyarrow.Table:
    import pyarrow as pa
    from pyarrow import compute

    column = table[name]
    known = [str(text) for text in compute.unique(column).to_pylist()]
    if not any(GUARDED.match(text) for text in known):
        return table
    plain = pa.array([GUARDED.sub(r"\1", text) for text in known], pa.string())
    indexes = compute.index_in(column, pa.array(known, pa.string()))
    return table.set_column(table.column_names.index(name), name, compute.take(plain, indexes))


def convert(table: pyarrow.Table, kind: Kind) -> Any:
    """The table for pandas, for polars, or unchanged."""
    if kind == "arrow":
        return table
    if kind == "polars":
        try:
            import polars
        except ImportError:
            raise UsageError("kind 'polars': polars is not installed here; install it, or use pandas or arrow") from None
        return polars.from_arrow(table)
    if kind == "pandas":
        frame = table.to_pandas()
        for name in WHOLE_OR_EMPTY.intersection(table.column_names):
            frame[name] = frame[name].astype("Int64")
        return frame
    raise UsageError(f"'{kind}' is not a kind of table; expected pandas, polars or arrow")
