"""Results as Python reads them, against the program's files and numbers."""

import base64
import importlib.util
import json
import re
import shutil
import types
from xml.etree import ElementTree

import numpy as np
import pandas
import pytest
import ropewalk
from ropewalk import _views

from conftest import ropewalk as program
from study_rows import rows, study  # noqa: F401 (fixtures)


@pytest.mark.parametrize("name, file", [("components", "qk.csv"), ("heads", "heads.csv"), ("bands", "bands.csv"), ("curves", "curves.csv")])
def test_tables_are_the_files(study, folder, name, file):
    frame, expected = getattr(study, name), rows(folder / file)
    assert list(frame.columns) == list(expected[0]) and len(frame) == len(expected)
    for column in frame.columns:
        texts = [row[column] for row in expected]
        if pandas.api.types.is_numeric_dtype(frame[column].dtype):
            found = frame[column].to_numpy(dtype=float, na_value=np.nan)
            np.testing.assert_array_equal(found, [float(text) if text else np.nan for text in texts], err_msg=column)
        else:
            assert list(frame[column]) == texts, column


def test_columns_have_their_types(study):
    heads, components = study.heads, study.components
    assert heads.dtypes["layer"] == components.dtypes["pc"] == "int64"
    assert heads.dtypes["kv_head"] == heads.dtypes["rope"] == pandas.Int64Dtype()
    assert heads.dtypes["r2cv_q"] == heads.dtypes["r2cv_q_se"] == "float64"
    assert set(components["class"]) <= {"position-dominated", "q-positional", "k-positional", "content-focused", "mixed"}
    assert study.heads is heads, "a table is read once"


def test_other_kinds_of_tables(study, monkeypatch):
    arrow = study.table("heads", "arrow")
    assert arrow.num_rows == len(study.heads) and str(arrow.schema.field("layer").type) == "int64"
    monkeypatch.setitem(__import__("sys").modules, "polars", types.SimpleNamespace(from_arrow=lambda table: ("polars", table.num_rows)))
    assert study.table("heads", "polars") == ("polars", arrow.num_rows)
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(ropewalk.UsageError, match="polars is not installed"):
        study.table("heads", "polars")
    with pytest.raises(ropewalk.UsageError, match="pandas, polars or arrow"):
        study.table("heads", "excel")
    with pytest.raises(ropewalk.UsageError, match="'tails' is no table"):
        study.table("tails")


def test_tables_that_were_replaced_are_read_again(study, folder, tmp_path, monkeypatch):
    """A study whose files another run replaces gives numbers of that run alone, also where it does so while they are read."""
    label = study.checkpoints["label"][0]
    ropewalk.analyze([folder / "checkpoints" / label], tmp_path / "one")
    moved = tmp_path / "moved"
    moved.mkdir()

    def put(source):
        for name in ("qk.csv", "heads.csv", "bands.csv", "curves.csv", "changes.csv", "summary.json"):
            (moved / "new").write_bytes((source / name).read_bytes())
            (moved / "new").rename(moved / name)

    put(folder)
    read = ropewalk.open(moved)
    everything = study.checkpoints["label"].tolist()
    assert list(read.heads.checkpoint.unique()) == list(read.checkpoints["label"]) == everything
    put(tmp_path / "one")
    assert list(read.checkpoints["label"]) == list(read.heads.checkpoint.unique()) == list(read.components.checkpoint.unique()) == [label]
    assert len(read.trajectory(*read.heads.loc[0, ["layer", "q_head"]])) == 1

    tables = ropewalk._study._tables
    original, puts = tables.read, [folder]

    def replaced_meanwhile(path):
        table = original(path)
        if path.name == "heads.csv" and puts:
            put(puts.pop())
        return table

    fresh = ropewalk.open(moved)
    monkeypatch.setattr(tables, "read", replaced_meanwhile)
    assert list(fresh.trajectory(*study.heads.loc[0, ["layer", "q_head"]]).checkpoint) == everything


def test_guarded_names_are_plain_again(tmp_path):
    (tmp_path / "qk.csv").write_text("model,checkpoint,layer,q_head,pc,r_q,r_k\nM,'=a,0,0,0,0.5,\nM,b,0,0,0,,0.25\nM,''=c,0,0,0,,\nM,'d,0,0,0,,\n")
    components = ropewalk.open(tmp_path).components
    assert list(components.checkpoint) == ["=a", "b", "'=c", "'d"]
    assert components.r_q[0] == 0.5 and np.isnan(components.r_k[0])


