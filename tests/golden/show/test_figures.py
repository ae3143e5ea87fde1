"""Figures: every number drawn against pandas, every mark against the specification, odd tables."""

import json
import os
import struct
import sys

import numpy as np
import pandas
import pytest

import drawn
import engine
import synthetic_run as synthetic
from figure_run import FIGURES, Run, check_texts, draw, linear, near

PUBLISHED = synthetic.REFERENCE
BLUE, RED = "#17498f", "#e0503f"
RUNS = {"smollm3": synthetic.smollm3_like, "demo": synthetic.demo_like}


@pytest.fixture(scope="module", params=RUNS)
def run(request, tmp_path_factory):
    root = tmp_path_factory.mktemp(request.param)
    table = synthetic.write(RUNS[request.param](), root)
    result = draw(table, root / "figures", "--quiet")
    assert result.code == 0 and result.stderr == "", result.stderr
    return Run(table, root / "figures")


def test_files(run):
    files = {path.name for path in run.out.iterdir()}
    assert files == {f"{name}.{form}" for name in FIGURES for form in ("vl.json", "png", "svg", "pdf")}
    for name in FIGURES:
        svg = run.svg(name)
        png = (run.out / f"{name}.png").read_bytes()
        assert png.startswith(b"\x89PNG") and png.endswith(b"IEND\xaeB`\x82")
        assert struct.unpack(">II", png[16:24]) == (2 * svg.width, 2 * svg.height)
        assert (run.out / f"{name}.pdf").read_bytes().startswith(b"%PDF-")
        assert "/v6" in run.spec(name)["$schema"]


def test_position_signal_numbers(run):
    rows = run.rows("position_signal", "means")
    measures = {
        "mean r_q (queries)": ("mean_r_q", lambda t: t.r_q),
        "mean r_k (keys)": ("mean_r_k", lambda t: t.r_k),
        "mean |r_k|": ("mean_abs_r_k", lambda t: t.r_k.abs()),
    }
    assert [(row["series"], row["checkpoint"]) for row in rows] == [(s, c) for s in measures for c in run.labels]
    for row in rows:
        key, column = measures[row["series"]]
        values = column(run.heads(row["checkpoint"]))
        se = run.summary[key][row["checkpoint"]]["se"]
        assert row["mean"] == near(values.mean()) and row["sd"] == near(values.std(ddof=1))
        assert row["se"] == se and row["heads"] == len(values)
        if row["full"]:
            expected = [max(values.mean() - values.std(), -1), min(values.mean() + values.std(), 1), values.mean() - se, values.mean() + se]
            assert [row[k] for k in ("band_low", "band_high", "se_low", "se_high")] == near(expected)


def test_taxonomy_numbers(run):
    rows = run.rows("taxonomy", "segments")
    assert [(row["checkpoint"], row["class"]) for row in rows] == [(c, k) for c in run.labels for k in synthetic.CLASSES]
    for label in run.labels:
        heads, top = run.heads(label), 0
        for row in (row for row in rows if row["checkpoint"] == label):
            fraction = (heads["class"] == row["class"]).mean()
            assert row["fraction"] == near(fraction) and row["heads"] == (heads["class"] == row["class"]).sum()
            assert [row["from"], row["to"]] == near([top, top + fraction])
            assert row["se"] == run.summary["taxonomy"][label][row["class"]]["se"]
            top += fraction
        assert top == near(1)
    for row in run.rows("taxonomy", "bars"):
        leaf = run.summary["taxonomy"][row["checkpoint"]]["position-dominated"]
        assert row["se"] == leaf["se"] and row["fraction"] == near(leaf["value"])
    for row in run.rows("taxonomy", "numbers"):
        inside = [s for s in rows if s["x"] == row["x"] and s["from"] < row["y"] < s["to"]]
        assert len(inside) == 1 and abs(float(row["text"]) - 100 * inside[0]["fraction"]) <= 0.5 + 1e-9


@pytest.mark.parametrize("name, column", [("depth_r_q", "r_q"), ("depth_r_k", "r_k")])
def test_depth_numbers(run, name, column):
    rows = run.rows(name, "cells")
    assert [(row["checkpoint"], row["bin"]) for row in rows] == [(c, b) for c in run.labels for b in range(10)]
    for row in rows:
        heads = run.heads(row["checkpoint"])
        inside = heads[heads.layer.map(lambda layer: synthetic.depth_bin(layer, run.last)) == row["bin"]][column]
        leaf = run.summary[name][row["checkpoint"]][row["bin"]]
        assert row["heads"] == len(inside) > 0 and row["value"] == near(inside.mean()) and row["se"] == leaf["se"]
        assert abs(float(row["text"].replace("−", "-")) - row["value"]) <= 0.005 + 1e-9


