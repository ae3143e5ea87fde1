"""Steps and tokens as numbers: in tables, and on the axes of figures over training."""

import itertools
import json
import math

import numpy as np
import pytest

import synthetic_run as synthetic
from figure_run import Run, draw, linear


@pytest.fixture(scope="module")
def pythia(tmp_path_factory):
    root = tmp_path_factory.mktemp("pythia")
    table = synthetic.write(synthetic.pythia_like(), root)
    result = draw(table, root / "figures", "--format", "svg", "--axis", "log-steps", "--quiet")
    assert result.code == 0 and result.stderr == "", result.stderr
    return Run(table, root / "figures")


def step_of(label):
    return int(label.removeprefix("step"))


def axis_of(spec):
    """Every axis on which checkpoints can be arranged."""
    layers = spec["layer"] if "layer" in spec else [layer for view in spec["vconcat"] for layer in view["layer"]]
    return [layer["encoding"]["x"]["axis"] for layer in layers if layer["encoding"].get("x", {}).get("axis")]


def test_checkpoints_stand_by_the_logarithm_of_their_steps(pythia):
    rows = [row for row in pythia.rows("position_signal", "means") if row["series"] == "mean r_q (queries)"]
    positions = {row["checkpoint"]: row["x"] for row in rows}
    assert len(positions) == 155 and positions["init"] < positions["step0"] == 0 < positions["step1"]
    later = [label for label in positions if label not in ("init", "step0")]
    assert linear([positions[label] for label in later], [math.log10(step_of(label)) for label in later]) > 0
    assert positions["step1"] < (positions["step143000"] - positions["step1"]) / 10, "0 has a place, not half of the axis"


@pytest.mark.parametrize("name", ["position_signal", "taxonomy", "explained_variance"])
def test_ticks_are_round_and_apart(pythia, name):
    spec = pythia.spec(name)
    params = {one["name"]: one["value"] for one in spec["params"]}
    names = dict(zip(params["places"], params["labels"]))
    for axis in axis_of(spec):
        assert [names[position] for position in axis["values"]] == ["init", "0", "1", "10", "100", "1k", "10k", "100k"]
        assert axis["title"] == "training steps (logarithmic)"
        assert axis["labelAngle"] == 0
        pixels = 660 / 9.5  # pixels per unit: 7 units for the run, 1 for the baseline, edges and a gap
        assert all(b - a > 24 / pixels for a, b in itertools.pairwise(axis["values"]))


def test_bars_fill_the_places_of_checkpoints(pythia):
    rows = [row for row in pythia.rows("taxonomy", "segments") if row["class"] == "mixed" and not row["baseline"]]
    assert all(row["x_from"] < row["x"] < row["x_to"] for row in rows)
    assert [row["x_to"] for row in rows[:-1]] == pytest.approx([row["x_from"] for row in rows[1:]])
    assert [row["position"] for row in pythia.rows("taxonomy", "separators")][1] == pytest.approx(rows[12]["x_from"])


def test_parts_have_one_legend(pythia):
    texts = pythia.svg("explained_variance").texts("role-legend-label")
    assert texts == [f"PC{i}" for i in range(4)], texts


@pytest.mark.parametrize("axis", ["log-steps", "labels"])
def test_many_checkpoints_have_bands_for_bars_and_no_gaps(pythia, tmp_path, axis):
    drawing = pythia
    if axis == "labels":
        assert draw(pythia.path, tmp_path, "--format", "svg", "--quiet").code == 0
        drawing = Run(pythia.path, tmp_path)
    spec = drawing.spec("position_signal")
    layers = {layer["name"]: layer for layer in spec["layer"]}
    assert layers["inner bands"]["mark"]["type"] == "area" and layers["bars"]["transform"][0]["filter"].endswith("datum.baseline")
    assert "inner bands: ±1 standard error over documents" in " ".join(spec["title"]["subtitle"])
    assert [layer["mark"]["type"] for layer in drawing.spec("taxonomy")["layer"] if layer["name"] == "segments"] == ["rect"]
    assert "bars" not in drawing.spec("taxonomy")["datasets"]