def test_summary_checkpoints_and_text(study, folder):
    assert study.summary == json.loads((folder / "summary.json").read_text())
    assert list(study.checkpoints.label) == ["init", "A", "B"] and list(study.checkpoints.random) == [True, False, False]
    lines = repr(study).splitlines()
    assert len(lines) == 5 and folder.samefile(lines[0].removeprefix("ropewalk.Study "))
    mean = study.summary["mean_r_q"]["B"]
    assert lines[4].startswith("B ") and f"{mean['value']:.3f} ± {mean['se']:.3f}" in lines[4]


def test_loss(source, study, tmp_path):
    path = source.root / "loss.yaml"
    path.write_text(json.dumps(json.loads((source.root / "study.yaml").read_text()) | {"loss": True}))
    measured = ropewalk.run(path, tmp_path / "out", format=["json"], progress=False)
    expected = rows(tmp_path / "out" / "loss.csv")
    found = measured.loss
    assert list(found.columns) == list(expected[0]) and list(found.loss) == [float(row["loss"]) for row in expected]
    whole = found[found.position.isna()].set_index("checkpoint")
    assert list(whole.index) == ["init", "A", "B"] and measured.table("loss", "arrow").num_rows == len(expected)
    assert f"{whole.loss['B']:.3f} ± {whole.loss_se['B']:.3f}" in repr(measured).splitlines()[4] and "loss" in measured.figures
    means = [row for row in measured.figure("loss").spec["datasets"]["means"] if row["checkpoint"] == "A"]
    assert [row["mean"] for row in means] == [whole.loss["A"]]
    assert "loss" not in study.figures and "loss" not in repr(study)
    with pytest.raises(ropewalk.UsageError, match="`loss: true` in an experiment"):
        study.loss  # noqa: B018
    # Of captures that hold it, analyze gives it too.
    again = ropewalk.analyze([tmp_path / "out" / "checkpoints" / label for label in ("init", "A", "B")], tmp_path / "again", progress=False)
    assert list(again.loss.loss) == list(found.loss)


def test_changes(study, folder):
    everything, expected = study.changes(fdr=None), rows(folder / "changes.csv")
    assert len(everything) == len(expected)
    changed = [row for row in expected if row["changed"] == "1"]
    assert 0 < len(study.changes()) == len(changed) < sum(row["q"] != "" and float(row["q"]) <= 0.05 for row in expected)
    assert len(study.changes(0.001)) == sum(float(row["q"]) <= 0.001 for row in changed) > 0
    assert study.changes(1e-300, kind="arrow").num_rows < len(study.changes())
    with pytest.raises(ropewalk.UsageError, match="fdr: found 'a'"):
        study.changes("a")


def test_top_heads(study, folder):
    """Against the rows of changes.csv that they are made of."""
    rows_of = pandas.read_csv(folder / "changes.csv")
    rows_of = rows_of[(rows_of.to == "B") & rows_of.kind.isin(("baseline", "whole"))]
    assert set(rows_of["from"]) == {"init", "A"}
    rows_of = rows_of.assign(score=(rows_of.effect.abs() - rows_of.effect_se).clip(lower=0).fillna(0))
    axes = rows_of.query("statistic == 'r_q_run' and kind == 'whole'").set_index(["layer", "q_head"]).flag == "axis_changed"
    expected, by_keys = {}, {}
    for row in rows_of[rows_of.statistic.isin(("r2cv_q", "r2cv_k", "logit_pos_share"))].itertuples():
        head = row.layer, row.q_head
        if (row.statistic != "logit_pos_share" or not axes[head]) and row.score > expected.get(head, -1):
            expected[head] = row.score
            by_keys[head] = row.kv_head if row.statistic == "r2cv_k" else None
    order = sorted(expected, key=lambda head: (-expected[head], head))
    lines = {}  # query heads that share the keys that changed are one
    for head in order:
        lines.setdefault((head[0], by_keys[head], axes[head]) if by_keys[head] is not None else head, []).append(head)
    assert any(len(line) > 1 for line in lines.values()), "keys that several heads share"
    heads = study.top_heads(100)
    assert [[(one.layer, head) for head in one.q_heads] for one in heads.itertuples()] == list(lines.values())
    order = [line[0] for line in lines.values()]
    assert list(zip(heads.layer, heads.q_head)) == order and np.allclose(heads.score, [expected[head] for head in order], rtol=1e-6)
    assert list(heads.axis_changed) == [axes[head] for head in order]
    assert len(study.top_heads()) == min(10, len(order)) and len(study.top_heads(3)) == 3
    for one in heads.itertuples():
        error = "<0.001" if one.se < 0.0005 else f"{one.se:.3f}"
        change = f"{one.change:+.3f}".replace("-", "−")
        assert f"at {one.to}" in one.sentence and f"({change} ± {error})" in one.sentence
        assert ("no change" in one.sentence) == (not one.changed)
    keys = study.top_heads(100, by="r2cv_k")
    best = rows_of[rows_of.statistic == "r2cv_k"].groupby(["layer", "kv_head"]).agg(score=("score", "max"), q_heads=("q_head", lambda heads: sorted(set(heads))))
    best = best.reset_index().sort_values(["score", "layer", "kv_head"], ascending=[False, True, True], kind="stable")
    assert list(zip(keys.layer, keys.q_heads, keys.score)) == list(zip(best.layer, best.q_heads, best.score))
    assert set(keys.statistic) == {"r2cv_k"} and all(one.q_head == one.q_heads[0] for one in keys.itertuples())
    for wrong in (dict(n=0), dict(by="r9"), dict(by=3)):
        with pytest.raises(ropewalk.UsageError):
            study.top_heads(**wrong)


