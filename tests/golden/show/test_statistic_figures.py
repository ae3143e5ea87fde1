"""Figures of any statistic, portraits of any two, and depth maps with negative numbers and with few layers."""

import colorsys
import json

import numpy as np
import pandas
import pytest

import drawn
import synthetic_run as synthetic
from figure_run import FIGURES, Run, check_texts, draw, linear, near


def hue(color):
    """The hue and the saturation of a colour, both from 0 to 1."""
    h, _, s = colorsys.rgb_to_hls(*(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)))
    return h, s


def test_negative_cells_do_not_look_like_zero(tmp_path):
    """Even the smallest negative number has another hue than positive ones, and is distinguishable from 0."""
    values = [0.0, 0.004, -0.004, -0.006, -0.01, -0.1, -0.5, -0.9, 0.1, 0.5, 0.9]
    rows = [{"checkpoint": "a", "layer": 2 * i, "q_head": 0, "pc": 0, "r_q": v, "r_k": v} for i, v in enumerate(values)]
    pandas.DataFrame(rows).to_csv(tmp_path / "qk.csv", index=False)
    assert draw(tmp_path / "qk.csv", tmp_path / "out", "--format", "svg").code == 0
    for name in ("depth_r_q", "depth_r_k"):
        svg = drawn.Drawing(tmp_path / "out" / f"{name}.svg")
        texts = [drawn.shown(text) for text in svg.marks("numbers")]
        colors = dict(zip(texts, drawn.colors(svg.marks("cells"))))
        # Layers 0 and 2 of 20 share the first tenth: their mean is 0.002.
        assert texts == ["0.00", "0.00", "−0.01", "−0.01", "−0.10", "−0.50", "−0.90", "0.10", "0.50", "0.90"]
        zero = drawn.colors(svg.marks("cells"))[0]
        assert drawn.colors(svg.marks("cells"))[1] in (zero, colors["0.00"])
        for text, color in colors.items():
            if not text.startswith("−"):
                continue
            same_size = colors.get(text.removeprefix("−"), zero)
            assert abs(hue(color)[0] - hue(same_size)[0]) > 0.08, (text, color, same_size)
            assert hue(color)[1] > 0.3 and drawn.lightness(zero) - drawn.lightness(color) > 4, (text, color)
        assert drawn.lightness(colors["−0.90"]) < drawn.lightness(colors["−0.10"]) < drawn.lightness(colors["−0.01"])
        assert "below 0" in svg.texts("role-legend-title")[0]
        assert "−1.00" in svg.texts("role-legend-label")


@pytest.mark.parametrize("layers", [1, 4, 9])
def test_few_layers_have_a_column_each(tmp_path, layers):
    table = synthetic.demo_like()
    path = synthetic.write(table[table.layer < layers], tmp_path)
    assert draw(path, tmp_path / "out", "--format", "svg", "--quiet").code == 0
    run = Run(path, tmp_path / "out")
    for name, column in [("depth_r_q", "r_q"), ("depth_r_k", "r_k")]:
        rows = run.rows(name, "cells")
        assert [(row["checkpoint"], row["layer"]) for row in rows] == [(c, x) for c in run.labels for x in range(layers)]
        for row in rows:
            heads = run.heads(row["checkpoint"])
            inside = heads[heads.layer == row["layer"]][column]
            assert row["value"] == near(inside.mean()) and row["heads"] == len(inside) == 8
            assert row["se"] == run.summary[name][row["checkpoint"]][row["bin"]]["se"]
        svg = run.svg(name)
        check_texts(svg)
        assert len(svg.marks("cells")) == layers * len(run.labels)
        labels = svg.texts("role-axis-label")
        assert [text for text in labels if text.startswith("L ")] == [f"L {x}\nn = 8" for x in range(layers)]
        assert "heads of each layer" in " ".join(svg.texts("role-title-subtitle"))


def with_heads(folder):
    """A table like the demo's, with three statistics of heads.csv in its folder."""
    path = synthetic.write(synthetic.demo_like(), folder, summary=False)
    pc0 = pandas.read_csv(path, keep_default_na=False).query("pc == 0")
    rng = np.random.default_rng(6)
    heads = pc0[["checkpoint", "layer", "q_head"]].copy()
    heads["r2cv_q"] = rng.uniform(-0.2, 0.95, len(heads))
    heads["bias_context"] = rng.normal(2, 6, len(heads))
    heads["logit_pos_share"] = rng.beta(1, 20, len(heads))
    heads.loc[heads.index[3], "r2cv_q"] = np.nan
    heads.to_csv(folder / "heads.csv", index=False)
    return path, pandas.read_csv(folder / "heads.csv")


