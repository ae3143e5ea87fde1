"""A study whose stages overlap: captures are written and analysed while the next checkpoint is measured. Its numbers are those of stages one after
another, bit for bit, whatever fails.
"""

import collections
import json
import os
import random
import re
import subprocess
import time

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

import breakable
import engine
from breakable import VOCAB, leftovers, results

CONTEXT, DOCUMENTS, KILLS = 48, 120, 50
LABELS = ["init", "A", "B", "C", "D"]


class Study:
    def __init__(self, root):
        self.root = root
        setup = breakable.Setup(root)
        setup.write_corpus([dict(id=key, tokens=random.Random(key).choices(range(VOCAB), k=CONTEXT)) for key in range(DOCUMENTS)])
        checkpoints = [{"label": "init", "random": 1}]
        for number, label in enumerate(LABELS[1:]):
            tensors = {name: values + np.float32(0.1 * number) * np.cos(np.arange(values.size, dtype=np.float32)).reshape(values.shape) for name, values in breakable.make_tensors().items()}
            (root / label).mkdir()
            (root / label / "config.json").write_text(json.dumps(breakable.CONFIG))
            (root / label / breakable.WEIGHTS).write_bytes(breakable.file_bytes(*breakable.layout(tensors)))
            checkpoints.append({"label": label, "path": label})
        (root / "run.yaml").write_text(json.dumps({
            "name": "Run", "corpus": {"path": "tokens.jsonl"}, "dtype": "float32", "blocks": 8,
            "phases": [{"name": "P", "context": CONTEXT, "checkpoints": checkpoints}]}))  # fmt: skip

    def command(self, out):
        return ["run", self.root / "run.yaml", "--out", out, "--format", "json"]

    def run(self, out, *options, environment=None):
        done = engine.run(*self.command(out), *options, environment=environment)
        assert done.code == 0, done.stderr
        return done


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def straight(study):
    out = study.root / "straight"
    study.stages = study.run(out, "--log-level", "debug").stderr
    return out


def headers(lines):
    """How often a file's header, or a config.json, was read."""
    return collections.Counter(re.findall(r"(\S+): header read", lines))


def manifest(out):
    found = json.loads((out / "manifest.json").read_text())
    seconds = found.pop("seconds")
    return found, seconds


def test_plain_order_gives_the_same_bytes(study, straight, tmp_path):
    """One process per checkpoint, so that nothing overlaps."""
    for label in LABELS:
        study.run(tmp_path / "plain", "--only", label)
    assert results(tmp_path / "plain") == results(straight)
    assert manifest(tmp_path / "plain")[0]["tables"] == manifest(straight)[0]["tables"]


@pytest.mark.parametrize("asked", ["0", "1"])
def test_both_ways_of_reading_weights_give_the_same_bytes(study, straight, tmp_path, asked):
    """Through the system's cache of files, and without it, as studies on a GPU do."""
    for label in LABELS[1:]:
        with (study.root / label / breakable.WEIGHTS).open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    environment = {"ROPEWALK_DIRECT_IO": asked, "ROPEWALK_CACHE": str(tmp_path / "cache")}  # no hash is remembered
    done = study.run(tmp_path / "out", "--log-level", "debug", environment=environment)
    assert (done.stderr.count("without the system's cache") > 0) == (asked == "1")
    assert set(headers(done.stderr).values()) == {1}
    assert results(tmp_path / "out") == results(straight)
    assert manifest(tmp_path / "out")[0]["tables"] == manifest(straight)[0]["tables"]


def test_headers_are_read_once(study, straight):
    """Audit, plan, the search for captures, reading ahead and measuring all open the checkpoints."""
    files = [study.root / label / name for label in LABELS[1:] for name in ("config.json", breakable.WEIGHTS)]
    assert headers(study.stages) == {str(file): 1 for file in files}


def test_time_line(study, straight):
    stages = {(stage, label): (float(begin), float(end)) for begin, end, stage, label in
              re.findall(r"time line: +([\d.]+) to +([\d.]+) s  (\w+) ?(\w*)", study.stages)}  # fmt: skip
    assert {stage for stage, _ in stages} >= {"open", "documents", "read", "measure", "write", "analyze", "tables", "figures"}
    for label, following in zip(LABELS, LABELS[1:]):
        assert stages["measure", label][1] <= stages["write", label][0] + 1e-3
        assert stages["write", label][0] <= stages["measure", following][1], "written only after the next was measured"
    seconds = manifest(straight)[1]
    assert seconds["total"] >= seconds["measure"] > 0 and seconds["analyze"] > 0 and seconds["write"] > 0
    assert seconds["tokens"] == 0, "the corpus is of ids"


def test_time_line_of_texts(study, tmp_path):
    """The time spent waiting for ids is part of the time spent reading."""
    words = Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "text.jsonl").write_text("".join(json.dumps({"text": " ".join(random.Random(i).choices("abc", k=CONTEXT))}) + "\n" for i in range(DOCUMENTS)))
    settings = json.loads((study.root / "run.yaml").read_text())
    settings |= {"corpus": {"path": str(tmp_path / "text.jsonl")}, "tokenizer": str(tmp_path / "tokenizer.json")}
    settings["phases"][0]["checkpoints"] = [{"label": "A", "path": str(study.root / "A")}]
    (tmp_path / "run.yaml").write_text(json.dumps(settings))
    done = engine.run("run", tmp_path / "run.yaml", "--out", tmp_path / "out", "--format", "json")
    assert done.code == 0, done.stderr
    seconds = manifest(tmp_path / "out")[1]
    assert 0 < seconds["tokens"] <= seconds["documents"] <= seconds["open"]


def test_nothing_to_do_changes_nothing(study, straight):
    before = (straight / "manifest.json").read_bytes()
    study.run(straight)
    assert (straight / "manifest.json").read_bytes() == before


def test_killed_at_any_moment(study, straight, tmp_path):
    out, moments = tmp_path / "out", random.Random(0)
    began = time.monotonic()
    study.run(tmp_path / "timed")
    took = time.monotonic() - began
    for _ in range(KILLS):
        process = subprocess.Popen([engine.program(), *map(str, study.command(out)), "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(moments.uniform(0, 1.5 * took))
        process.kill()
        _, error = process.communicate()
        assert error == ""
        if process.returncode == 0:
            assert results(out) == results(straight)
            os.rename(out, tmp_path / f"done{moments.random()}")
    study.run(out)
    assert leftovers(out) == []
    assert results(out) == results(straight)
