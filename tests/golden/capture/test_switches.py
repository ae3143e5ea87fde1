"""What a capture keeps: a finished capture stays finished, and what it lacks is added where the experiment names it.

Tests all switches of `KeepOptions`.
"""

import json
import re
import shutil
from pathlib import Path

import engine
import pandas
import pytest
from safetensors import safe_open
from trust_study import DOCUMENTS, TABLES, Study, good, inodes, numbers, tables

HEADER = (engine.repository() / "ropewalk/moments/keep_options.h").read_text()
# By key: whether a capture keeps it by default. A count is kept where it is not 0.
SWITCHES = {key: value not in ("false", "0") for key, value in re.findall(r"^  (?:bool|KeepCount) (\w+)(?: = |\{)(\w+)\}?;", HEADER, re.M)}
OLDER = Path(__file__).resolve().parents[1] / "older_study"
COUNTED = set(re.findall(r"^  KeepCount (\w+)", HEADER, re.M))
OFF, ON = ({key: value[key in COUNTED] for key in SWITCHES} for value in ((False, 0), (True, 32)))
CORPUS = {"path": "corpus.jsonl", "documents": DOCUMENTS}


def test_all_switches_are_here():
    assert SWITCHES.keys() == set(re.findall(r"&KeepOptions::(\w+)", HEADER)) and len(SWITCHES) >= 3


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Studies of one model: with nothing and with everything named, and with everything but one."""
    study = Study(tmp_path_factory.mktemp("switches") / "study")
    none, every = OFF, ON
    for name, keep in {"none": none, "every": every, "default": {}, **{key: {**none, key: ON[key]} for key in SWITCHES}}.items():
        study.write(**keep)
        good(study.run(study.root / name))
    return study


@pytest.fixture
def copied(results, tmp_path):
    """Copies one of these studies with its results, so that a test can change it."""

    def copy(name):
        others = {"none", "every", "default", *SWITCHES} - {name}
        shutil.copytree(results.root, tmp_path / "study", ignore=shutil.ignore_patterns(*others))
        made = object.__new__(Study)
        made.__dict__ = {**results.__dict__, "root": tmp_path / "study"}
        (made.root / name).rename(made.root / "out")
        manifest = made.root / "out" / "manifest.json"
        manifest.write_text(manifest.read_text().replace(str(results.root), str(made.root)))
        return made

    return copy


def described(out, label="A"):
    return out / "checkpoints" / label / "capture.json"


def age(out, name, label="A"):
    """A capture as an earlier version of the program would have measured it."""
    info = json.loads(described(out, label).read_text())
    info["kept"][name]["numerics"] -= 1
    described(out, label).write_text(json.dumps(info))


def flagged(out):
    """Labels whose heads have the flag."""
    heads = pandas.read_csv(out / "heads.csv")
    return set(heads.checkpoint[heads.flag.fillna("").str.contains("not_measured")])


def same_results(out, expected):
    assert tables(out) == tables(expected) and numbers(out) == numbers(expected)
    assert (out / "loss.csv").exists() == (expected / "loss.csv").exists()
    if (out / "loss.csv").exists():
        assert (out / "loss.csv").read_bytes() == (expected / "loss.csv").read_bytes()


@pytest.mark.parametrize("key", SWITCHES)
def test_what_is_named_and_missing_is_measured_beside(results, copied, key):
    study = copied("none")
    out = study.root / "out"
    study.write(**{**OFF, key: ON[key]})
    before = inodes(out)
    assert good(study.run(out, "--dry-run")).stdout.count(f"measure {key} in addition to what exists") == 2
    assert inodes(out) == before
    said = good(study.run(out)).stderr
    assert f"A: {key} measured in addition to what exists" in said and "measured again" not in said
    same_results(out, results.root / key)
    weights = {name: json.loads(described(results.root / name).read_text()) for name in ("none", key)}
    now = json.loads(described(out).read_text())
    assert now["kept"] == weights[key]["kept"] and now.get("head_weights") == weights[key].get("head_weights")
    assert now["seconds"] > weights["none"]["seconds"]
    before = inodes(out)
    again = good(study.run(out))
    assert inodes(out) == before and "beside" not in again.stderr
    assert not list((out / "checkpoints").glob(".*")), "nothing temporary stays"


def test_several_are_measured_in_one_pass(results, copied):
    study = copied("none")
    study.write(**ON)
    said = good(study.run(study.root / "out")).stderr
    assert f"A: {', '.join(sorted(SWITCHES))} measured in addition to what exists" in said and said.count("A: running in") == 1
    same_results(study.root / "out", results.root / "every")


@pytest.mark.parametrize("key", SWITCHES)
def test_what_is_not_named_is_no_reason_to_measure(results, copied, key):
    study = copied("none")
    out = study.root / "out"
    study.write(**{other: value for other, value in OFF.items() if other != key})
    before = inodes(out)
    assert good(study.run(out, "--dry-run")).stdout.count("measured already") == 2
    good(study.run(out))
    assert inodes(out) == before and tables(out) == tables(results.root / "none")
    missing = any(SWITCHES.values())  # of what is kept by default
    assert flagged(out) == ({"init", "A"} if missing else set())
    assert flagged(results.root / "default") == set()


@pytest.mark.parametrize("key", SWITCHES)
def test_what_is_there_and_not_asked_for_stays(results, copied, key):
    study = copied("every")
    out = study.root / "out"
    before = inodes(out)
    study.write(**{**OFF, key: ON[key]})
    good(study.run(out))
    assert inodes(out) == before and tables(out) == tables(results.root / key)
    study.write(**ON)
    good(study.run(out))
    assert inodes(out) == before
    same_results(out, results.root / "every")


@pytest.mark.parametrize("key", SWITCHES)
def test_other_numerics_of_what_is_named_measure_that_alone(results, copied, key):
    study = copied("every")
    out = study.root / "out"
    age(out, key)
    before = inodes(out)
    study.write(**ON)
    said = good(study.run(out)).stderr
    assert f"A: {key} measured in addition to what exists" in said and "init: running" not in said and "measured again" not in said
    assert inodes(out)["init"] == before["init"] and inodes(out)["A"] != before["A"]
    same_results(out, results.root / "every")


@pytest.mark.parametrize("key", [key for key in SWITCHES if key != "lags"])  # whose earlier version is read, below
def test_other_numerics_of_what_is_not_named_leave_columns_empty(results, copied, key):
    study = copied("every")
    out = study.root / "out"
    age(out, key)
    before = inodes(out)
    study.write(**{other: value for other, value in ON.items() if other != key})
    good(study.run(out))
    assert inodes(out) == before
    assert flagged(out) == ({"A"} if SWITCHES[key] else set())
    assert json.loads(described(out).read_text())["kept"][key]["numerics"] == json.loads(described(out, "init").read_text())["kept"][key]["numerics"] - 1


def test_what_only_does_not_ask_for_is_kept_as_it_is(results, copied):
    study = copied("none")
    out = study.root / "out"
    before = inodes(out)
    study.write(**ON)
    good(study.run(out, "--only", "init"))
    assert inodes(out)["A"] == before["A"] and inodes(out)["init"] != before["init"]
    assert flagged(out) == {"A"}
    good(study.run(out))
    same_results(out, results.root / "every")


def test_documents_are_added_to_what_was_completed(results, copied):
    study = copied("none")
    out = study.root / "out"
    shutil.rmtree(out)
    study.write(corpus={**CORPUS, "documents": 9}, **OFF)
    good(study.run(out))
    study.write(**ON)
    assert good(study.run(out, "--dry-run")).stdout.count("in addition to what exists, and add documents, 9 of 12 documents done") == 2
    said = good(study.run(out)).stderr
    assert "measured in addition to what exists" in said and "9 of 12 documents exist already" in said
    one, other = (safe_open(folder / "checkpoints/A/moments.safetensors", "numpy") for folder in (out, results.root / "every"))
    assert set(one.keys()) == set(other.keys())
    for name in one.keys():
        if name.startswith(("document.", "plasticity.")):
            assert (one.get_tensor(name) == other.get_tensor(name)).all(), name


def test_vectors_stay_where_something_is_added(copied):
    study = copied("none")
    out = study.root / "out"
    shutil.rmtree(out)
    study.write(vectors="uniform", **OFF)
    good(study.run(out))
    before = json.loads(described(out).read_text())["vector_files"]
    study.write(vectors="uniform", **{**OFF, "plasticity": True})
    assert "A: plasticity measured in addition to what exists" in good(study.run(out)).stderr
    assert json.loads(described(out).read_text())["vector_files"] == before
    assert len(list((out / "checkpoints/A/vectors").iterdir())) == len(list((out / "checkpoints/init/vectors").iterdir())) > 0


def test_a_capture_of_an_earlier_edition_is_read_and_not_measured_again(tmp_path):
    """older_study/A was made by the last version that had one number for all numerics, with everything kept."""
    info = json.loads((OLDER / "A" / "capture.json").read_text())
    assert info["numerics"] == 7 and sorted(info["kept"]) == ["lags", "loss", "plasticity", "pre_rope"] and isinstance(info["kept"], list)
    for name in ("corpus.jsonl", "model"):
        (tmp_path / name).symlink_to(OLDER / name)
    settings = {
        "name": "Older", "corpus": {"path": "corpus.jsonl"}, "dtype": "float32", "blocks": 2, "components": 2, "rows": 0,
        "phases": [{"name": "P", "context": 24, "checkpoints": [{"label": "A", "path": "model"}]}],
    }  # fmt: skip
    for name, keep in {"out": {}, "named": dict.fromkeys(("pre_rope", "plasticity", "loss"), True)}.items():
        (tmp_path / "study.yaml").write_text(json.dumps({**settings, **keep}))
        shutil.copytree(OLDER / "A", tmp_path / name / "checkpoints" / "A")
        fresh = engine.run("run", tmp_path / "study.yaml", "--out", tmp_path / f"fresh_{name}", "--format", "json")
        done = good(engine.run("run", tmp_path / "study.yaml", "--out", tmp_path / name, "--format", "json"))
        assert "A: measured already" in done.stderr and good(fresh)
        assert (tmp_path / name / "checkpoints/A/moments.safetensors").read_bytes() == (OLDER / "A" / "moments.safetensors").read_bytes()
        assert flagged(tmp_path / name) == {"A"}, "it has no rows"
        for table in TABLES:  # numbers from another machine differ in the last digits
            assert (tmp_path / name / table).read_text().count("\n") == (tmp_path / f"fresh_{name}" / table).read_text().count("\n"), table


def test_logits_at_single_distances_stay_until_windows_are_asked_for(tmp_path):
    for name in ("corpus.jsonl", "model"):
        (tmp_path / name).symlink_to(OLDER / name)
    labels = [{"label": "A", "path": "model"}, {"label": "B", "path": "model"}]
    settings = {"name": "Older", "corpus": {"path": "corpus.jsonl"}, "dtype": "float32", "blocks": 2, "components": 2}
    shutil.copytree(OLDER / "A", tmp_path / "out" / "checkpoints" / "A")

    def run(checkpoints, **keep):
        phases = [{"name": "P", "context": 24, "checkpoints": checkpoints}]
        (tmp_path / "study.yaml").write_text(json.dumps({**settings, "phases": phases, **keep}))
        said = good(engine.run("run", tmp_path / "study.yaml", "--out", tmp_path / "out", "--format", "json")).stderr
        heads, curves = (pandas.read_csv(tmp_path / "out" / f"{table}.csv") for table in ("heads", "curves"))
        return said, heads.set_index("checkpoint"), curves

    said, heads, curves = run(labels[:1])
    assert "A: measured already" in said and "single distances" not in said
    assert heads.flag.str.contains("single_distances").all() and heads.dist_r.notna().any()
    assert (curves.x_end == curves.x + 1).all()
    said, heads, curves = run(labels)  # B is measured now, with windows
    assert "A: found logits at single distances" in said and "A: measured already" in said
    assert set(curves.checkpoint) == {"B"} and heads.loc["A"].dist_r.isna().all() and heads.loc["B"].dist_r.notna().any()
    assert heads.loc["A"].dist_range.notna().any()
    said, heads, curves = run(labels, lags=True)
    # Weights are the same: the older capture is taken for A or for B.
    assert said.count(": lags measured in addition to what exists") == 1 and "single distances" not in said
    assert set(curves.checkpoint) == {"A", "B"} and not heads.flag.fillna("").str.contains("single_distances").any()
