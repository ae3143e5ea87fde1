"""Ablations as a stage of an experiment."""

import dataclasses
import hashlib
import json
import re
import shutil

import numpy as np
import pandas
import pytest

import engine
import plain_models
import tiny_models
from ablate_bench import CONTEXT, WIDE, bench, make_texts  # noqa: F401 (fixtures)
from tiny_models import MODELS


class Study:
    """Two checkpoints and fresh weights of them, on documents of tokens."""

    def __init__(self, root):
        self.root = root
        for label in ("a", "b"):
            plain_models.write(dataclasses.replace(WIDE, seed=ord(label)), root / label)
        self.texts = make_texts(7, 16)
        tiny_models.write_corpus(root / "tokens.jsonl", self.texts)

    def write(self, name, ablate, documents=12, corpus=(), checkpoints=("a", "b"), **settings):
        checkpoints = [dict(label="init", random=1), *(dict(label=label, path=label) for label in checkpoints)]
        phases = [dict(name="P", context=CONTEXT, checkpoints=checkpoints)]
        corpus = {"path": "tokens.jsonl", **({} if documents is None else dict(documents=documents)), **dict(corpus)}
        experiment = dict(name="Needs", corpus=corpus, dtype="float32", phases=phases, ablate=ablate, **settings)
        (self.root / f"{name}.yaml").write_text(json.dumps({key: value for key, value in experiment.items() if value is not None}))
        return self.root / f"{name}.yaml"

    def run(self, experiment, out, *options):
        return engine.run("run", experiment, "--out", out, "--format", "json", *options, timeout=600)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("study"))


ABLATE = dict(sets=["top:dist_range:10%", "0.0,2.1"], edits=["distance", "window:6"], documents=4, controls=2)


def test_in_an_experiment(study, bench, tmp_path):
    """Every checkpoint's own heads, on the entries after the study's own; the verb gives the same numbers."""
    experiment = study.write("study", ABLATE)
    dry = study.run(experiment, tmp_path / "dry", "--dry-run")
    assert dry.code == 0 and "2 edits of 2 sets in each checkpoint, beside 2 random sets, on 4 documents more: up to 18 passes" in " ".join(dry.stdout.split())
    out = tmp_path / "out"
    done = study.run(experiment, out)
    assert done.code == 0, done.stderr
    table = pandas.read_csv(out / "ablate.csv")
    assert list(dict.fromkeys(table.checkpoint)) == ["init", "a", "b"]
    assert len(table) == 12 and (table.documents == 4).all() and (table.model == "Needs").all()
    assert table.flag[table.checkpoint == "init"].str.contains("random_weights").all()
    rest = tiny_models.write_corpus(tmp_path / "rest.jsonl", {i: study.texts[i] for i in range(12, 16)})
    alone = bench.run(ABLATE["sets"], "distance,window:6", "--controls", 2, capture=out / "checkpoints" / "b", corpus=rest)
    mine = table[table.checkpoint == "b"].reset_index(drop=True)
    numbers = [column for column in table.select_dtypes("number") if column != "order"]
    pandas.testing.assert_frame_equal(mine[numbers], pandas.read_csv(alone / "ablate.csv")[numbers], check_dtype=False)
    assert (out / "figures" / "ablate.vl.json").exists() and (out / "figures" / "ablate_training.vl.json").exists()
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["settings"]["ablate"]["sets"] == ABLATE["sets"] and "ablate.csv" in manifest["ablate"]["files"]
    if manifest.get("report"):  # a program may be built without the page
        drawn = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', (out / "report.html").read_text(), re.S)[1])
        assert {"ablate", "ablate_training"} <= set(drawn["figure_names"]) and "edit 1" in drawn["figures"]["ablate"]["datasets"]
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and "ablate" in str(path.relative_to(out))}
    again = study.run(experiment, out)
    assert again.code == 0 and "ablate: up to date" in again.stderr
    assert before == {path: path.stat().st_mtime_ns for path in before}
    more = study.run(study.write("study", {**ABLATE, "edits": ["distance", "axis"]}), out)
    assert more.code == 0, more.stderr
    kept = [path for path in before if path.parent.name in ("init", "a", "b") and path.name.startswith("distance")]
    assert kept and all(path.stat().st_mtime_ns == before[path] for path in kept), "an edit that is done is not done again"
    assert set(pandas.read_csv(out / "ablate.csv").edit) == {"distance", "axis"}
    without = study.run(study.write("study", None), out)
    assert without.code == 0, without.stderr
    assert not (out / "ablate.csv").exists() and not (out / "figures" / "ablate.vl.json").exists()
    assert "ablate" not in json.loads((out / "manifest.json").read_text())


