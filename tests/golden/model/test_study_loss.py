"""The loss of checkpoints in a study: measured in the same pass, drawn, kept, and left out where it is impossible."""

import dataclasses
import json
import math
import shutil

import numpy as np
import pandas
import pytest
import torch

import engine
import plain_models
import tiny_models
from loss_bench import bench, tensors  # noqa: F401 (fixtures)
from tiny_models import MODELS


class Study:
    """Two checkpoints and fresh weights, on documents of tokens."""

    def __init__(self, root):
        self.root = root
        for label in ("a", "b"):
            plain_models.write(dataclasses.replace(MODELS["smollm3_interval"], seed=ord(label), dtype="float32"), root / label)
        rng = np.random.default_rng(3)
        texts = {i: rng.integers(0, tiny_models.VOCAB, 100).tolist() for i in range(12)}
        self.corpus = tiny_models.write_corpus(root / "tokens.jsonl", texts)

    def run(self, out, *options, documents=12, **settings):
        experiment = self.root / f"{out.name}.yaml"
        phases = [dict(name="P", context=64, checkpoints=[dict(label="init", random=1), dict(label="a", path="a"), dict(label="b", path="b")])]
        experiment.write_text(json.dumps(
            dict(name="Loss", corpus=dict(path="tokens.jsonl", documents=documents), dtype="float32", phases=phases, **settings)))  # fmt: skip
        done = engine.run("run", experiment, "--out", out, "--format", "json", *options)
        assert done.code == 0, done.stderr
        return done.stderr


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("study"))


def test_in_the_same_pass_as_the_moments(study, bench, tmp_path):
    study.run(tmp_path / "with", loss=True)
    study.run(tmp_path / "without")
    table = pandas.read_csv(tmp_path / "with" / "loss.csv")
    assert list(dict.fromkeys(table.checkpoint)) == ["init", "a", "b"]
    assert (table.model == "Loss").all() and (table.phase[table.checkpoint != "init"] == "P").all()
    assert (table.flag[table.checkpoint == "init"] == "random_weights").all()
    for label in ("a", "b"):
        alone = pandas.read_csv(bench.loss(study.root / label, corpus=study.corpus, context=64) / "loss.csv")
        here = table[table.checkpoint == label].reset_index(drop=True)
        columns = ["position", "position_end", "loss", "loss_se", "documents", "tokens"]
        pandas.testing.assert_frame_equal(here[columns], alone[columns])
    fresh = table[(table.checkpoint == "init") & table.position.isna()]
    assert abs(fresh.loss.item() - math.log(tiny_models.VOCAB)) < 0.1, "who knows nothing"
    for label in ("init", "a", "b"):
        one, other = tensors(tmp_path / "with", label), tensors(tmp_path / "without", label)
        assert one.pop("document.loss").shape == (12, 7)
        assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    for name in ("qk.csv", "heads.csv", "changes.csv"):
        assert (tmp_path / "with" / name).read_bytes() == (tmp_path / "without" / name).read_bytes(), name
    assert not (tmp_path / "without" / "loss.csv").exists()
    summary, plain = (json.loads((tmp_path / name / "summary.json").read_text()) for name in ("with", "without"))
    for row in table[table.position.isna()].itertuples():
        stated = summary["loss"][row.checkpoint]
        assert [stated["value"], stated["se"]] == pytest.approx([row.loss, row.loss_se], rel=1e-8) and stated["tokens"] == row.tokens
    (change,) = (one.pop("loss") for one in summary["differences"])
    del summary["loss"]
    assert summary == plain
    # The same documents, so that the peculiarities of documents cancel.
    losses = [tensors(tmp_path / "with", label)["document.loss"].sum(1).numpy() / 63 for label in ("a", "b")]
    moved = losses[1] - losses[0]
    assert change["value"] == pytest.approx(moved.mean(), rel=1e-9) and change["se"] == pytest.approx(moved.std(ddof=1) / math.sqrt(12), rel=1e-9)
    assert change["real"] == (abs(moved.mean()) > 2.201 * change["se"])


