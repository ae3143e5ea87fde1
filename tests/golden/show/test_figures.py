"""Figures: every number drawn against pandas, every mark against the specification, odd tables."""

import json
import struct

import numpy as np
import pandas
import pytest

import drawn
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
    # Each line is between the names of the phases that it separates.
    positions = [svg.position(text)[0] for text in svg.marks("phases")]
    for i, line in enumerate(separators[: len(expected) - 1]):
        assert positions[i] < svg.position(line)[0] < positions[i + 1]


def test_taxonomy_drawing(run):
    svg, rows = run.svg("taxonomy"), run.rows("taxonomy", "segments")
    assert svg.texts("role-legend-label") == synthetic.CLASSES
    segments = svg.marks("segments")
    palette = run.layer("taxonomy", "segments")["encoding"]["color"]["scale"]["range"]
    assert drawn.colors(segments) == palette * len(run.labels)
    # Blue, indigo, pink, green, grey, which also differ in lightness.
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
        # Thresholds: r_q at 0.3 and 0.7; r_k at plus and minus these.
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
    """If all heads are at their cell's published mean, the grids and the means are the published ones."""
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
