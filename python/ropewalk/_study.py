"""Results of a study, read from its folder."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _checks, _jackknife, _module, _tables, _top_heads, _views, _watch_folder
from ._jackknife import Statistic
from ._listener import Listener
from ._tables import Kind
from ._capture import Capture
from .errors import InputError, SystemError, UsageError  # noqa: A004
from ._figure import Figure
from ._study_files import StudyFiles
from ._temporary import TemporaryFolder
from ._views import Page

if TYPE_CHECKING:
    import pandas

HEAD = ["checkpoint", "layer", "q_head"]
CHECKPOINT = ["label", "phase", "context", "documents", "blocks"]  # first among the columns of `checkpoints`


def open(path: str | os.PathLike[str]) -> Study:  # noqa: A001: ropewalk.open
    """The results in a folder that `ropewalk run` or `analyze` wrote; or those of one table, such as NAME.csv."""
    return Study(path)


class Study:
    """Tables, figures and captures of a training run.

    Every table is read from its file when it is first asked for, and again once the files are others: of a run that goes on, each call gives what it
    has by then.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        given = Path(path).absolute()
        kept = None
        if given.is_dir():
            folder, kept = _watch_folder.tables_of(given)
            self.path = folder / "qk.csv"
        else:
            self.path = given
        if not self.path.is_file():
            why = "holds no qk.csv" if given.is_dir() else "there is no such folder"
            raise SystemError(f"{given}: {why}; ropewalk run and ropewalk analyze write one")
        self._files = StudyFiles(self.path)
        self._kept: TemporaryFolder | None = kept  # lives as long as the study
        self._without_captures = ""  # why there are none

    @property
    def folder(self) -> Path:
        return self.path.parent

    # Tables

    @property
    def heads(self) -> pandas.DataFrame:
        """heads.csv: one row per checkpoint and query head. Every number X has its standard error beside it, X_se."""
        return self._files.frame("heads")

    @property
    def components(self) -> pandas.DataFrame:
        """qk.csv: one row per checkpoint, query head and principal component."""
        return self._files.frame("components")

    @property
    def bands(self) -> pandas.DataFrame:
        """bands.csv: one row per checkpoint, query head and rotary pair."""
        return self._files.frame("bands")

    @property
    def curves(self) -> pandas.DataFrame:
        """curves.csv: one row per checkpoint, query head, curve and distance."""
        return self._files.frame("curves")

    @property
    def loss(self) -> pandas.DataFrame:
        """loss.csv: nats per token, one row per checkpoint over all positions, then one per bin of positions. Of experiments with `loss: true`."""
        return self._files.frame("loss")

    @property
    def checkpoints(self) -> pandas.DataFrame:
        """One row per checkpoint: label, phase, context, documents, blocks, and what else summary.json says of it."""
        import pandas

        def read() -> pandas.DataFrame:
            frame = pandas.DataFrame(self.summary["checkpoints"])
            first = [name for name in CHECKPOINT if name in frame]
            return frame[[*first, *(name for name in frame if name not in first)]]

        frame: pandas.DataFrame = self._files.once("checkpoints", read)
        return frame

    @property
    def summary(self) -> dict[str, Any]:
        """summary.json: numbers over all heads, with standard errors."""
        summary: dict[str, Any] = self._files.once("summary", self._files.summary)
        return summary

    def table(self, name: Literal["heads", "components", "bands", "curves", "changes", "loss"], kind: Kind = "pandas") -> Any:
        """A table for pandas, as a polars DataFrame ("polars") or a pyarrow Table ("arrow")."""
        return _tables.convert(self._files.arrow(name), kind)

    def changes(self, fdr: float | None = 0.05, kind: Kind = "pandas") -> Any:
        """changes.csv: what changed in which head from one checkpoint to another, one row per pair, head and statistic.

        Rows that count as changed (`changed` is 1: a false discovery rate `q` of at most 0.05, and a size), and of these, those whose `q` is at most
        `fdr`; None: every row, changed or not.
        """
        table = self._files.arrow("changes")
        if fdr is not None:
            from pyarrow import compute

            table = table.filter((compute.field("changed") == 1) & (compute.field("q") <= _checks.share("fdr", fdr)))
        return _tables.convert(table, kind)

    def top_heads(self, n: int = 10, by: str | None = None) -> pandas.DataFrame:
        """The heads to look at first: those that training changed most, by decreasing `score`. Query heads that share the keys that changed are
        one row: `q_heads` has all of them, `q_head` the first.

        The score is the largest effect on R²cv of queries, R²cv of keys and the share of position in logits, from the random baselines to the last
        checkpoint and from the first trained one to it, each less its standard error (docs/method.md). `by`: that of one statistic of changes.csv
        instead, such as "r2cv_k".

        Where heads were edited (`ablate:` in the experiment), `loss_effects` has what that cost: the rows of ablate.csv, as dictionaries, of the
        smallest set with these heads in it.
        """
        import pandas

        _checks.whole("n", n, 1)
        if by is not None:
            return _top_heads.with_effects(self._files, _top_heads.top_by(self._files, by).head(n).reset_index(drop=True))
        found = self.summary.get("top_heads")
        if not found:
            raise UsageError(f"{self.path}: holds no random baseline and no two checkpoints of one run, so no heads that training changed")
        return _top_heads.with_effects(self._files, pandas.DataFrame(found[:n]))

    def trajectory(self, layer: int, head: int) -> pandas.DataFrame:
        """One head over the run: one row per checkpoint, the numbers of PC0 (qk.csv) and of the head (heads.csv)."""
        found: pandas.DataFrame = self._files.once(f"head {layer} {head}", lambda: self._trajectory(layer, head))
        return found.copy()

    def _trajectory(self, layer: int, head: int) -> pandas.DataFrame:
        pc0 = self.components
        pc0 = pc0[(pc0.layer == layer) & (pc0.q_head == head) & (pc0.pc == 0)]
        if pc0.empty:
            raise UsageError(f"{self.path}: holds no head {head} of layer {layer}")
        if self._files.beside("heads.csv").is_file():
            heads = self.heads
            new = [*HEAD, *(name for name in heads.columns if name not in pc0.columns)]
            pc0 = pc0.merge(heads[new], on=HEAD, how="left")
        return pc0.sort_values("order", kind="stable").reset_index(drop=True) if "order" in pc0 else pc0.reset_index(drop=True)

    # Figures

    @property
    def figures(self) -> list[str]:
        """Names of the figures of every run, and of those that the experiment asked for."""
        return list(self._figures)

    def figure(self, name: str, by: Literal["training", "depth"] = "training") -> Figure:
        """A figure by its name (`study.figures`), or of a statistic: any number of `heads.csv`, such as "r2cv_q", over training or by depth."""
        if not isinstance(name, str):
            raise UsageError(f"figure: found {name!r}, expected the name of a figure or of a statistic")
        if by not in ("training", "depth"):
            raise UsageError(f"by '{by}': expected 'training' or 'depth'")
        if name in self._figures:
            return self._figures[name]
        core = _module.core()
        over, depth = core.figure_names(name)
        return self._drawn(self._files.once(f"figure of {name}", lambda: self._draw([name], [])), over if by == "training" else depth, name)

    def portrait(self, x: str, y: str) -> Figure:
        """Every head by two statistics, at some checkpoints of the run."""
        core = _module.core()
        return self._drawn(self._files.once(f"portrait of {x} and {y}", lambda: self._draw([], [(x, y)])), core.portrait_name(x, y), f"{x} and {y}")

    def show(self) -> Page:
        """The interactive page of the study (docs/report.md), in a frame of the notebook."""
        page = self.folder / "report.html"
        if page.is_file() and self.path.name == "qk.csv":
            return Page(page.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory(prefix="ropewalk-") as folder, Listener() as listener:
            made = Path(folder) / "report.html"
            _module.core().write_report(listener, str(self.path), str(made))
            return Page(made.read_text(encoding="utf-8"))

    @property
    def _figures(self) -> dict[str, Figure]:
        figures: dict[str, Figure] = self._files.once("figures", lambda: self._draw([], []))
        return figures

    def _draw(self, statistics: list[str], portraits: list[tuple[str, str]]) -> dict[str, Figure]:
        with Listener() as listener:
            drawn = _module.core().figures(listener, str(self.path), statistics, portraits)
        return {name: Figure(name, json.loads(spec)) for name, spec in drawn}

    def _drawn(self, figures: dict[str, Figure], name: str, asked: str) -> Figure:
        if name not in figures:
            raise InputError(f"{self.path}: has no {asked} of heads that count, so no figure of it")
        return figures[name]

    # Captures and statistics of your own

    def capture(self, label: str) -> Capture:
        """The moments of one checkpoint."""
        self._require_captures()
        folder = self.folder / "checkpoints" / label
        if not (folder / "moments.safetensors").is_file():
            there = self._captures()
            if not there:
                raise SystemError(f"{folder}: holds no moments.safetensors; results of `ropewalk run` keep one for every checkpoint")
            raise UsageError(f"{self.folder}: holds no capture of '{label}'; there are {', '.join(there)}")
        return Capture.open(folder)

    def _captures(self) -> list[str]:
        """Labels of the checkpoints that have one, in the order of the run."""
        return [label for label in self.checkpoints["label"] if (self.folder / "checkpoints" / label / "moments.safetensors").is_file()]

    def jackknife(self, statistic: Statistic) -> pandas.DataFrame:
        """Your own statistic of every head and checkpoint, with its standard error.

        `statistic` takes a HeadMoments and gives a number, or a dict of numbers. It is called with the moments of all documents, then without
        each block of documents. Checkpoints without a capture are left out. Columns: value and se, or NAME and NAME_se.
        """
        import pandas

        self._require_captures()
        rows: list[dict[str, Any]] = []
        labels = self._captures()
        if not labels:
            raise SystemError(f"{self.folder / 'checkpoints'}: holds no captures; results of `ropewalk run` keep one for every checkpoint")
        for label in labels:
            rows += [{"checkpoint": label, **row} for row in _jackknife.of_capture(self.capture(label), statistic)]
        return pandas.DataFrame(rows)

    def difference(self, a: str, b: str, statistic: Statistic) -> pandas.DataFrame:
        """What your own statistic is at checkpoint `b` less what it is at `a`, for every head.

        Errors are those of the paired difference where both read the same documents (`paired` 1), else both errors are joined as independent.
        """
        import pandas

        return pandas.DataFrame(_jackknife.of_difference(self.capture(a), self.capture(b), statistic, self._paired(a, b)))

    def _require_captures(self) -> None:
        if self._without_captures:
            raise UsageError(self._without_captures)

    def _paired(self, a: str, b: str) -> bool | None:
        """What changes.csv says of two checkpoints. A run knows its whole documents, captures what they were cut to."""
        if not self._files.beside("changes.csv").is_file():
            return None
        changes = self._files.frame("changes")
        found = changes.paired[(changes["from"].isin((a, b))) & (changes["to"].isin((a, b)))]
        return bool(found.iloc[0]) if len(found) else None

    def __repr__(self) -> str:
        try:
            return _views.text_of(self.folder, self.summary)
        except (InputError, SystemError, KeyError, TypeError, AttributeError):
            return f"<ropewalk.Study {self.path}>"

    def _repr_html_(self) -> str | None:
        try:
            return _views.html_of(self.folder, self.summary)
        except (InputError, SystemError, KeyError, TypeError, AttributeError):
            return None
