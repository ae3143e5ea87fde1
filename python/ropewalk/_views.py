"""How a study is displayed: as text, in a notebook, as a page."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any

# The numbers that the terminal and notebooks show: the loss, where it was measured, then means over heads, those without a sign first.
COLUMNS = {"loss": "loss", "mean_r2cv_q": "R² of queries", "mean_r2cv_k": "R² of keys", "mean_abs_r_k": "|r_k|", "mean_r_q": "r_q"}


def text_of(folder: Path, summary: dict[str, Any]) -> str:
    """One line per checkpoint."""
    lines = _lines(summary)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    body = ("  ".join(text.ljust(width) if i == 0 else text.rjust(width) for i, (text, width) in enumerate(zip(line, widths, strict=True))) for line in lines)
    return "\n".join([f"ropewalk.Study {_seen_from_here(folder)}", *body])


def _seen_from_here(folder: Path) -> str:
    """The shorter of the folder's absolute and relative path, so that notebooks do not show paths of one machine."""
    return min(os.path.relpath(folder), str(folder), key=len)


def html_of(folder: Path, summary: dict[str, Any]) -> str:
    """The lines as an HTML table."""
    header, *rows = _lines(summary)
    head = "".join(f"<th>{html.escape(title)}</th>" for title in header)
    body = "".join(f"<tr><th>{html.escape(label)}</th>{''.join(f'<td>{html.escape(text)}</td>' for text in numbers)}</tr>" for label, *numbers in rows)
    return f"<table><caption>{html.escape(_seen_from_here(folder))}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _lines(summary: dict[str, Any]) -> list[list[str]]:
    """The names of columns, then one line per checkpoint."""
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
    """The error as text to follow a number. An error that rounds to 0 is shown as smaller than the last digit; without an error, or where nothing
    varied, the text is empty.
    """
    if not se or se != se:
        return ""
    least = 10**-decimals
    return f" ± <{least:.{decimals}f}" if se < least / 2 else f" ± {se:.{decimals}f}"


class Page:
    """An HTML page that notebooks show in a frame; `html` is its text."""

    def __init__(self, text: str) -> None:
        self.html = text

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: 800px; border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"<ropewalk.Page of {len(self.html)} characters>"
