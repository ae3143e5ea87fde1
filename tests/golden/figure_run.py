"""A table, the figures drawn from it, and what every drawing is compared with."""

import json

import numpy as np
import pandas
import pytest

import drawn
import engine

FIGURES = ["position_signal", "phase_portraits", "taxonomy", "depth_r_q", "depth_r_k", "explained_variance"]


class Run:
    """A table, its entries in summary.json, and the figures."""

    def __init__(self, table_path, out):
        self.path, self.out = table_path, out
        self.table = pandas.read_csv(table_path, keep_default_na=False, na_values={"r_q": "", "r_k": "", "phase": []})
        summary = table_path.parent / "summary.json"
        self.summary = json.loads(summary.read_text()) if summary.exists() else None
        self.pc0 = self.table[self.table.pc == 0]
        self.labels = list(dict.fromkeys(self.table.sort_values("order", kind="stable").checkpoint))
        flagged = self.table.flag.fillna("").str.contains("random_weights")
        self.baselines = list(dict.fromkeys(self.table[flagged].checkpoint))
        self.run_labels = [label for label in self.labels if label not in self.baselines]
        self.last = int(self.table.layer.max())

    def spec(self, name):
        return json.loads((self.out / f"{name}.vl.json").read_text())

    def rows(self, name, dataset):
        return self.spec(name)["datasets"][dataset]

    def svg(self, name):
        return drawn.Drawing(self.out / f"{name}.svg")

    def heads(self, label):
        return self.pc0[self.pc0.checkpoint == label]

    def layer(self, name, layer):
        found = [one for one in self.spec(name)["layer"] if one.get("name") == layer]
        assert len(found) == 1, f"{name} has no layer {layer}"
        return found[0]


def draw(table, out, *options, **settings):
    return engine.run("figures", table, "--out", out, *options, **settings)


def near(value):
    return pytest.approx(value, abs=2e-9)


def linear(positions, values):
    """Positions of marks are a linear function of their values, so that the drawing shows the data."""
    slope, start = np.polyfit(values, positions, 1)
    assert np.abs(np.array(positions) - (slope * np.array(values) + start)).max() < 0.01
    return slope


def check_texts(svg):
    """No text is "undefined", and every text starts inside the picture."""
    for text in svg.all_texts():
        assert not set(drawn.shown(text).split()) & {"NaN", "null", "undefined", "Infinity"}
        x, y = svg.position(text)
        assert 0 <= x <= svg.width and 0 <= y <= svg.height, drawn.shown(text)