def test_portrait_numbers(run):
    spec = run.spec("phase_portraits")
    six = [run.run_labels[round(i * (len(run.run_labels) - 1) / 5)] for i in range(6)]
    assert [panel["title"]["text"] for panel in spec["concat"]] == six
    for i, label in enumerate(six):
        rows = pandas.DataFrame(spec["datasets"][f"heads {i}"])
        heads = run.heads(label).sort_values(["layer", "q_head"]).reset_index()
        for column in ("layer", "q_head", "class"):
            assert rows[column].tolist() == heads[column].tolist()
        assert rows.r_q.tolist() == near(heads.r_q.tolist()) and rows.r_k.tolist() == near(heads.r_k.tolist())
        assert rows.position.tolist() == ["RoPE" if rope else "NoPE" for rope in heads.rope]


def test_explained_variance_numbers(run):
    for row in run.rows("explained_variance", "means"):
        values = run.heads(row["checkpoint"]).explained_variance
        assert [row["mean"], row["sd"]] == near([values.mean(), values.std(ddof=1)])
        assert row["se"] == run.summary["pc0_explained_variance"][row["checkpoint"]]["se"]
    spectrum = run.table.groupby(["checkpoint", "pc"]).explained_variance.mean()
    rows = run.rows("explained_variance", "spectrum")
    assert len(rows) == len(spectrum)
    for row in rows:
        assert row["share"] == near(spectrum[row["checkpoint"], row["pc"]])
        assert row["to"] - row["from"] == near(row["share"])


def test_position_signal_drawing(run):
    svg, rows = run.svg("position_signal"), run.rows("position_signal", "means")
    n = len(run.run_labels)
    assert svg.texts("role-legend-label") == ["mean r_q (queries)", "mean r_k (keys)", "mean |r_k|"]
    assert set(run.labels) <= set(svg.texts("role-axis-label")) and "0.0" in svg.texts("role-axis-label")
    assert svg.texts("role-axis-title") == ["correlation with token position"]
    assert "Position correlation on PC0" in svg.texts("role-title-text")[0]
    assert f"{len(run.heads(run.labels[0]))} heads" in svg.texts("role-title-subtitle")[0]

    markers = svg.marks("markers")
    in_run = [row for row in rows if row["full"] and row["checkpoint"] in run.run_labels]
    assert drawn.colors(markers) == [BLUE] * n + [RED] * n
    assert all("A" in m.get("d") for m in markers[:n]) and not any("A" in m.get("d") for m in markers[n:])  # circles, squares
    assert linear([svg.position(m)[1] for m in markers], [row["mean"] for row in in_run]) < 0
    assert linear([svg.position(m)[0] for m in markers], [row["x"] for row in in_run]) > 0
    bands = [band for group in svg.groups("bands_marks") for band in group]
    assert drawn.colors(bands) == [BLUE, RED]
    assert all(band.get("d").count("L") >= 2 * n - 2 for band in bands)
    assert len(svg.marks("bars")) == 2 * len(run.labels)
    lines = [svg.marks(f"line_{name}")[0] for name in ("mean_r_q__queries_", "mean_r_k__keys_", "mean__r_k_")]
    assert drawn.colors(lines, "stroke") == [BLUE, RED, RED]
    widths = [float(line.get("stroke-width")) for line in lines]
    assert widths[2] < widths[1] / 1.5
    assert len(svg.marks("baseline_lines")) == len(svg.marks("baseline_markers")) == 2 * len(run.baselines)
    for line in svg.marks("baseline_lines"):
        assert line.get("stroke-dasharray")


