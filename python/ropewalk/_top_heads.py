"""The heads of a study to look at first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _tables
from ._study_files import EFFECTS, StudyFiles
from .errors import UsageError

if TYPE_CHECKING:
    import pandas


def with_effects(files: StudyFiles, heads: pandas.DataFrame) -> pandas.DataFrame:
    """The same with what edits cost, where there were any."""
    if not all(files.beside(name).is_file() for name in EFFECTS):
        return heads
    table, sets = files.once("effects", lambda: [_tables.convert(_tables.read(files.beside(name)), "pandas") for name in EFFECTS])
    members = {(one.checkpoint, one.set): set(one.members.split(",")) for one in sets[sets.draw.isna()].itertuples()}

    def of(line: Any) -> list[dict[str, Any]]:
        wanted = {f"{line.layer}.{head}" for head in line.q_heads}
        holding = [(len(found), name) for (checkpoint, name), found in members.items() if checkpoint == line.to and wanted <= found]
        rows = table[(table.checkpoint == line.to) & (table["set"] == min(holding)[1])] if holding else table.head(0)
        found: list[dict[str, Any]] = rows.to_dict("records")
        return found

    return heads.assign(loss_effects=[of(line) for line in heads.itertuples()])


def top_by(files: StudyFiles, by: str) -> pandas.DataFrame:
    """By the effect on one statistic of changes.csv at the last checkpoint that was trained."""
    changes = files.frame("changes")
    if by not in set(changes.statistic):
        raise UsageError(f"by: found {by!r}, expected a statistic of changes.csv, such as 'r2cv_q'")
    summary = files.once("summary", files.summary)
    trained = [one["label"] for one in summary["checkpoints"] if not one.get("random")]
    last = (changes.to == trained[-1]) & changes.kind.isin(("baseline", "whole"))
    found = changes[last & (changes.statistic == by) & ~changes.flag.fillna("").isin(("axis_changed", "other_context"))]
    found = found.assign(score=(found.effect.abs() - found.effect_se.fillna(0)).clip(lower=0).fillna(0), changed=found.changed == 1)
    found = found.sort_values(["score", "layer", "q_head"], ascending=[False, True, True], kind="stable").drop_duplicates(["layer", "q_head"])
    keys = found.kv_head.fillna(-1 - found.q_head)  # where nobody knows, each head has its own
    lines = found.assign(keys=keys).groupby(["layer", "keys", "change", "score"], sort=False, dropna=False)
    found = lines.head(1).assign(q_heads=lines.q_head.agg(list).tolist())
    columns = ["layer", "q_head", "q_heads", "score", "statistic", "from", "to", "change", "change_se", "effect", "effect_se", "changed"]
    frame: pandas.DataFrame = found[columns].rename(columns={"change_se": "se"})
    return frame