def test_in_an_experiment_that_cannot_be(study, tmp_path):
    def refused(ablate, code=3, **settings):
        done = study.run(study.write("bad", ablate, **settings), tmp_path / "out")
        assert done.code == code and done.stderr.count("\n") >= 1, done.stderr
        return done.stderr

    assert "ablate.sets: " in refused({**ABLATE, "sets": ["top:dist_rang:10%"]}) and not (tmp_path / "out").exists()
    assert "did you mean dist_range?" in refused({**ABLATE, "sets": ["top:dist_rang:10%"]})
    assert "ablate.edits: 'prune': is no edit" in refused({**ABLATE, "edits": "prune"})
    assert "edits" in refused({"sets": "layer:0"}), "a key is missing"
    assert "say how many are with corpus: {documents: N}" in refused(ABLATE, documents=None)
    assert "the edit 'distance' needs pre_rope: true" in refused(ABLATE, pre_rope=False)
    assert "expected documents of at least 2" in refused({**ABLATE, "edits": "head", "documents": 1})
    message = refused(ABLATE, documents=16)
    assert "ablate: takes documents after those that are measured: " in message and "has 16 documents that are long enough, expected more than 16" in message
    repeated = {**study.texts, 14: study.texts[3]}
    tiny_models.write_corpus(study.root / "repeated.jsonl", repeated)
    message = refused(ABLATE, corpus=dict(path="repeated.jsonl"))
    assert "the corpus: 1 of 4 documents are also among those that the study was made of" in message
    assert not (tmp_path / "out").exists(), "all of it before anything is computed"
    message = refused({**ABLATE, "sets": "layer:1", "edits": "still:40"}, checkpoints=["a"])
    assert "'init': " in message and "does not turn queries and keys" in message
    assert (tmp_path / "out" / "report.html").exists() or (tmp_path / "out" / "qk.csv").exists(), "what does not hang on it is there"
    table = tmp_path / "words"
    shutil.copytree(tiny_models.write(MODELS["mllama_text"], tmp_path / "mllama"), study.root / "mllama")
    words = {i: [tiny_models.VOCAB + i % 2, *tokens[1:]] for i, tokens in study.texts.items()}
    tiny_models.write_corpus(study.root / "words.jsonl", words)
    message = refused({**ABLATE, "edits": "window:6"}, corpus=dict(path="words.jsonl"), checkpoints=["mllama"])
    assert f"expected an id from 0 to {tiny_models.VOCAB - 1}" in message and not table.exists(), "what the head cannot predict"


def test_pieces_in_an_experiment(study, tmp_path):
    """Of a text that is cut, the pieces after those that were measured."""
    long = np.random.default_rng(9).integers(0, tiny_models.VOCAB, 40 * CONTEXT).tolist()
    tiny_models.write_corpus(study.root / "long.jsonl", {1: long})
    out = tmp_path / "out"
    done = study.run(study.write("pieces", ABLATE, corpus=dict(path="long.jsonl", chunk=True), checkpoints=["a"]), out)
    assert done.code == 0, done.stderr
    digests = set(pandas.read_csv(out / "ablate_documents.csv").digest)
    pieces = [long[i * CONTEXT : (i + 1) * CONTEXT] for i in range(16)]
    first = [hashlib.sha256(np.array(piece, "<i4").tobytes()).hexdigest()[:16] for piece in pieces]
    assert digests == set(first[12:])