@pytest.mark.parametrize("name", ["position_signal", "taxonomy", "explained_variance"])
def test_phases_are_separated_and_named(run, name):
    svg = run.svg(name)
    phases = [phase for phase in dict.fromkeys(run.table.sort_values("order").phase) if phase]
    expected = ["baseline"] * bool(run.baselines) + phases
    named = [drawn.shown(text) for text in svg.marks("phases") if drawn.shown(text)]
    assert named == expected
    separators = svg.marks("separators")
    panels = 2 if name == "explained_variance" else 1
    assert len(separators) == panels * (len(expected) - 1)
    assert all(line.get("stroke-dasharray") for line in separators)
    # Each between the names it separates.
    positions = [svg.position(text)[0] for text in svg.marks("phases")]
    for i, line in enumerate(separators[: len(expected) - 1]):
        assert positions[i] < svg.position(line)[0] < positions[i + 1]


def test_taxonomy_drawing(run):
    svg, rows = run.svg("taxonomy"), run.rows("taxonomy", "segments")
    assert svg.texts("role-legend-label") == synthetic.CLASSES
    segments = svg.marks("segments")
    palette = run.layer("taxonomy", "segments")["encoding"]["color"]["scale"]["range"]
    assert drawn.colors(segments) == palette * len(run.labels)
    # Blue, indigo, pink, green, grey, told apart by lightness too.
    light = [drawn.lightness(color) for color in palette]
    assert min(abs(a - b) for i, a in enumerate(light) for b in light[i + 1 :]) > 4
    assert min(abs(a - b) for a, b in zip(light, light[1:])) > 12
    ticks = [text for text in svg.texts("role-axis-label") if text not in run.labels]
    assert ticks == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert set(run.labels) <= set(svg.texts("role-axis-label"))
    heights = [float(segment.get("d").split("v")[1].split("h")[0].split("Z")[0]) for segment in segments]
    linear(heights, [row["fraction"] for row in rows])


@pytest.mark.parametrize("name, first, last", [("depth_r_q", "#f7fbff", "#08306b"), ("depth_r_k", "#fff5f0", "#67000d")])
def test_depth_drawing(run, name, first, last):
    svg, rows = run.svg(name), run.rows(name, "cells")
    scale = run.layer(name, "cells")["encoding"]["color"]["scale"]
    zero = scale["domain"].index(0)
    assert (scale["domain"][-1], scale["clamp"], scale["range"][zero], scale["range"][-1]) == (1, True, first, last)
    assert (scale["domain"][0] < 0) == (min(row["value"] for row in rows) < -0.005)
    cells, numbers = svg.marks("cells"), svg.marks("numbers")
    assert len(cells) == len(numbers) == 10 * len(run.labels)
    order = np.argsort([abs(row["value"]) for row in rows if row["value"] >= 0])
    light = [drawn.lightness(color) for color, row in zip(drawn.colors(cells), rows) if row["value"] >= 0]
    assert all(light[a] >= light[b] - 0.5 for a, b in zip(order, order[1:]))  # darker means more
    assert [drawn.shown(text) for text in numbers] == [row["text"] for row in rows]
    for cell, text in zip(drawn.colors(cells), drawn.colors(numbers)):
        assert drawn.contrast(cell, text) >= 4
    labels = svg.texts("role-axis-label")
    assert [text for text in labels if text in run.labels] == run.labels
    tops = [svg.position(text)[1] for text in numbers[::10]]
    assert tops == sorted(tops)  # the run goes down the page
    assert sum(text.startswith("0.3–0.4") for text in labels) == 1
    assert svg.texts("role-legend-title") == [f"mean {name[6:]} on PC0" + " (teal: below 0)" * (scale["domain"][0] < 0)]


def test_portrait_drawing(run):
    svg, spec = run.svg("phase_portraits"), run.spec("phase_portraits")
    assert svg.texts("role-legend-label") == [*synthetic.CLASSES, "RoPE", "NoPE"]
    corners = []
    for i in range(6):
        heads = spec["datasets"][f"heads {i}"]
        points = svg.marks(f"heads_{i}")
        assert len(points) == len(heads)
        for name, field, low, high in [("x", "r_q", -0.05, 1.05), ("y", "r_k", -1.05, 1.05)]:
            assert spec["concat"][i]["layer"][2]["encoding"][name]["scale"]["domain"] == [low, high]
            linear([svg.position(point)["xy".index(name)] for point in points], [head[field] for head in heads])
        hollow = [float(point.get("fill-opacity")) == 0 for point in points]
        assert hollow == [head["position"] == "NoPE" for head in heads]
        # Thresholds: r_q at 0.3 and 0.7, r_k at plus and minus both.
        rules = [svg.marks(f"panel_{i}_layer_{j}") for j in (0, 1)]
        assert [len(r) for r in rules] == [2, 4] and all(rule.get("stroke-dasharray") for r in rules for rule in r)
        corners.append(tuple(round(c) for c in svg.position(svg.groups(f"panel_{i}_group")[0][0])))
    assert len({x for x, _ in corners}) == 3 and len({y for _, y in corners}) == 2


