"""The verbs as functions, compared with the program."""

import json
import re
import types

import numpy as np
import pytest
import ropewalk

from conftest import SETTINGS, ropewalk as program

TABLES = ("qk.csv", "heads.csv", "bands.csv", "curves.csv", "changes.csv", "summary.json")


def options(settings):
    return [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", value)]


def test_run_gives_the_programs_files(source, folder, tmp_path):
    study = ropewalk.run(source.root / "study.yaml", tmp_path / "out", format=["json"])
    assert study.folder == tmp_path / "out" and list(study.checkpoints.label) == ["init", "A", "B"]
    for name in TABLES:
        assert (study.folder / name).read_bytes() == (folder / name).read_bytes(), name
    before = (study.folder / "qk.csv").stat().st_mtime_ns
    ropewalk.run(source.root / "study.yaml", tmp_path / "out", format=["json"])
    assert (study.folder / "qk.csv").stat().st_mtime_ns == before, "what is finished is kept"


def test_capture_of_files_and_of_documents(source, tmp_path):
    model, corpus = source.root / "A", source.root / "corpus.jsonl"
    program("capture", model, "--corpus", corpus, "--out", tmp_path / "program", *options(SETTINGS), "--quiet")
    expected = (tmp_path / "program" / "moments.safetensors").read_bytes()
    capture = ropewalk.capture(model, corpus, tmp_path / "module", **SETTINGS)
    assert (tmp_path / "module" / "moments.safetensors").read_bytes() == expected
    assert capture.info["label"] == "A"
    tokens = [json.loads(line)["tokens"] for line in corpus.read_text().splitlines()]
    for documents in (tokens, [{"tokens": row, "other": 1} for row in tokens], [np.array(row) for row in tokens]):
        given = ropewalk.capture(model, documents, **SETTINGS)
        for name, array in capture.tensors.items():
            np.testing.assert_array_equal(given.tensors[name], array, err_msg=name)


def test_loss(source, tmp_path):
    made = ropewalk.loss(source.root / "A", source.root / "corpus.jsonl", tmp_path / "out", context=40, label="A")
    done = program("loss", source.root / "A", "--corpus", source.root / "corpus.jsonl", "--out", tmp_path / "same", "--context", 40, "--label", "A", "--quiet")
    assert done == ""
    for name in ("loss.csv", "loss_documents.csv"):
        assert (made.path / name).read_bytes() == (tmp_path / "same" / name).read_bytes()
    assert made.table.loss[0] == made.value and made.table.loss_se[0] == made.se > 0
    assert made.table.position[1:].tolist() == [0, 1, 2, 4, 8, 16, 32]
    assert made.table.documents[0] == len(made.documents)
    assert (made.documents.tokens == 39).all()
    assert made.documents.loss.mean() == pytest.approx(made.value, rel=1e-6)
    temporary = ropewalk.loss(source.root / "A", [list(range(1, 41))] * 8, context=40)
    folder = temporary.path
    assert folder.exists() and f"{temporary.value:.4f}" in repr(temporary)
    del temporary
    assert not folder.exists()


def test_ablate(source, tmp_path):
    """The same tables as the program's, also for a capture in a temporary folder."""
    rows = [list(json.loads(line)["tokens"]) for line in (source.root / "corpus.jsonl").read_text().splitlines()]
    others = [row[::-1][:40] for row in rows[:4]]
    settings = dict(controls=2, format=["json"])
    captured = ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", tmp_path / "capture", context=40, label="A")
    made = ropewalk.ablate(captured, others, ["top:dist_range:20%", "layer:0"], "distance,window:8", tmp_path / "out", **settings)
    (tmp_path / "others.jsonl").write_text("".join(json.dumps({"tokens": row}) + "\n" for row in others))
    program("ablate", tmp_path / "capture", "--corpus", tmp_path / "others.jsonl", "--heads", "top:dist_range:20%", "--heads", "layer:0",
            "--edit", "distance,window:8", "--controls", 2, "--format", "json", "--out", tmp_path / "same", "--quiet")  # fmt: skip
    for name in ("ablate.csv", "ablate_positions.csv", "ablate_documents.csv", "ablate_controls.csv", "figures/ablate.vl.json"):
        assert (made.path / name).read_bytes() == (tmp_path / "same" / name).read_bytes()
    assert made.table[["set", "edit"]].values.tolist() == [[name, edit] for name in ("top:dist_range:20%", "layer:0") for edit in ("distance", "window:8")]
    assert made.table.real.isna().all() and (made.table.documents == 4).all()
    assert len(made.documents) == 16 and made.positions.position.min() == 0
    first = made.documents[(made.documents.set == "layer:0") & (made.documents.edit == "window:8")]
    assert first.dloss.mean() == pytest.approx(made.table.dloss[3], rel=1e-6)
    assert made.controls.draw.isna().sum() == 4, "the sets themselves"
    assert "layer:0 window:8" in repr(made)
    assert made.figure().name == "ablate" and made.figure().spec["vconcat"]
    temporary = ropewalk.ablate(tmp_path / "capture", others, "0.0", "head", controls=0, format=["json"])
    folder = temporary.path
    assert folder.exists()
    del temporary
    assert not folder.exists()


def test_forecast(source, tmp_path):
    """The same tables as the program's, with a check and without."""
    captured = ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", tmp_path / "capture", context=40, label="A")
    rope = ["none", "theta:x8", "nope"]
    made = ropewalk.forecast(captured, 80, rope, tmp_path / "out", trained=40, format=["json"])
    program("forecast", tmp_path / "capture", "--context", 80, "--trained", 40, *(f"--rope={one}" for one in rope), "--format", "json",
            "--out", tmp_path / "same", "--quiet")  # fmt: skip
    for name in ("forecast.csv", "figures/forecast.vl.json"):
        assert (made.path / name).read_bytes() == (tmp_path / "same" / name).read_bytes()
    assert made.settings.score.is_monotonic_increasing and sorted(made.settings.setting) == sorted(rope)
    assert len(made.heads) == 3 * made.settings.heads[0] and made.heads.q_head.dtype == int
    assert made.losses is made.documents is made.check is None
    assert made.figure().name == "forecast" and made.figure().spec["vconcat"]
    assert "none: 0." in repr(made) or "none: 1." in repr(made)
    rows = [list(json.loads(line)["tokens"]) for line in (source.root / "corpus.jsonl").read_text().splitlines()]
    long = [row[:40] + row[::-1][:40] for row in rows[:4]]
    checked = ropewalk.forecast(tmp_path / "capture", 80, ",".join(rope), trained=40, check=True, corpus=long, format=["json"])
    assert set(checked.losses.setting) == set(rope) and len(checked.check) == 9
    assert checked.documents.document.nunique() == 4
    folder = checked.path
    del checked
    assert not folder.exists()


def test_a_temporary_capture_lives_as_long_as_its_result(source):
    capture = ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", **SETTINGS)
    kept = capture._kept.path
    assert kept.is_dir() and capture.heads
    del capture
    assert not kept.exists()


def test_capture_of_a_model_in_memory(source):
    """An object with `save_pretrained` is a model."""
    import shutil

    model = types.SimpleNamespace(
        save_pretrained=lambda folder: shutil.copytree(source.root / "A", folder), config=types.SimpleNamespace(_name_or_path="org/tiny")
    )
    capture = ropewalk.capture(model, source.root / "corpus.jsonl", **SETTINGS)
    expected = ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", **SETTINGS)
    assert capture.info["label"] == "tiny" and capture.info["weights"] == expected.info["weights"]


def test_a_capture_of_captured_vectors(source, tmp_path):
    ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", tmp_path / "a", vectors="all", **SETTINGS)
    made = ropewalk.capture(vectors_from=tmp_path / "a")
    info = json.loads((tmp_path / "a" / "capture.json").read_text())
    assert made.info["label"] == "a" and made.info["weights"].startswith("vectors:") and made.info["documents"] == info["documents"]


def test_analyze_figures_and_export(source, folder, tmp_path):
    captures = [folder / "checkpoints" / label for label in ("A", "B")]
    study = ropewalk.analyze(captures, tmp_path / "tables", components=3, between=[("A", "B")])
    program("analyze", *captures, "--out", tmp_path / "theirs", "--components", 3, "--between", "A,B", "--quiet")
    for name in TABLES:
        assert (study.folder / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name
    (tmp_path / "tables" / "notes.txt").write_text("mine")
    with pytest.raises(ropewalk.UsageError, match="holds notes.txt, which ropewalk analyze did not write"):
        ropewalk.analyze(captures, tmp_path / "tables")
    assert len(ropewalk.analyze(captures[0]).heads) == len(study.heads) / 2
    files = ropewalk.figures(study, tmp_path / "figures", format=["json"], statistic=["pr_q"], portrait=[("r2cv_q", "pr_q")])
    assert {study.figure("pr_q").name + ".vl.json", study.portrait("r2cv_q", "pr_q").name + ".vl.json"} <= {path.name for path in files}
    out = ropewalk.export(captures[0], "q-filters", tmp_path / "filters")
    assert {path.name for path in out.iterdir()} == {"model.safetensors", "config.json", "ropewalk.json"}


def test_inspect_and_audit(source, tmp_path):
    found = ropewalk.inspect(source.root / "A", context=40, memory="1GiB")
    assert found == json.loads(program("inspect", source.root / "A", "--context", 40, "--memory", "1GiB", "--json")) and found["layers"] == 2
    assert ropewalk.audit(source.root / "study.yaml") == []
    settings = json.loads((source.root / "study.yaml").read_text())
    settings["phases"][0]["checkpoints"].append({"label": "again", "path": str(source.root / "A")})
    settings["corpus"]["path"] = str(source.root / "corpus.jsonl")
    for checkpoint in settings["phases"][0]["checkpoints"]:
        if "path" in checkpoint:
            checkpoint["path"] = str(source.root / checkpoint["path"])
    (tmp_path / "double.yaml").write_text(json.dumps(settings))
    (finding,) = ropewalk.audit(tmp_path / "double.yaml")
    assert finding.kind == "duplicate" and "again" in finding.text


@pytest.mark.parametrize("verb", ["run", "capture", "loss", "ablate", "forecast", "analyze", "figures", "inspect", "audit", "export"])
def test_every_option_is_a_keyword(verb):
    import inspect

    there = {name.strip("_") for name in inspect.signature(getattr(ropewalk, verb)).parameters}
    named = {name.replace("-", "_") for name in re.findall(r"^  (?:-\w,)?--([a-z][\w-]*)", program(verb, "--help"), re.M)}
    # Not options of the functions: some concern the whole program; `inspect` always gives JSON; a dry run is text for readers; `study.figures` is the
    # list.
    missing = named - there - {"help", "quiet", "log_level", "version", "json", "dry_run", "list"}
    assert named and missing <= ({"no_pre_rope", "no_lags"} if verb == "capture" else set())


WRONG = {
    "InputError": (lambda source, out: ropewalk.capture(source.root, source.root / "corpus.jsonl", out), "config.json"),
    "UsageError": (lambda source, out: ropewalk.capture(source.root / "A", source.root / "corpus.jsonl", out, context=-1), "context"),
    "SystemError": (lambda source, out: ropewalk.capture(source.root / "A", source.root / "nothing.jsonl", out), "nothing.jsonl"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_errors_are_one_line(source, tmp_path, kind):
    call, word = WRONG[kind]
    with pytest.raises(getattr(ropewalk, kind), match=re.escape(word)) as error:
        call(source, tmp_path / "out")
    assert "\n" not in str(error.value) and not (tmp_path / "out").exists()


def test_documents_that_are_none(source):
    with pytest.raises(ropewalk.UsageError, match="document 1 is NoneType"):
        ropewalk.capture(source.root / "A", [[1, 2], None])
    for documents, message in {"dict of .'train'.": {"train": [[1, 2]]}, "bytes": b"abc", "document 0 is list": [[1.5]], "document 0 is bytes": [b"abc"]}.items():
        with pytest.raises(ropewalk.UsageError, match=documents):
            ropewalk.capture(source.root / "A", message)
    with pytest.raises(ropewalk.UsageError, match="inspect: found int, expected a path"):
        ropewalk.inspect(3)
    with pytest.raises(ropewalk.UsageError, match="UTF-8"):
        ropewalk.inspect("\udc80")
    with pytest.raises(ropewalk.UsageError, match="corpus: found NoneType"):
        ropewalk.capture(source.root / "A", None)
    with pytest.raises(ropewalk.UsageError, match="model: found int"):
        ropewalk.capture(3, [[1, 2]])