def test_maps_run_down_the_same_axis(pythia):
    rows = [row for row in pythia.rows("depth_r_q", "cells") if row["bin"] == 0]
    segments = [row for row in pythia.rows("taxonomy", "segments") if row["class"] == "mixed"]
    assert [(row["y"], row["y_end"]) for row in rows[1:]] == [(row["x_from"], row["x_to"]) for row in segments if not row["baseline"]]
    layers = {layer["name"]: layer for layer in pythia.spec("depth_r_q")["layer"]}
    axis = layers["cells"]["encoding"]["y"]["axis"]
    assert axis["title"] == "training steps (logarithmic)"
    # The checkpoints' own steps, as many as fit.
    names = dict(zip(*(parameter["value"] for parameter in pythia.spec("depth_r_q")["params"][:2]), strict=True))
    cells = {row["y_middle"]: row["checkpoint"] for row in pythia.rows("depth_r_q", "cells")}
    written = {position: names[position].replace("k", "000") for position in axis["values"]}
    assert all(cells[position].removeprefix("step") == text for position, text in written.items()), written
    assert {"init", "0", "143000"} <= set(written.values()) and len(written) > 12
    pixels = layers["cells"]["encoding"]["y"]["scale"]["domain"]
    row = pythia.spec("depth_r_q")["height"] / (pixels[1] - pixels[0])
    assert all((b - a) * row >= 13 for a, b in itertools.pairwise(sorted(axis["values"])))
    assert "numbers" not in layers and all(layers["cells"]["mark"][side] > 1.4 for side in ("x2Offset", "y2Offset")), "no gaps, on a page at 3/4 size either"


def test_a_linear_axis_and_one_of_tokens(pythia, tmp_path):
    table = synthetic.pythia_like(baseline=False)
    table.insert(4, "tokens", table.checkpoint.map(step_of) * 2_097_152)
    path = synthetic.write(table, tmp_path)
    for axis, scale in ("steps", 1), ("tokens", 2_097_152):
        result = draw(path, tmp_path / axis, "--format", "json", "--axis", axis)
        assert result.code == 0, result.stderr
        rows = Run(path, tmp_path / axis).rows("position_signal", "means")
        linear([row["x"] for row in rows], [scale * step_of(row["checkpoint"]) for row in rows])
        ticks = json.loads((tmp_path / axis / "position_signal.vl.json").read_text())["params"][1]["value"]
        assert ticks == (["0", "20k", "40k", "60k", "80k", "100k", "120k", "140k"] if scale == 1 else
                         ["0", "50B", "100B", "150B", "200B", "250B"])  # fmt: skip


def test_steps_that_are_missing_or_run_backwards(tmp_path):
    table = synthetic.pythia_like(baseline=False)
    table["checkpoint"] = table.checkpoint.replace({"step4": "stage2-step1"})
    path = synthetic.write(table, tmp_path)
    result = draw(path, tmp_path / "figures", "--axis", "steps", "--format", "json")
    assert result.code == 3 and not (tmp_path / "figures").exists()
    assert "'stage2-step1' (step 1) comes after 'step2' (step 2); give them step: N" in result.stderr
    result = draw(path, tmp_path / "figures", "--axis", "tokens", "--format", "json")
    assert result.code == 3 and "'step0' does not state its tokens; give it tokens: N" in result.stderr
    result = draw(path, tmp_path / "figures", "--axis", "days", "--format", "json")
    assert result.code == 2 and "log-steps" in result.stderr
    columns = table.assign(step=np.where(table.q_head == 0, 1, 2))
    result = draw(synthetic.write(columns, tmp_path), tmp_path / "figures", "--format", "json")
    assert result.code == 3 and "step" in result.stderr and "the same value as in earlier rows of step0" in result.stderr