def test_explained_variance_drawing(run):
    svg = run.svg("explained_variance")
    assert len(svg.marks("markers")) == len(run.run_labels)
    assert len(svg.marks("spectrum")) == 10 * len(run.labels)
    assert svg.texts("role-legend-label") == [f"PC{i}" for i in range(10)]
    rows = [row for row in run.rows("explained_variance", "means") if row["checkpoint"] in run.run_labels]
    linear([svg.position(m)[1] for m in svg.marks("markers")], [row["mean"] for row in rows])


@pytest.mark.parametrize("name", FIGURES)
def test_texts_are_inside(run, name):
    check_texts(run.svg(name))


def test_published_grids(tmp_path):
    """Heads that all sit at their cell's published mean give the published grids, and the published means."""
    heads = synthetic.seed_0_heads()
    rows = [
        {"checkpoint": c["label"], "phase": c["phase"], "layer": layer, "q_head": head, "pc": 0,
         "r_q": PUBLISHED["depth_r_q"][c["label"]][synthetic.depth_bin(layer, 35)],
         "r_k": PUBLISHED["depth_r_k"][c["label"]][synthetic.depth_bin(layer, 35)]}
        for c in PUBLISHED["checkpoints"] for layer, head in heads
    ]  # fmt: skip
    table = tmp_path / "qk.csv"
    pandas.DataFrame(rows).to_csv(table, index=False)
    result = draw(table, tmp_path, "--format", "json")
    assert result.code == 0 and "no standard errors" in result.stderr
    for name in ("depth_r_q", "depth_r_k"):
        cells = json.loads((tmp_path / f"{name}.vl.json").read_text())["datasets"]["cells"]
        grid = {label: [c["text"] for c in cells if c["checkpoint"] == label] for label in PUBLISHED[name]}
        assert grid == {label: [f"{v:.2f}" for v in values] for label, values in PUBLISHED[name].items()}
        counts = [c["heads"] for c in cells[:10]]
        assert counts == [30, 38, 20, 26, 25, 41, 17, 38, 26, 39]
    means = json.loads((tmp_path / "position_signal.vl.json").read_text())["datasets"]["means"]
    for key, series in [("mean_r_q", "mean r_q (queries)"), ("mean_r_k", "mean r_k (keys)")]:
        found = {row["checkpoint"]: row["mean"] for row in means if row["series"] == series}
        for label, value in PUBLISHED[key].items():
            assert found[label] == pytest.approx(value, abs=0.005), (key, label)


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
    """A panel called so was empty, and so was the whole figure."""
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
    """Nobody takes them for those of the table at hand."""
    path, out = synthetic.write(synthetic.smollm3_like(), tmp_path), tmp_path / "figures"
    first = engine.run("figures", path, "--out", out, "--statistic", "r_k", "--format", "svg")
    assert first.code == 0 and "earlier drawing" not in first.stderr, first.stderr
    (out / "notes.txt").write_text("not ours")
    drawn = {file.name for file in out.iterdir()}
    second = engine.run("figures", path, "--out", out, "--format", "png")
    assert engine.run("figures", path, "--out", tmp_path / "fresh", "--format", "png").code == 0
    older = drawn - {file.name for file in (tmp_path / "fresh").iterdir()} - {"notes.txt"}
    assert {name.partition(".")[2] for name in older} == {"svg", "vl.json"}
    (line,) = [line for line in second.stderr.splitlines() if "earlier drawing" in line]
    said = line.split("also holds ")[1].split(" of an earlier")[0].split(", ")
    assert set(said) == older


def test_another_tables_summary(tmp_path):
    """Beside the table: left aside with a warning. Named: an error."""
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
        (text.replace("r_k,", "rk,", 1), "lacks a column 'r_k'"),
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
    """A json.py in the working folder is somebody's own file."""
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


