"""Passes what the library reports to Python: log lines to `logging`, progress to bars of tqdm."""

from __future__ import annotations

import logging
import sys
from typing import Any

log = logging.getLogger("ropewalk")

# The levels in the order of ropewalk/base/log.h.
LEVELS = [logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR]


class Listener:
    """Receives the reports of one job. `progress`: True shows bars; None shows them only in a terminal or notebook."""

    def __init__(self, progress: bool | None = False) -> None:
        self._bars: dict[int, Any] = {}
        self._tqdm = _find_tqdm() if progress or (progress is None and _watched()) else None

    def level(self) -> int:
        """The lowest level for which somebody listens."""
        return next((number for number, level in enumerate(LEVELS) if log.isEnabledFor(level)), len(LEVELS))

    def line(self, level: int, text: str) -> None:
        log.log(LEVELS[level], "%s", text)

    def progress(self, job: int, title: str, unit: str, total: int, done: int, note: str, last: bool) -> None:
        if self._tqdm is None:
            return
        if job not in self._bars:
            self._bars[job] = self._tqdm(total=total, desc=title, unit=f" {unit}", unit_scale=True)
        bar = self._bars[job]
        bar.update(done - bar.n)
        if note:
            bar.set_postfix_str(note)
        if last:
            bar.close()
            del self._bars[job]

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        for bar in self._bars.values():
            bar.close()
        self._bars.clear()


def _watched() -> bool:
    shows = getattr(sys.stderr, "isatty", None)  # a program may replace stderr by anything, or by None
    return "ipykernel" in sys.modules or shows is not None and bool(shows())


def _find_tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm
