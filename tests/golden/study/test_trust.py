"""What happens between two runs: no result is out of date, and none mixes two inputs."""

import json
import re

import pytest

import engine
from trust_checks import check_against_fresh, write_tokenizer
from trust_study import DOCUMENTS, LENGTH, YARN, base_name, good, inodes, mark, pristine, study, tables, write_model  # noqa: F401 (fixtures)

CORPUS = {"path": "corpus.jsonl", "documents": DOCUMENTS}
EXPERIMENT_EDITS = {
    "name": dict(name="Other"),
    "path": dict(corpus={**CORPUS, "path": "others.jsonl"}),
    "path to the same": dict(corpus={**CORPUS, "path": "same.jsonl"}),
    "field": dict(corpus={**CORPUS, "field": "others"}),
    "id": dict(corpus={**CORPUS, "id": "name"}),
    "fewer documents": dict(corpus={"path": "corpus.jsonl", "documents": 9}),
    "min_tokens": dict(corpus={"path": "corpus.jsonl", "documents": DOCUMENTS, "min_tokens": LENGTH - 1}),
    "heads": dict(heads={"count": 5}),
    "seed of heads": dict(heads={"count": 5, "seed": 1}),
    "tokenizer": dict(tokenizer="tokenizer.json"),
    "model": dict(model="models"),
    "dtype": dict(dtype="bfloat16"),
    "device": dict(device="cpu"),
    "memory": dict(memory="1GiB"),
    "backend": dict(backend="ropewalk"),
    "trust_remote_code": dict(trust_remote_code=False),
    "blocks": dict(blocks=5),
    "sliding": dict(sliding=True),
    "pre_rope": dict(pre_rope=False),
    "lags": dict(lags=False),
    "plasticity": dict(plasticity=True),
    "rows": dict(rows=5),
    "loss": dict(loss=True),
    "vectors": dict(vectors="uniform"),
    "components": dict(components=2),
    "portraits": dict(portraits=["A"]),
    "axis": dict(axis="log-steps", phases=[{"name": "P", "context": LENGTH, "checkpoints": [
        {"label": "init", "random": 0}, {"label": "A", "path": "A", "step": 5}]}]),
    "figures": dict(figures={"statistics": ["r2cv_q"], "portraits": [["r_q", "r2cv_q"]], "distance": ["L0H1"]}),
    "chunk": dict(corpus={"path": "corpus.jsonl", "documents": DOCUMENTS, "chunk": True}),
}