def test_what_edits_of_top_heads_cost(study, folder, tmp_path):
    """Of the smallest set with the heads in it, of the checkpoint that they changed to."""
    shutil.copytree(folder, tmp_path / "out", ignore=shutil.ignore_patterns("checkpoints", "figures"))
    first, second = study.top_heads(2).itertuples()
    assert "loss_effects" not in study.top_heads()
    members = [f"{first.layer}.{head}" for head in first.q_heads]
    more = members + [f"{second.layer}.{head}" for head in second.q_heads]
    row = "checkpoint,set,edit,heads,dloss,dloss_se,control\n" + "".join(
        f"{label},{name},{edit},{size},{cost},0.01,0.02\n" for label, name, edit, size, cost in
        [("B", "all", "distance", len(more), 0.4), ("B", "one", "distance", len(members), 0.1), ("B", "one", "head", len(members), 0.2), ("A", "one", "head", 1, 9)])
    (tmp_path / "out" / "ablate.csv").write_text(row)
    (tmp_path / "out" / "ablate_controls.csv").write_text("checkpoint,set,edit,draw,members\n" + "".join(
        f'{label},{name},head,{draw},"{",".join(heads)}"\n' for label, name, draw, heads in
        [("B", "all", "", more), ("B", "one", "", members), ("B", "one", 1, more), ("A", "one", "", members)]))  # fmt: skip
    found = ropewalk.open(tmp_path / "out").top_heads(3).loss_effects
    assert [(one["edit"], one["dloss"]) for one in found[0]] == [("distance", 0.1), ("head", 0.2)]
    assert [(one["set"], one["dloss"]) for one in found[1]] == [("all", 0.4)] and found[2] == []


def test_trajectory(study):
    one = study.trajectory(1, 2)
    assert list(one.checkpoint) == ["init", "A", "B"] and set(one.layer) == {1} and set(one.q_head) == {2} and set(one.pc) == {0}
    heads = study.heads.query("layer == 1 and q_head == 2")
    assert list(one.r2cv_q) == list(heads.r2cv_q)
    assert len(one.columns) == len(set(one.columns)) == len(set(study.heads.columns) | set(study.components.columns))
    with pytest.raises(ropewalk.UsageError, match="no head 99 of layer 1"):
        study.trajectory(1, 99)


def test_figures_are_those_of_the_program(study, folder, tmp_path):
    program("figures", folder / "qk.csv", "--out", tmp_path, "--format", "json", "--title", "Trust", "--statistic", "pr_q", "--portrait", "r2cv_q,pr_q", "--quiet")
    of = {path.name.removesuffix(".vl.json"): json.loads(path.read_text()) for path in tmp_path.glob("*.vl.json")}
    assert set(study.figures) == {path.name.removesuffix(".vl.json") for path in (folder / "figures").glob("*.vl.json")}
    for name in study.figures:
        assert study.figure(name).spec == of[name], name
    assert study.figure("pr_q").spec == of[study.figure("pr_q").name]
    assert study.figure("pr_q", by="depth").spec == of[study.figure("pr_q", by="depth").name] != study.figure("pr_q").spec
    assert study.portrait("r2cv_q", "pr_q").spec == of[study.portrait("r2cv_q", "pr_q").name]
    with pytest.raises(ropewalk.UsageError, match="pr_qq"):
        study.figure("pr_qq")
    with pytest.raises(ropewalk.UsageError, match="expected 'training' or 'depth'"):
        study.figure("pr_q", by="height")