def test_any_statistic_over_training_and_by_depth(tmp_path):
    path, heads = with_heads(tmp_path)
    asked = ["r2cv_q", "bias_context", "logit_pos_share", "abs_r_k"]
    done = draw(path, tmp_path / "out", "--format", "svg", "--statistic", ",".join(asked[:2]), "--statistic", asked[2],
                "--statistic", "abs_r_k", "--quiet")  # fmt: skip
    assert done.code == 0 and done.stderr == ""
    run = Run(path, tmp_path / "out")
    pc0 = run.pc0.assign(abs_r_k=run.pc0.r_k.abs())
    for key in asked:
        table = pc0 if key == "abs_r_k" else heads
        means = run.rows(f"over_training_{key}", "means")
        assert [row["checkpoint"] for row in means] == run.labels
        for row in means:
            values = table[table.checkpoint == row["checkpoint"]][key]
            assert [row["mean"], row["sd"]] == pytest.approx([values.mean(), values.std()], rel=1e-6)
        svg = run.svg(f"over_training_{key}")
        check_texts(svg)
        in_run = [row for row in means if row["checkpoint"] in run.run_labels]
        linear([svg.position(m)[1] for m in svg.marks("markers")], [row["mean"] for row in in_run])
        cells = run.rows(f"by_depth_{key}", "cells")
        assert len(cells) == 10 * len(run.labels)
        for row in cells:
            inside = table[(table.checkpoint == row["checkpoint"]) & (table.layer.map(lambda x: synthetic.depth_bin(x, 11)) == row["bin"])]
            assert row["value"] == pytest.approx(inside[key].mean(), rel=1e-6)
        check_texts(run.svg(f"by_depth_{key}"))
    # The statistic's own words and limits.
    assert run.svg("over_training_bias_context").texts("role-axis-title") == ["bias over the context"]
    assert "softmax scale" in " ".join(run.svg("by_depth_bias_context").texts("role-title-subtitle"))
    reach = max(abs(row["value"]) for row in run.rows("by_depth_bias_context", "cells"))
    assert reach <= run.layer("by_depth_bias_context", "cells")["encoding"]["color"]["scale"]["domain"][-1] <= 1.5 * reach
    # The six figures are drawn too.
    assert all((tmp_path / "out" / f"{name}.svg").exists() for name in FIGURES)


def test_portraits_of_any_two_statistics(tmp_path):
    path, heads = with_heads(tmp_path)
    done = draw(path, tmp_path / "out", "--format", "svg", "--portrait", "r2cv_q,bias_context", "--portrait", "logit_pos_share,r_k",
                "--portraits", "s1000,s9000", "--quiet")  # fmt: skip
    assert done.code == 0 and done.stderr == ""
    run = Run(path, tmp_path / "out")
    name = "portrait_r2cv_q_bias_context"
    spec, svg = run.spec(name), run.svg(name)
    assert [panel["title"]["text"] for panel in spec["concat"]] == ["s1000", "s9000"]
    assert spec["concat"][0]["title"]["subtitle"].endswith("n = 96") and "without" not in str(spec["concat"][1]["title"])
    for i, label in enumerate(["s1000", "s9000"]):
        rows = heads[heads.checkpoint == label].sort_values(["layer", "q_head"])
        points, data = svg.marks(f"heads_{i}"), spec["datasets"][f"heads {i}"]
        assert len(points) == len(data) == 96
        x, y = spec["concat"][i]["layer"][-1]["encoding"]["x"], spec["concat"][i]["layer"][-1]["encoding"]["y"]
        assert (x["axis"]["title"], y["field"]) == ("R² of queries, cross-validated", "bias_context")
        for channel, key, axis in [(0, "r2cv_q", x), (1, "bias_context", y)]:
            assert [row[key] for row in data] == pytest.approx(rows[key].tolist(), rel=1e-6)
            linear([svg.position(point)[channel] for point in points], rows[key].tolist())
            low, high = axis["scale"]["domain"]
            assert low < rows[key].min() and rows[key].max() < high  # no point is cut
            assert not spec["concat"][i]["layer"][-1]["mark"].get("clip")
    assert spec["concat"][0]["layer"][-1]["encoding"]["x"]["scale"]["domain"][1] == pytest.approx(1.05)
    check_texts(svg)
    # The thresholds of the classes belong to r_k.
    other = run.spec("portrait_logit_pos_share_r_k")["concat"][0]["layer"]
    assert [layer["mark"]["type"] for layer in other] == ["rule", "point"] and list(other[0]["encoding"]) == ["y"]
    # A head without one of the numbers is left out and counted.
    assert draw(path, tmp_path / "init", "--format", "json", "--portrait", "r2cv_q,r_q", "--portraits", "init", "--quiet").code == 0
    spec = json.loads((tmp_path / "init" / "portrait_r2cv_q_r_q.vl.json").read_text())
    assert spec["concat"][0]["title"]["subtitle"] == "n = 95, 1 without" and len(spec["datasets"]["heads 0"]) == 95


