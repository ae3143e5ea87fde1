"""Probes: what heads attend to in synthetic documents, against transformers' eager attention; and the second capture that holds them."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pandas
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import bands_reference
import engine
import reference
import test_made_heads
import tiny_models
from mpi_jobs import ALLOW, MPIRUN
from tiny_models import CONTEXT, MODELS, VOCAB

BLOCKS, TEXTS, SEQUENCES = 5, 12, 64
COLUMNS = ("induction", "previous_random", "prefix")
SPECIAL = {"<pad>": 0, "<s>": 1, "</s>": 2}


def write_tokenizer(folder, words=VOCAB - 6):
    """Words w3, w4 …: fewer than the model has rows; the token <s> stands in front of each text."""
    vocabulary = {**SPECIAL, **{f"w{i}": i for i in range(len(SPECIAL), words)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="w3"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.save(str(folder / "tokenizer.json"))


class Study:
    def __init__(self, root, *names, context=CONTEXT):
        self.root, self.context = root, context
        self.labels = dict(zip("AB", names))
        rng = np.random.default_rng(7)
        lines = [{"text": " ".join(f"w{i}" for i in rng.integers(3, VOCAB - 6, context))} for _ in range(TEXTS)]
        (root / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        for label, name in self.labels.items():
            tiny_models.write(MODELS[name], root / label)
            write_tokenizer(root / label)

    def write(self, labels, **changes):
        settings = dict(
            name="Probes", corpus=dict(path="corpus.jsonl"), dtype="float32", sliding=True, blocks=BLOCKS, components=2, probes=True,
            phases=[dict(name="P", context=self.context, checkpoints=[dict(label=label, path=label) for label in labels])],
        )  # fmt: skip
        path = self.root / "study.yaml"
        path.write_text(json.dumps({key: value for key, value in {**settings, **changes}.items() if value is not None}))
        return path

    def run(self, out, labels, *options, code=0, **changes):
        done = engine.run("run", self.write(labels, **changes), "--out", out, "--format", "json", *options)
        assert done.code == code, done.stderr
        return done


def read_probes(out):
    return [json.loads(line) for line in (out / "probes.jsonl").read_text().splitlines()]


def places(probe):
    """(query, keys behind earlier copies) of each token of a later copy."""
    first = probe["begin"] + probe["period"]
    queries = [first + copy * probe["period"] + i for copy in range(probe["copies"] - 1) for i in range(probe["length"])]
    return [(t, [j + 1 for j in range(t - probe["period"], probe["begin"] - 1, -probe["period"])]) for t in queries]


def expected_values(folder, probes):
    """{(kind, distance)}: behind, before: [sequences, layers, heads]; layers as transformers lists them."""
    weights = reference.attention(folder, {probe["id"]: probe["tokens"] for probe in probes})
    found = {}
    for probe in probes:
        layers = weights[probe["id"]][0]
        behind = [[np.mean([p[t, keys].sum() for t, keys in places(probe)]) for p in layer] for layer in layers]
        before = [[np.mean([p[t, t - 1] for t, _ in places(probe)]) for p in layer] for layer in layers]
        found.setdefault((probe["kind"], probe["period"]), []).append((behind, before))
    return {key: np.moveaxis(np.array(values), 1, 0) for key, values in found.items()}


@pytest.mark.parametrize("name", ["smollm3_list_sliding", "gemma2", "gpt_oss"])
def test_columns_are_those_of_eager_attention(tmp_path, name):
    study = Study(tmp_path, name)
    study.run(tmp_path / "out", "A", "--quiet")
    probes = read_probes(tmp_path / "out")
    assert {(one["kind"], one["period"], one["copies"]) for one in probes} == {("induction", 50, 2), ("prefix", 25, 4), ("induction_far", 64, 2)}
    expected = expected_values(tmp_path / "A", probes)
    heads = pandas.read_csv(tmp_path / "out" / "heads.csv").set_index(["layer", "q_head"])
    curves = pandas.read_csv(tmp_path / "out" / "curves.csv").query("curve == 'induction_far'").set_index(["layer", "q_head"])
    sizes = np.full(BLOCKS, 1.0) * [len(range(block, TEXTS, BLOCKS)) for block in range(BLOCKS)]
    wanted = {
        "induction": expected["induction", 50][0],
        "previous_random": expected["induction", 50][1],
        "prefix": expected["prefix", 25][0],
        "far": expected["induction_far", 64][0],
    }
    assert len(heads) == wanted["prefix"][0].size
    for layer, head in heads.index:
        for column, values in wanted.items():
            row = heads.loc[layer, head] if column in COLUMNS else curves.loc[layer, head]
            key = column if column in COLUMNS else "value"
            own = values[:, layer, head]
            assert len(own) == SEQUENCES
            assert abs(row[key] - own.mean()) <= 2e-3 * max(own.mean(), 0.05), (layer, head, column)
            replicates = [np.delete(own, np.arange(block, SEQUENCES, BLOCKS)).mean() for block in range(BLOCKS)]
            error = bands_reference.jackknife(own.mean(), np.array(replicates), sizes)
            assert row[f"{key}_se"] == pytest.approx(error, rel=2e-2, abs=2e-5), (layer, head, column)
    assert (curves.x == 64).all()


def test_tokens_are_uniform_and_not_special(tmp_path):
    study = Study(tmp_path, "llama_gqa")
    study.run(tmp_path / "out", "A", "--quiet")
    probes = read_probes(tmp_path / "out")
    assert [probe["id"] for probe in probes] == list(range(3 * SEQUENCES))
    for probe in probes:
        tokens, begin, period, length = probe["tokens"], probe["begin"], probe["period"], probe["length"]
        assert begin == 1 and tokens[0] == SPECIAL["<s>"]
        assert len(tokens) == begin + (probe["copies"] - 1) * period + length
        for copy in range(1, probe["copies"]):
            assert tokens[begin + copy * period :][:length] == tokens[begin : begin + length]
    drawn = np.array([token for probe in probes for token in probe["tokens"][1 : 1 + probe["length"]]])
    assert drawn.min() == len(SPECIAL) and drawn.max() == VOCAB - 7, "no special token, and none that the tokenizer lacks"
    counts = np.bincount(drawn)[len(SPECIAL) :]
    chi2 = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert chi2 < len(counts) + 4 * np.sqrt(2 * len(counts)), "uniform"
    assert len({tuple(probe["tokens"]) for probe in probes}) == len(probes)


def test_a_second_capture_that_is_made_once(tmp_path):
    study = Study(tmp_path, "llama_gqa", "smollm3_interval")
    out = tmp_path / "out"
    study.run(out, "A", "--quiet", probes=None)
    heads = pandas.read_csv(out / "heads.csv")
    assert heads[list(COLUMNS)].isna().all().all() and not (out / "probes.jsonl").exists() and not (out / "probes").exists()
    main = (out / "checkpoints" / "A" / "moments.safetensors").stat()
    dry = study.run(tmp_path / "out", "A", "--dry-run").stdout
    assert "measure probes in addition to what exists" in dry and "192 synthetic documents" in dry and "1 checkpoint to measure" in dry
    study.run(out, "A", "--quiet")
    heads = pandas.read_csv(out / "heads.csv")
    assert heads[[*COLUMNS, *(f"{column}_se" for column in COLUMNS)]].notna().all().all()
    assert (out / "checkpoints" / "A" / "moments.safetensors").stat().st_mtime_ns == main.st_mtime_ns
    summary = json.loads((out / "summary.json").read_text())
    assert "mean_induction" in json.dumps(summary)
    # A second run finds everything; one that was interrupted before the probes measures only them.
    probes = out / "probes" / "A" / "moments.safetensors"
    written = probes.stat().st_mtime_ns
    assert "tables: up to date" in study.run(out, "A").stderr
    assert probes.stat().st_mtime_ns == written
    shutil.rmtree(out / "probes" / "A")
    study.run(out, "A", "--quiet")
    assert probes.exists() and pandas.read_csv(out / "heads.csv").equals(heads)
    # Damaged ones are measured again.
    probes.write_bytes(probes.read_bytes()[:-8] + b"\0" * 8)
    done = study.run(out, "A")
    assert "has changed since it was written" in done.stderr and pandas.read_csv(out / "heads.csv").equals(heads)
    # Another label keeps the capture; without the key its numbers and its file go.
    (tmp_path / "Renamed").symlink_to(tmp_path / "A")
    written = probes.stat().st_mtime_ns
    study.run(out, ["Renamed"], "--quiet")
    assert (out / "probes" / "Renamed" / "moments.safetensors").stat().st_mtime_ns == written and not (out / "probes" / "A").exists()
    study.run(out, ["Renamed"], "--quiet", probes=None)
    assert pandas.read_csv(out / "heads.csv")[list(COLUMNS)].isna().all().all() and not (out / "probes.jsonl").exists()
    # A fresh study gives the same numbers.
    study.run(tmp_path / "fresh", ["Renamed"], "--quiet")
    for table in ("heads.csv", "curves.csv"):
        fresh = pandas.read_csv(tmp_path / "fresh" / table)
        if table == "heads.csv":
            assert fresh[list(COLUMNS)].equals(heads[list(COLUMNS)])


def test_several_models_have_their_own(tmp_path):
    study = Study(tmp_path, "llama_gqa", "smollm3_interval")
    models_ = [dict(label=label, path=label, context=CONTEXT) for label in "AB"]
    study.run(tmp_path / "out", "AB", "--quiet", phases=None, models=models_)
    assert {tuple(probe["models"]) for probe in read_probes(tmp_path / "out")} == {("A",), ("B",)}
    heads = pandas.read_csv(tmp_path / "out" / "heads.csv")
    assert heads[list(COLUMNS)].notna().all().all() and set(heads.checkpoint) == {"A", "B"}


def test_what_is_impossible_is_said_at_once(tmp_path):
    study = Study(tmp_path, "llama_gqa", context=100)
    done = study.run(tmp_path / "out", "A", code=3)
    assert "study.yaml:" in done.stderr and "probes" in done.stderr and "101" in done.stderr
    assert not (tmp_path / "out").exists()
    assert "expected true or false" in study.run(tmp_path / "out", "A", code=3, probes=3).stderr
    both = dict(name="P", checkpoints=[dict(label="A", vectors="A")])
    captured = study.run(tmp_path / "out", "A", code=3, phases=[both], **dict.fromkeys(["corpus", "dtype", "sliding", "blocks"]))
    assert "probes is for checkpoints with weights" in captured.stderr


@pytest.mark.skipif(not MPIRUN, reason="built without MPI")
def test_processes_give_the_same(tmp_path):
    study = Study(tmp_path, "smollm3_list_sliding")
    study.run(tmp_path / "one", "A", "--quiet")
    command = [MPIRUN, "-n", "2", engine.program(), "run", study.write("A"), "--out", tmp_path / "two", "--format", "json", "--quiet"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, env={**os.environ, **ALLOW}, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    one, two = (pandas.read_csv(tmp_path / out / "heads.csv") for out in ("one", "two"))
    assert one[list(COLUMNS)].equals(two[list(COLUMNS)]), "bit for bit"


def test_made_heads_are_found(tmp_path):
    """A head that looks at the token before, and one that looks for what followed the same word."""
    model = test_made_heads.write_model(tmp_path / "model")
    rng = np.random.default_rng(2)
    test_made_heads.write_corpus(tmp_path / "corpus.jsonl", [rng.permutation(test_made_heads.VOCAB) for _ in range(4)])
    experiment = dict(
        name="Made", corpus=dict(path="corpus.jsonl", min_tokens=1), dtype="float32", components=2, probes=True,
        phases=[dict(name="P", context=test_made_heads.CONTEXT, checkpoints=[dict(label="A", path=str(model))])],
    )  # fmt: skip
    (tmp_path / "made.yaml").write_text(json.dumps(experiment))
    done = engine.run("run", tmp_path / "made.yaml", "--out", tmp_path / "out", "--format", "json", "--quiet")
    assert done.code == 0, done.stderr
    heads = pandas.read_csv(tmp_path / "out" / "heads.csv").set_index(["layer", "q_head"])
    previous, induction = (0, test_made_heads.PREVIOUS), (1, 0)
    assert heads.previous_random[previous] > 0.95 and (heads.previous_random.drop(previous) < 0.2).all()
    # Of 50 tokens out of 80 some stand twice in the piece itself: these share their attention.
    assert heads.induction[induction] > 0.6 and (heads.induction.drop(induction) < 0.1).all()
    assert heads.prefix[induction] > 0.6 and (heads.prefix.drop(induction) < 0.2).all()
    far = pandas.read_csv(tmp_path / "out" / "curves.csv").query("curve == 'induction_far'").set_index(["layer", "q_head"])
    assert far.value[induction] > 0.4 and re.fullmatch("64(.0)?", str(far.x[induction]))