def test_a_figure_shows_and_saves_itself(study, tmp_path, monkeypatch):
    figure = study.figure("position_signal")
    bundle = figure._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"] is bundle["application/vnd.vegalite.v6+json"] is figure.spec
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG") and bundle["text/plain"] == repr(figure)
    with monkeypatch.context() as without:  # where nothing can draw an image
        without.setattr(importlib.util, "find_spec", lambda name: None)
        bundle = figure._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.vegalite.v5+json", "application/vnd.vegalite.v6+json", "text/plain"}
    assert bundle["text/plain"].startswith(repr(figure)) and "install vl-convert-python" in bundle["text/plain"]
    beginnings = {"pdf": b"%PDF", "png": b"\x89PNG", "svg": b"<svg"}
    for form, beginning in beginnings.items():
        assert figure.save(tmp_path / f"x.{form}").read_bytes().startswith(beginning)
    assert json.loads(figure.save(tmp_path / "x.vl.json").read_text()) == figure.spec
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.pdf", "x.png", "x.svg", "x.vl.json"]
    with pytest.raises(ropewalk.UsageError, match="expected .png, .svg, .pdf or .json"):
        figure.save(tmp_path / "x.gif")
    with pytest.raises(ropewalk.SystemError, match="there is no folder"):
        figure.save(tmp_path / "nowhere" / "x.pdf")


def test_a_study_shows_itself_in_a_notebook(study, folder, tmp_path):
    text, shown = repr(study).splitlines(), study._repr_html_()
    rows = ElementTree.fromstring(shown).findall(".//tr")
    assert [[cell.text or "" for cell in row] for row in rows] == [[part for part in re.split(r"\s{2,}", line.strip())] for line in text[1:]]
    assert folder.samefile(ElementTree.fromstring(shown).find("caption").text)
    assert list(study.checkpoints.columns[:2]) == ["label", "phase"]
    (tmp_path / "qk.csv").write_text((folder / "qk.csv").read_text())
    assert ropewalk.open(tmp_path)._repr_html_() is None, "without summary.json the text stands there"


def test_an_error_that_rounds_to_zero_is_no_certainty(folder):
    summary = {"checkpoints": [{"label": label, "heads": 4} for label in "ABC"],
               "mean_r_q": {"A": {"value": 0.5, "se": 0.0004}, "B": {"value": 0.5, "se": 0}, "C": {"value": 0.5, "se": 0.0006}}}  # fmt: skip
    lines = _views.text_of(folder, summary).splitlines()[2:]
    assert [re.split(r"\s{2,}", line)[1] for line in lines] == ["0.500 ± <0.001", "0.500", "0.500 ± 0.001"]


def test_a_wrong_label_names_the_labels(study):
    with pytest.raises(ropewalk.UsageError, match=r"holds no capture of 'C'; there are init, A, B$"):
        study.capture("C")
    with pytest.raises(ropewalk.UsageError, match=r"holds no capture of 'C'; there are init, A, B$"):
        study.difference("A", "C", lambda head: head.q.n)


def test_captures_take_another_label(study, folder, tmp_path):
    captures = {"base": folder / "checkpoints" / "A", "instruct": folder / "checkpoints" / "B"}
    renamed = ropewalk.analyze(captures, tmp_path / "pair", keep_order=True)
    assert list(renamed.checkpoints.label) == ["base", "instruct"]
    own, again = (found.heads.query(f"checkpoint == '{label}'").r2cv_q for found, label in ((study, "B"), (renamed, "instruct")))
    np.testing.assert_allclose(again, own, rtol=1e-6)
    assert set(renamed.changes(fdr=None).to) == {"instruct"}
    with pytest.raises(ropewalk.UsageError, match="expected a label"):
        ropewalk.analyze({"a=b": folder})
    with pytest.raises(ropewalk.UsageError, match="found int as 'b', expected a capture folder"):
        ropewalk.analyze({"a": folder, "b": 1})


def test_the_page_stands_in_a_frame(folder, tmp_path):
    (tmp_path / "qk.csv").write_text((folder / "qk.csv").read_text())
    (tmp_path / "report.html").write_text('<p class="x">§</p>')
    page = ropewalk.open(tmp_path).show()
    assert page.html == '<p class="x">§</p>'
    assert 'srcdoc="&lt;p class=&quot;x&quot;&gt;§&lt;/p&gt;"' in page._repr_html_()


def test_what_is_not_there(tmp_path):
    with pytest.raises(ropewalk.SystemError, match="holds no qk.csv"):
        ropewalk.open(tmp_path)
    with pytest.raises(ropewalk.SystemError, match="no such folder"):
        ropewalk.open(tmp_path / "nothing")
    (tmp_path / "qk.csv").write_text("checkpoint,layer,q_head,pc,r_q,r_k\nA,0,zero,0,1,1\n")
    study = ropewalk.open(tmp_path)
    assert str(tmp_path) in repr(study)
    with pytest.raises(ropewalk.InputError, match="zero"):
        study.components
    for ask in (lambda: study.heads, lambda: study.summary, lambda: study.changes()):
        with pytest.raises(ropewalk.SystemError, match="there is no such"):
            ask()
