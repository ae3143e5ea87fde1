"""Figures of unusual tables, of files that are not tables, and on machines that lack something."""

import json
import os
import sys

import numpy as np
import pandas
import pytest

import drawn
import engine
import synthetic_run as synthetic
from figure_run import FIGURES, Run, check_texts, draw, near


def odd_tables():
    demo = synthetic.demo_like(baseline=False)
    first = demo[demo.checkpoint == "s1000"]
    holes = demo.copy()
    holes.loc[holes.index % 7 == 0, "r_q"] = np.nan
    holes.loc[holes.checkpoint == "s3000", ["r_q", "r_k", "explained_variance"]] = np.nan
    rename = lambda names: demo.assign(checkpoint=demo.checkpoint.map(dict(zip(demo.checkpoint.unique(), names))))
    many = [demo[demo.checkpoint == f"s{1000 * (i % 10 + 1)}"].assign(
                checkpoint=f"checkpoint-{1000 * i:06}", order=i, phase=f"phase {i // 9} with a long name") for i in range(40)]  # fmt: skip
    minimal = demo[["checkpoint", "layer", "q_head", "pc", "r_q", "r_k"]]
    return {
        "one_checkpoint": first,
        "one_head": demo[(demo.layer == 2) & (demo.q_head == 3)],
        "one_number": first[(first.layer == 0) & (first.q_head == 0) & (first.pc == 0)],
        "two_checkpoints": demo[demo.order < 2],
        "holes": holes,
        "hostile_labels": rename(["<script>alert(1)</script>", 'a "quoted", label', "&amp;", "tab\there", "two\nlines",
                                  "位置", "x'; labels[0]", "{{y}}", "-", "back\\slash"]),  # fmt: skip
        "long_labels": rename([f"a-very-long-label-of-a-checkpoint-{'y' * 120}-{i}" for i in range(10)]),
        "long_phases": demo.assign(phase=demo.phase + " in which a great deal happens, all of it of some importance"),
        "forty": pandas.concat(many),
        "negative": demo.assign(r_k=-demo.r_k.abs(), r_q=-demo.r_q),
        "minimal": minimal,
        "other_names": minimal.rename(columns={"checkpoint": "model", "q_head": "head"}),
        "only_baseline": first.assign(flag="random_weights"),
    }  # fmt: skip


ODD = odd_tables()


@pytest.mark.parametrize("name", ODD)
def test_odd_tables(tmp_path, name):
    table = ODD[name]
    path = tmp_path / "qk.csv"
    table.to_csv(path, index=False, lineterminator="\r\n" if name == "minimal" else "\n", encoding="utf-8-sig" if name == "minimal" else "utf-8")
    result = draw(path, tmp_path / "out", "--format", "svg")
    assert result.code == 0, result.stderr
    drawings = {path.stem: drawn.Drawing(path) for path in (tmp_path / "out").glob("*.svg")}
    assert set(drawings) == set(FIGURES) - ({"explained_variance"} if "explained_variance" not in table else set())
    for svg in drawings.values():
        check_texts(svg)
        assert svg.width < 900 and svg.height < 900
    if name == "hostile_labels":
        assert drawings["taxonomy"].texts("role-axis-label")[0].startswith("<script>al")
        assert b"<script" not in (tmp_path / "out" / "taxonomy.svg").read_bytes()
    if name == "holes":
        assert "checkpoint 's3000' has 0 heads" in result.stderr
    if name == "one_checkpoint":
        assert len(drawings["position_signal"].marks("bands")) == 2


def test_sums_leave_out_missing_values(tmp_path):
    table = ODD["holes"]
    table.to_csv(tmp_path / "qk.csv", index=False)
    assert draw(tmp_path / "qk.csv", tmp_path, "--format", "json").code == 0
    rows = json.loads((tmp_path / "position_signal.vl.json").read_text())["datasets"]["means"]
    for row in rows:
        heads = table[(table.pc == 0) & (table.checkpoint == row["checkpoint"])].dropna(subset=["r_q", "r_k"])
        column = {"mean r_q (queries)": heads.r_q, "mean r_k (keys)": heads.r_k, "mean |r_k|": heads.r_k.abs()}[row["series"]]
        assert row["heads"] == len(heads) and row["mean"] == (near(column.mean()) if len(heads) else None)


def test_names_that_every_object_has(tmp_path):
    """In a former version, a panel with this name was empty, and so was the whole figure."""
    table = tmp_path / "qk.csv"
    table.write_text("checkpoint,layer,q_head,pc,r_q,r_k\nA,0,0,0,.5,.4\nconstructor,0,0,0,.8,-.9\n__proto__,0,0,0,.8,-.9\n")
    assert draw(table, tmp_path / "out", "--format", "png").code == 0
    with open(tmp_path / "out" / "phase_portraits.png", "rb") as file:
        header = file.read(24)
    assert int.from_bytes(header[16:20], "big") > 1000