def write_others(study):
    """Next to the tokens: other tokens of the same length in another field and file, names, a tokenizer, a folder of models."""
    others = [row[::-1] for row in study.rows]
    rows = [{"tokens": row, "others": other, "name": f"n{i}"} for i, (row, other) in enumerate(zip(study.rows, others))]
    (study.root / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (study.root / "same.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (study.root / "others.jsonl").write_text("".join(json.dumps({"tokens": other}) + "\n" for other in others))
    write_tokenizer(study.root)
    (study.root / "models").mkdir()
    write_model(study.root / "models" / "step-1", 3, base_name(), rope_parameters=YARN)
    (study.root / "models" / "step-2").symlink_to(study.root / "A")


# What a setting of the experiment changes in words only, or in what is written beside the numbers.
KEPT = ("name", "path to the same", "id", "min_tokens", "device", "memory", "backend", "trust_remote_code", "components", "portraits", "axis", "figures", "tokenizer", "model", "pre_rope", "lags")


@pytest.mark.parametrize("edit", EXPERIMENT_EDITS)
def test_an_edit_of_the_experiment(study, tmp_path, edit):
    write_others(study)
    old = inodes(study.root / "out")
    study.write(**EXPERIMENT_EDITS[edit])
    # Vectors have to be written, and cut texts may be dealt to other blocks.
    exactly = edit not in ("vectors", "chunk")
    result = check_against_fresh(study, tmp_path, exactly) if edit not in ("name", "pre_rope", "lags") else None
    if edit in ("pre_rope", "lags"):  # a capture that keeps more than is wanted will do
        good(study.run(study.root / "out"))
    if edit == "name":
        refused = study.run(study.root / "out")
        assert refused.code == 0, "its own file, under another name"
        good(study.run(tmp_path / "fresh"))
        assert tables(study.root / "out") == tables(tmp_path / "fresh")
        assert b"Other" in (study.root / "out" / "figures" / "position_signal.vl.json").read_bytes()
    if edit == "fewer documents":
        assert "documents: 12 → 9" in result.stderr
    if edit == "axis":  # `report` reads it there
        assert json.loads((study.root / "out" / "manifest.json").read_text())["settings"]["axis"] == "log-steps"
    if edit not in ("sliding", "vectors", "chunk"):  # has no effect on a model as small as this
        assert (inodes(study.root / "out") == old) == (edit in KEPT)


def test_a_dry_run_says_why_and_touches_nothing(study):
    out = study.root / "out"
    before = {path: mark(path) for path in out.rglob("*")}
    for edit, why in (dict(blocks=5), "blocks: 4 → 5"), (dict(corpus={**CORPUS, "documents": 9}), "documents: 12 → 9, which"):
        study.write(**edit)
        assert good(study.run(out, "--dry-run")).stdout.count(f"measure ({why}") == 2
    assert {path: mark(path) for path in out.rglob("*")} == before


def test_other_numerics_measure_again(study):
    """The description of a capture by an older program."""
    out = study.root / "out"
    description = out / "checkpoints" / "A" / "capture.json"
    info = json.loads(description.read_text())
    description.write_text(json.dumps({**info, "numerics": info["numerics"] - 1}))
    old, whole = inodes(out), tables(out)
    result = good(study.run(out))
    assert f"A: measured again: numerics: {info['numerics'] - 1} → {info['numerics']}" in result.stderr
    assert inodes(out)["A"] != old["A"] and inodes(out)["init"] == old["init"] and tables(out) == whole


PHASE_EDITS = {
    "context": dict(context=LENGTH - 3),
    "contexts": dict(context=[LENGTH - 3, LENGTH]),
    "theta": dict(config={"rope_theta": 77.0}),
    "name": dict(name="Q"),
    "seed": dict(checkpoints=[{"label": "init", "random": 1}, {"label": "A", "path": "A"}]),
    "order": dict(checkpoints=[{"label": "A", "path": "A"}, {"label": "init", "random": 0}]),
    "scaling": dict(config={"rope_scaling": {**YARN, "factor": 3.0}}),
    "longest": dict(config={"max_position_embeddings": 4 * LENGTH}),
    "window": dict(config={"sliding_window": None}),
    "label": dict(checkpoints=[{"label": "init", "random": 0}, {"label": "B", "path": "A"}]),
    "path": dict(checkpoints=[{"label": "init", "random": 0}, {"label": "A", "path": "models/step-1"}]),
    "time": dict(checkpoints=[{"label": "init", "random": 0}, {"label": "A", "path": "A", "step": 7, "tokens": 9000}]),
    "revision": dict(checkpoints=[{"label": "init", "random": 0}, {"label": "A", "revision": "step-2"}]),
    "revisions": dict(checkpoints=None, revisions="step-*"),
}


@pytest.mark.parametrize("edit", PHASE_EDITS)
def test_an_edit_of_a_phase(study, tmp_path, edit):
    write_others(study)
    phase = {**study.settings["phases"][0], **PHASE_EDITS[edit]}
    study.write(model="models", phases=[{key: value for key, value in phase.items() if value is not None}])
    check_against_fresh(study, tmp_path)


def test_every_key_of_an_experiment_is_edited():
    """Keys in the parser's spelling, by the function that reads them."""
    study = engine.repository() / "ropewalk" / "study" / "experiment"
    source = "".join((study / f"experiment{part}.cpp").read_text() for part in ("", "_checkpoint", "_corpus", "_phases"))
    # test_datasets, test_published, test_hub, test_several_models, test_ablate
    elsewhere = {"read_corpus": {"dataset"}, "read_checkpoint": {"subfolder", "vectors"}, "read_experiment": {"models", "ablate"}}
    key = r'\{"(\w+)",\s*(?:\[&\]|keep)'
    parts = re.split(r"\n\w[\w:]* (read_\w+)\(", source)
    known = {name: set(re.findall(key, text)) for name, text in zip(parts[1::2], parts[2::2])}
    known = {name: keys - elsewhere.get(name, set()) for name, keys in known.items() if keys and name != "read_model"}
    table = (engine.repository() / "ropewalk" / "moments" / "keep_options.h").read_text()
    known["read_experiment"] |= set(re.findall(r'\{"(\w+)",\s*&KeepOptions::', table))
    phases = [edit for edit in PHASE_EDITS.values()]
    checkpoints = [one for edit in phases for one in edit.get("checkpoints") or []]

    def keys(settings, *outer):
        for name in outer:
            settings = [one[name] for one in settings if one.get(name)]
        return {key for one in settings for key in one}

    edits = [*EXPERIMENT_EDITS.values(), {"phases": PHASE_EDITS}]  # and test_an_edit_of_a_phase
    assert known == {
        "read_experiment": keys(edits), "read_corpus": keys(edits, "corpus"),
        "read_heads": keys(edits, "heads"), "read_phase": keys(phases), "read_config": keys(phases, "config"),
        "read_checkpoint": keys(checkpoints), "read_figures": keys(edits, "figures"),
    }  # fmt: skip
