"""What a capture keeps: a finished one stays finished, and what it lacks is measured beside it where the experiment names it.

Over all switches of `KeepOptions`.
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
# By key, whether a capture keeps it by default: what is counted, where the number is not 0.
SWITCHES = {key: value not in ("false", "0") for key, value in re.findall(r"^  (?:bool|KeepCount) (\w+)(?: = |\{)(\w+)\}?;", HEADER, re.M)}
OLDER = Path(__file__).resolve().parents[1] / "older_study"
COUNTED = set(re.findall(r"^  KeepCount (\w+)", HEADER, re.M))
OFF, ON = ({key: value[key in COUNTED] for key in SWITCHES} for value in ((False, 0), (True, 32)))
CORPUS = {"path": "corpus.jsonl", "documents": DOCUMENTS}


def test_all_switches_are_here():
    assert SWITCHES.keys() == set(re.findall(r"&KeepOptions::(\w+)", HEADER)) and len(SWITCHES) >= 3


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Studies of one model: with nothing and with everything named, and that but one."""
    study = Study(tmp_path_factory.mktemp("switches") / "study")
    none, every = OFF, ON
    for name, keep in {"none": none, "every": every, "default": {}, **{key: {**none, key: ON[key]} for key in SWITCHES}}.items():
        study.write(**keep)
        good(study.run(study.root / name))
    return study


@pytest.fixture
def copied(results, tmp_path):
    """Copies the study, to change it, with results of one of those names."""

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
    """As an earlier version of the program would have measured it."""
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
    assert good(study.run(out, "--dry-run")).stdout.count(f"measure {key} beside what is there") == 2
    assert inodes(out) == before
    said = good(study.run(out)).stderr
    assert f"A: {key} measured beside what is there" in said and "measured again" not in said
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
    assert f"A: {', '.join(sorted(SWITCHES))} measured beside what is there" in said and said.count("A: running in") == 1
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
    assert f"A: {key} measured beside what is there" in said and "init: running" not in said and "measured again" not in said
    assert inodes(out)["init"] == before["init"] and inodes(out)["A"] != before["A"]
    same_results(out, results.root / "every")


@pytest.mark.parametrize("key", SWITCHES)
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


def test_what_has_no_switch_is_always_asked_for(results, copied):
    study = copied("default")
    out = study.root / "out"
    age(out, "lags")
    study.write()
    said = good(study.run(out)).stderr
    assert "A: lags measured beside what is there" in said and "measured again" not in said
    same_results(out, results.root / "default")


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
    assert good(study.run(out, "--dry-run")).stdout.count("beside what is there, and add documents, 9 of 12 documents done") == 2
    said = good(study.run(out)).stderr
    assert "measured beside what is there" in said and "9 of 12 documents are there already" in said
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
    assert "A: plasticity measured beside what is there" in good(study.run(out)).stderr
    assert json.loads(described(out).read_text())["vector_files"] == before
    assert len(list((out / "checkpoints/A/vectors").iterdir())) == len(list((out / "checkpoints/init/vectors").iterdir())) > 0


def test_a_capture_of_an_earlier_edition_is_read_and_not_measured_again(tmp_path):
    """older_study/A was made by the last program that had one version of all numerics, with everything kept."""
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
        for table in TABLES:  # what was measured on another machine differs in the last digits
            assert (tmp_path / name / table).read_text().count("\n") == (tmp_path / f"fresh_{name}" / table).read_text().count("\n"), table