def test_points_on_the_frame_are_not_cut(tmp_path):
    """r_q of 0 and 1, r_k of 1 and -1: whole markers within the picture, nothing clipped."""
    rows = [{"checkpoint": "a", "layer": i, "q_head": 0, "pc": 0, "r_q": q, "r_k": k} for i, (q, k) in
            enumerate([(0, 1), (1, 1), (1, -1), (-0.049, -1), (-0.3, 0.5)])]  # fmt: skip
    pandas.DataFrame(rows).to_csv(tmp_path / "qk.csv", index=False)
    assert draw(tmp_path / "qk.csv", tmp_path, "--format", "svg", "--statistic", "r_k").code == 0
    for name in ("phase_portraits", "over_training_r_k", "position_signal"):
        assert "clip-path" not in (tmp_path / f"{name}.svg").read_text(), name
    spec = json.loads((tmp_path / "phase_portraits.vl.json").read_text())
    assert len(drawn.Drawing(tmp_path / "phase_portraits.svg").marks("heads_0")) == 4
    assert spec["concat"][0]["title"]["subtitle"] == "n = 5, 1 outside"


def test_numbers_that_hardly_fit_a_double(tmp_path):
    """Although even their mean overflows, no figure fails, no limit exceeds what JSON can hold, and no cell has 300 digits."""
    path, heads = with_heads(tmp_path)
    heads.loc[heads.layer < 6, "bias_context"] = 1.7e308
    heads.to_csv(path.parent / "heads.csv", index=False)
    done = draw(path, tmp_path / "out", "--format", "svg", "--statistic", "bias_context", "--portrait", "r_q,bias_context", "--quiet")
    assert done.code == 0 and len(done.stderr.splitlines()) <= 1, done.stderr
    run = Run(path, tmp_path / "out")
    assert {len(row["text"]) <= 5 for row in run.rows("by_depth_bias_context", "cells")} == {True}
    assert run.svg("portrait_r_q_bias_context").marks("heads_0")
    for name in ("by_depth_bias_context", "over_training_bias_context", "drift_bias"):
        spec = json.dumps(run.spec(name))
        assert "Infinity" not in spec and '"domain": [null' not in spec and "[0.0, null]" not in spec
        check_texts(run.svg(name))


def test_cells_and_legend_have_one_unit(tmp_path):
    path, heads = with_heads(tmp_path)
    synthetic.write(synthetic.demo_like(), tmp_path)  # with a summary
    heads["bias_strength"] = 0.03 * heads.r2cv_q.abs()
    heads.to_csv(path.parent / "heads.csv", index=False)
    assert draw(path, tmp_path / "out", "--format", "svg", "--statistic", "bias_strength", "--quiet").code == 0
    run = Run(path, tmp_path / "out")
    svg, cells = run.svg("by_depth_bias_strength"), run.rows("by_depth_bias_strength", "cells")
    assert "Numbers: in units of 0.01." in " ".join(svg.texts("role-title-subtitle"))
    assert svg.texts("role-legend-title") == ["mean bias per token, in units of 0.01"]
    top = float(svg.texts("role-legend-label")[-1])
    assert max(float(cell["text"]) for cell in cells if cell["value"] is not None) <= top <= 3
    assert all(float(cell["text"]) == pytest.approx(100 * cell["value"], abs=0.006) for cell in cells if cell["value"] is not None)
    assert "No standard errors: summary.json holds none by depth for this statistic." in " ".join(svg.texts("role-title-subtitle"))