def test_in_figures_and_on_the_page(study, tmp_path):
    """Figures of the run, and of its tables without the run."""
    out = tmp_path / "out"
    study.run(out, loss=True)
    table = pandas.read_csv(out / "loss.csv")
    whole = table[table.position.isna()].set_index("checkpoint")
    spec = json.loads((out / "figures" / "loss.vl.json").read_text())
    drawn = {row["checkpoint"]: row for row in spec["datasets"]["means"]}
    for label in ("a", "b"):
        assert [drawn[label][key] for key in ("mean", "se", "se_low")] == pytest.approx(
            [whole.loss[label], whole.loss_se[label], whole.loss[label] - whole.loss_se[label]], rel=1e-9)  # fmt: skip
    assert drawn["init"]["mean"] is None and f"{whole.loss['init']:.2f} (init)" in " ".join(spec["title"]["subtitle"])
    assert {row["series"] for row in spec["datasets"]["means 2"]} == {"R² of queries", "R² of keys"}
    done = engine.run("figures", out, "--out", tmp_path / "again", "--format", "json", "--title", "Loss", "--quiet")
    assert done.code == 0 and (tmp_path / "again" / "loss.vl.json").read_bytes() == (out / "figures" / "loss.vl.json").read_bytes()
    captures = [out / "checkpoints" / label for label in ("init", "a", "b")]
    done = engine.run("analyze", *captures, "--out", tmp_path / "table", "--quiet")
    assert done.code == 0, done.stderr
    analysed = pandas.read_csv(tmp_path / "table" / "loss.csv")
    pandas.testing.assert_frame_equal(analysed.drop(columns=["model", "phase"]), table.drop(columns=["model", "phase"]))

    # A loss.csv of another table of the same checkpoints, or a broken one, is not used.
    study.run(tmp_path / "without")
    shutil.copy(out / "loss.csv", tmp_path / "without" / "loss.csv")
    done = engine.run("report", tmp_path / "without")
    assert done.code == 0 and "loss.csv: its losses are not those of" in done.stderr
    for text, why in {
        table.replace({"checkpoint": {"b": "c"}}).to_csv(index=False): "column checkpoint: found 'c'",
        table[table.position.notna()].to_csv(index=False): "expected one row over all positions",
        table.drop(columns="tokens").to_csv(index=False): "column 'tokens'",
        "": "is empty",
    }.items():
        (out / "loss.csv").write_text(text)
        done = engine.run("figures", out, "--out", tmp_path / "broken", "--format", "json")
        assert done.code == 0 and why in done.stderr and "continuing without it" in done.stderr, done.stderr
    assert not (tmp_path / "broken" / "loss.vl.json").exists()


def test_measured_only_where_it_is_missing(study, tmp_path):
    out = tmp_path / "out"
    study.run(out)
    said = study.run(out, loss=True)
    assert "loss measured in addition to what exists" in said and "measured again" not in said
    before = (out / "loss.csv").read_bytes()
    assert "measured again" not in study.run(out), "what keeps more than is wanted will do"
    assert not (out / "loss.csv").exists()
    assert "measured again" not in study.run(out, loss=True)
    assert (out / "loss.csv").read_bytes() == before


def test_more_documents_are_added(study, tmp_path):
    study.run(tmp_path / "out", loss=True, documents=8)
    assert "8 of 12 documents exist already" in study.run(tmp_path / "out", loss=True)
    study.run(tmp_path / "straight", loss=True)
    assert (tmp_path / "out" / "loss.csv").read_bytes() == (tmp_path / "straight" / "loss.csv").read_bytes()


def test_captured_vectors_have_none(study, tmp_path):
    experiment = tmp_path / "vectors.yaml"
    experiment.write_text(json.dumps(dict(name="V", loss=True, phases=[dict(name="P", checkpoints=[dict(label="v", vectors="nowhere")])])))
    done = engine.run("run", experiment, "--out", tmp_path / "out")
    assert done.code == 3 and "loss is for checkpoints with weights" in done.stderr