def test_compare(tmp_path):
    path = synthetic.write(synthetic.smollm3_like(), tmp_path)
    reference = tmp_path / "reference.json"
    shorter = {key: dict(value) if isinstance(value, dict) else value for key, value in PUBLISHED.items()}
    shorter["mean_r_q"]["elsewhere"] = 0.5
    reference.write_text(json.dumps(shorter))
    result = engine.run("compare", path, "--reference", reference)
    assert result.code == 0, result.stderr
    text = result.stdout
    pc0 = pandas.read_csv(path)
    pc0 = pc0[pc0.pc == 0]
    summary = json.loads((tmp_path / "summary.json").read_text())
    section = text.split("mean_r_q\n")[1].split("\n\n")[0].splitlines()[1:]
    assert len(section) == 4 + 2
    for line in section[:4]:
        label, value, se, published, difference, in_se = line.split()
        mean = pc0[pc0.checkpoint == label].r_q.mean()
        error = summary["mean_r_q"][label]["se"]
        assert float(value) == pytest.approx(mean, abs=5.1e-4) and float(se) == pytest.approx(error, abs=5.1e-4)
        assert float(published) == PUBLISHED["mean_r_q"][label]
        assert float(difference) == pytest.approx(mean - PUBLISHED["mean_r_q"][label], abs=5.1e-4)
        assert float(in_se) == pytest.approx((mean - PUBLISHED["mean_r_q"][label]) / error, abs=0.051)
    assert "  only in the reference: elsewhere\n" in text
    assert "  only in the run: S1-2.4M, S1-3.4M, S2-4.2M, LC1-4K, LC1-20K, LC2-4K\n" in text
    assert "-0.00 " not in text
    assert text.count("over 100 cells") == 2
    assert "position-dominated" in text and "depth_r_k" in text
    # Another run's summary serves as a reference: this one's own differs by nothing.
    own = engine.run("compare", path, "--reference", tmp_path / "summary.json").stdout
    assert own.count("largest 0.000") == 3 and "only in" not in own


def test_compare_with_the_published_drift_plane(tmp_path):
    path = synthetic.write(synthetic.smollm3_like(), tmp_path)
    published = PUBLISHED["mean_abs_alpha_k"]
    heads = pandas.read_csv(path).query("pc == 0")[["checkpoint", "layer", "q_head"]]
    drawn_numbers = np.random.default_rng(4).normal(0, 0.002, len(heads))
    heads = heads.assign(alpha_k=drawn_numbers, bias_strength=drawn_numbers**2, r_k_a=np.tanh(900 * drawn_numbers))
    heads.to_csv(tmp_path / "heads.csv", index=False)
    reference = synthetic.REFERENCE_PATH
    text = engine.run("compare", path, "--reference", reference).stdout
    lines = text.split("mean_abs_alpha_k\n")[1].split("\n\n")[0].splitlines()[1:]
    assert len(lines) == len(published) == 10
    for line in lines:
        label, value, _, stated, difference, _ = line.split()
        mean = heads[heads.checkpoint == label].alpha_k.abs().mean()
        assert float(value) == pytest.approx(mean, abs=5.1e-6) and float(stated) == pytest.approx(published[label], abs=5.1e-6)
        assert float(difference) == pytest.approx(mean - published[label], abs=5.1e-6)
    table = text.split("other models, at a context of 131072 tokens\n")[1].splitlines()
    assert sorted(table[0].split()) == sorted(["context", *PUBLISHED["other_models"]["models"]["qwen3-8b"]])
    shown = dict(zip(table[0].split(), next(line for line in table if line.startswith("  qwen3-8b")).split()[1:]))
    assert {key: float(value) for key, value in shown.items()} == {"context": 131072, **PUBLISHED["other_models"]["models"]["qwen3-8b"]}
    own = dict(zip(table[0].split(), next(line for line in table if line.startswith("  LC2-20K")).split()[1:]))
    assert float(own["mean_abs_r_k_a"]) == pytest.approx(heads[heads.checkpoint == "LC2-20K"].r_k_a.abs().mean(), abs=5.1e-4)
    assert own["mean_plane_var_fraction"] == "–", "the table has no such column"
    # Without heads.csv nothing is in common with these.
    (tmp_path / "heads.csv").unlink()
    text = engine.run("compare", path, "--reference", reference).stdout
    assert "mean_r_q\n" in text and "mean_abs_alpha_k\n" not in text and "other models" not in text
    said = next(line for line in text.splitlines() if line.startswith("not compared: "))
    assert "mean_abs_alpha_k" in said and f"{tmp_path / 'heads.csv'} is not there" in said