def test_unknown_statistics_are_refused(tmp_path):
    path = synthetic.write(synthetic.demo_like(), tmp_path)
    for option, value, near_ones in [
        ("--statistic", "r2cv", "r2cv_q, r2cv_k, r2_q or r2_k?"),
        ("--statistic", "r_q,biascontext", "bias_context?"),
        ("--portrait", "r_q,R2CV_Q", "r2cv_q"),
        ("--statistic", "mean_r_q", "did you mean r_q?"),
        ("--portrait", "r_q,abs_r2cv_q", "did you mean r2cv_q?"),
        ("--statistic", "elephants", "docs/formats.md"),
    ]:
        wrong = draw(path, tmp_path / "out", option, value)
        assert wrong.code == 2 and near_ones in wrong.stderr and wrong.stderr.count("\n") == 1, wrong.stderr
        assert wrong.stderr.startswith(f"error: {option}: no statistic"), "the option that was given, alone"
        assert f"'{value.split(',')[-1]}'" in wrong.stderr
    for pair in ("r_q", "r_q,r_k,r2cv_q"):
        wrong = draw(path, tmp_path / "out", "--portrait", pair)
        assert wrong.code == 2 and "expected two statistics" in wrong.stderr
    none = draw(path, tmp_path / "out", "--statistic", " ,")
    assert none.code == 2 and none.stderr == "error: --statistic: the list is empty; expected a statistic such as r2cv_q\n"
    assert not (tmp_path / "out").exists()
    # Spaces after commas and a comma at the end are ignored.
    assert draw(path, tmp_path / "spaces", "--format", "json", "--statistic", "r_q, abs_r_k,", "--portrait", "r_q , r_k,",
                "--portraits", "s1000, s9000,", "--quiet").code == 0  # fmt: skip
    asked = {"over_training_r_q", "by_depth_r_q", "over_training_abs_r_k", "by_depth_abs_r_k", "portrait_r_q_r_k"}
    assert {file.name for file in (tmp_path / "spaces").iterdir()} == {f"{name}.vl.json" for name in [*FIGURES, *asked]}
    # A known statistic that this table lacks: the other figures are drawn, and a warning names it once.
    absent = draw(path, tmp_path / "out", "--format", "json", "--statistic", "r2cv_q,r2cv_q", "--portrait", "r2cv_q,r_q")
    assert absent.code == 0 and absent.stderr.count("no r2cv_q") == 1 and "heads.csv" in absent.stderr
    assert {file.name for file in (tmp_path / "out").iterdir()} == {f"{name}.vl.json" for name in FIGURES}


def test_logits_by_distance_of_heads(tmp_path):
    table = synthetic.write(synthetic.demo_like(), tmp_path)
    rows = [{"checkpoint": label, "layer": layer, "q_head": 1, "curve": curve, "x": x, "value": position + i - x / 100, "value_se": 0.25}
            for i, label in enumerate(["s1000", "s5000", "s10000"]) for layer in (0, 3)
            for position, curve in enumerate(["dist_pred", "dist_actual"]) for x in (0, 1, 8, 100)]  # fmt: skip
    pandas.DataFrame(rows).to_csv(tmp_path / "curves.csv", index=False)
    result = draw(table, tmp_path / "out", "--format", "svg", "--distance", "L3H1,0.1", "--distance", "L3H1", "--portraits", "s1000,s10000")
    assert result.code == 0 and "warning" not in result.stderr, result.stderr
    spec = json.loads((tmp_path / "out" / "distance_heads.vl.json").read_text())
    assert [view["title"]["text"] for view in spec["concat"]] == ["layer 3, head 1", "layer 0, head 1"]
    found = pandas.DataFrame(spec["datasets"]["curves 0"])
    expected = pandas.DataFrame(rows).query("layer == 3 and checkpoint != 's5000'")
    assert found.logit.tolist() == expected.value.tolist() and found.distance.tolist() == expected.x.tolist()
    assert (found.high - found.low).round(9).eq(0.5).all()
    svg = drawn.Drawing(tmp_path / "out" / "distance_heads.svg")
    for panel in range(2):
        assert len(svg.marks(f"curves_{panel}")) == len(svg.marks(f"errors_{panel}")) == 4  # two checkpoints, predicted and actual
    without = draw(table, tmp_path / "none", "--format", "json", "--distance", "L2H2")
    assert without.code == 0 and "no logits by distance for head L2H2" in without.stderr
    assert not (tmp_path / "none" / "distance_heads.vl.json").exists() and (tmp_path / "none" / "distance.vl.json").exists()
    for heads, said in [
        ("L0H1,L77H0", "qk.csv has no head L77H0; its layers go up to 11, its query heads to 7"),
        ("L0", "'L0' is not a head; expected for example L3H2"),
        (",", "the list is empty"),
    ]:
        refused = draw(table, tmp_path / "refused", "--format", "json", "--distance", heads)
        assert refused.code == 2 and "error: --distance: " in refused.stderr and said in refused.stderr and refused.stderr.count("\n") == 1
        assert not (tmp_path / "refused").exists()


def test_a_heads_table_of_column_names_alone_is_said_to_be_one(tmp_path):
    table = synthetic.write(synthetic.demo_like(), tmp_path)
    (tmp_path / "heads.csv").write_text("checkpoint,layer,q_head,r2cv_q\n")
    result = draw(table, tmp_path / "out", "--format", "json")
    assert result.code == 0 and "heads.csv: has column names but no rows; expected one row per checkpoint and head; continuing without it" in result.stderr
