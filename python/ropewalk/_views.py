"""How a study shows itself: as a text, in a notebook, as a page."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any

# The loss, where it was measured, and means over heads, as the terminal and notebooks show them: those without a sign first.
COLUMNS = {"loss": "loss", "mean_r2cv_q": "R² of queries", "mean_r2cv_k": "R² of keys", "mean_abs_r_k": "|r_k|", "mean_r_q": "r_q"}


def text_of(folder: Path, summary: dict[str, Any]) -> str:
    """One line per checkpoint."""
    lines = _lines(summary)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    body = ("  ".join(text.ljust(width) if i == 0 else text.rjust(width) for i, (text, width) in enumerate(zip(line, widths, strict=True))) for line in lines)
    return "\n".join([f"ropewalk.Study {_seen_from_here(folder)}", *body])


def _seen_from_here(folder: Path) -> str:
    """The shorter of its two names: a notebook that others run says nothing of the machine."""
    return min(os.path.relpath(folder), str(folder), key=len)


def html_of(folder: Path, summary: dict[str, Any]) -> str:
    """The same as a table."""
    header, *rows = _lines(summary)
    head = "".join(f"<th>{html.escape(title)}</th>" for title in header)
    body = "".join(f"<tr><th>{html.escape(label)}</th>{''.join(f'<td>{html.escape(text)}</td>' for text in numbers)}</tr>" for label, *numbers in rows)
    return f"<table><caption>{html.escape(_seen_from_here(folder))}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _lines(summary: dict[str, Any]) -> list[list[str]]:
    """Names of columns, then a checkpoint each."""
    columns = {key: title for key, title in COLUMNS.items() if key in summary}
    checkpoints = summary["checkpoints"]
    context = ["context"] if len({one.get("context") for one in checkpoints}) > 1 else []
    lines = [["checkpoint", *context, *columns.values(), "heads"]]
    for checkpoint in checkpoints:
        label = checkpoint["label"]
        numbers = [_number(summary[key].get(label)) for key in columns]
        lines.append([label, *(str(checkpoint.get(key) or "") for key in context), *numbers, str(checkpoint.get("heads", ""))])
    return lines


def _number(leaf: dict[str, Any] | None) -> str:
    if not leaf or leaf.get("value") is None:
        return ""
    return f"{leaf['value']:.3f}" + error_text(leaf.get("se"), 3)


def error_text(se: float | None, decimals: int) -> str:
    """To stand after a number. One that rounds to 0 is said to be smaller than the last digit; of none, or where nothing varied, nothing."""
    if not se or se != se:
        return ""
    least = 10**-decimals
    return f" ± <{least:.{decimals}f}" if se < least / 2 else f" ± {se:.{decimals}f}"


class Page:
    """An HTML page that shows itself in a frame of a notebook; `html` is its text."""

    def __init__(self, text: str) -> None:
        self.html = text

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: 800px; border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"<ropewalk.Page of {len(self.html)} characters>"