def test_portraits_can_be_chosen(tmp_path):
    path = synthetic.write(synthetic.demo_like(), tmp_path)
    assert draw(path, tmp_path / "out", "--format", "json", "--portraits", "init,s5000", "--title", "A run").code == 0
    spec = json.loads((tmp_path / "out" / "phase_portraits.vl.json").read_text())
    assert [panel["title"]["text"] for panel in spec["concat"]] == ["init", "s5000"]
    assert spec["title"]["text"].startswith("A run · ")
    wrong = draw(path, tmp_path / "out", "--portraits", "s5001")
    assert wrong.code == 2 and "s5001" in wrong.stderr and "s5000" in wrong.stderr


def test_figures_of_an_earlier_drawing_are_named(tmp_path):
    """They are not shown as figures of the current table."""
    path, out = synthetic.write(synthetic.smollm3_like(), tmp_path), tmp_path / "figures"
    first = engine.run("figures", path, "--out", out, "--statistic", "r_k", "--format", "svg")
    assert first.code == 0 and "drawn earlier" not in first.stderr, first.stderr
    (out / "notes.txt").write_text("not ours")
    drawn = {file.name for file in out.iterdir()}
    second = engine.run("figures", path, "--out", out, "--format", "png")
    assert engine.run("figures", path, "--out", tmp_path / "fresh", "--format", "png").code == 0
    older = drawn - {file.name for file in (tmp_path / "fresh").iterdir()} - {"notes.txt"}
    assert {name.partition(".")[2] for name in older} == {"svg", "vl.json"}
    (line,) = [line for line in second.stderr.splitlines() if "drawn earlier" in line]
    said = line.split("also holds ")[1].split(" that were drawn earlier")[0].split(", ")
    assert set(said) == older


def test_another_tables_summary(tmp_path):
    """In the table's folder, it is ignored with a warning. Named on the command line, it is an error."""
    path = synthetic.write(synthetic.demo_like(), tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    summary["mean_r_k"]["s3000"]["value"] += 0.01
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    beside = draw(path, tmp_path / "out", "--format", "json")
    assert beside.code == 0 and "warning" in beside.stderr and "mean_r_k of 's3000'" in beside.stderr
    assert all(row["se"] is None for row in Run(path, tmp_path / "out").rows("position_signal", "means"))
    named = draw(path, tmp_path / "other", "--format", "json", "--summary", tmp_path / "summary.json")
    assert named.code == 3 and "belongs to another table" in named.stderr and not (tmp_path / "other").exists()


def test_bad_tables(tmp_path):
    path = synthetic.write(synthetic.demo_like(), tmp_path)
    text = path.read_text()
    for wrong, expected in [
        (text.replace("r_k,", "rk,", 1), "column 'r_k' is missing"),
        (text.replace("\ndemo,", "\ndemo,extra,", 1), "line 2: has 22 fields; expected 21"),
        ("", "is empty"),
    ]:
        path.write_text(wrong)
        result = draw(path, tmp_path / "out")
        assert result.code == 3 and expected in result.stderr and result.stderr.count("\n") == 1
        assert not (tmp_path / "out").exists()
    assert draw(tmp_path / "none.csv", tmp_path / "out").code == 4
    assert draw(path, tmp_path / "out", "--format", "gif").code == 2


def test_without_vl_convert(tmp_path):
    path = synthetic.write(synthetic.demo_like(), tmp_path)
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    result = draw(path, tmp_path / "out", "--quiet", environment={"ROPEWALK_PYTHON": str(bare), "PYTHONPATH": ""})
    assert result.code == 4 and "pip install vl-convert-python" in result.stderr and result.stderr.count("\n") == 1
    assert {file.name for file in (tmp_path / "out").iterdir()} == {f"{name}.vl.json" for name in FIGURES}


def test_a_local_module_is_not_imported(tmp_path):
    """A json.py in the working folder belongs to the user and is not imported."""
    path = synthetic.write(synthetic.demo_like(), tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        assert draw(path, tmp_path / "out", "--format", "svg").code == 0
    finally:
        os.chdir(here)


def test_disk_full(tmp_path):
    path = synthetic.write(synthetic.demo_like(), tmp_path)
    result = draw(path, tmp_path / "out", before=engine.limit_files(60_000))
    assert result.code == 4 and "cannot write" in result.stderr
    for file in (tmp_path / "out").iterdir():
        assert not file.name.startswith("."), "nothing half-written is left"
