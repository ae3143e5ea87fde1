"""What `analyze` puts into one table and where its summary goes; files that say something else than they should."""

import json
import re
import shutil
import struct

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet as parquet
import pytest

import engine
import synthetic_run as synthetic
import plain_models
import tiny_models

LABELS = ["step-40", "step-120", "step-1600"]


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    """Captures of one model under three labels."""
    root = tmp_path_factory.mktemp("captures")
    model = plain_models.write(tiny_models.MODELS["llama_gqa"], root / "model")
    rng = np.random.default_rng(5)
    corpus = root / "tokens.jsonl"
    corpus.write_text("".join(json.dumps({"id": i, "tokens": rng.integers(0, 90, 40).tolist()}) + "\n" for i in range(10)))
    done = engine.run("capture", model, "--corpus", corpus, "--out", root / LABELS[0], "--label", LABELS[0], "--context", 40,
                      "--dtype", "float32", "--quiet", "--vectors", "all")  # fmt: skip
    assert done.code == 0, done.stderr
    for label in LABELS[1:]:
        change(root / LABELS[0], root / label, label=label)
    return root


def change(source, target, config=(), **keys):
    """A copy of a capture whose description says something else, in both places where it stands."""
    shutil.copytree(source, target)
    file = target / "moments.safetensors"
    data = file.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    info = json.loads(header["__metadata__"]["ropewalk"])
    info.update(keys)
    info["config"].update(dict(config))
    header["__metadata__"]["ropewalk"] = json.dumps(info)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])
    (target / "capture.json").write_text(json.dumps(info))
    return target


def analyze(*captures, out, options=()):
    return engine.run("analyze", *captures, "--out", out, *options)


def order(table):
    return pandas.read_csv(table).sort_values("order", kind="stable").checkpoint.drop_duplicates().tolist()


def test_order_of_training(captures, tmp_path):
    done = analyze(*(captures / label for label in sorted(LABELS)), out=tmp_path / "tables")
    assert done.code == 0, done.stderr
    assert order(tmp_path / "tables" / "qk.csv") == LABELS
    assert "in the order of training: step-40, step-120, step-1600" in done.stderr
    summary = json.loads((tmp_path / "tables" / "summary.json").read_text())
    assert [(d["from"], d["to"]) for d in summary["differences"]] == [("step-40", "step-120"), ("step-120", "step-1600")]
    kept = analyze(*(captures / label for label in sorted(LABELS)), out=tmp_path / "kept", options=["--keep-order"])
    assert kept.code == 0 and "order of training" not in kept.stderr
    assert order(tmp_path / "kept" / "qk.csv") == sorted(LABELS)


def test_baselines_stand_first(captures, tmp_path):
    init = change(captures / LABELS[0], tmp_path / "init", label="init", random=0)
    for source in ("moments", "vectors"):
        out = tmp_path / source / "qk.csv"
        done = analyze(captures / LABELS[1], init, out=out.parent, options=["--from", source])
        assert done.code == 0, done.stderr
        assert order(out) == ["init", LABELS[1]]
        table = pandas.read_csv(out)
        assert table[table.checkpoint == "init"].flag.str.contains("random_weights").all()
        assert not table[table.checkpoint != "init"].flag.fillna("").str.contains("random_weights").any()


def test_tables_are_a_folder(captures, tmp_path, monkeypatch):
    """As NAME.csv, which --out was once, it is NAME; by default `tables`. The last line says what a precision takes."""
    monkeypatch.chdir(tmp_path)
    files = {"qk.csv", "heads.csv", "bands.csv", "curves.csv", "changes.csv", "summary.json"}
    for given, folder, line in [([], "tables", ""), (["--out", "deep/mine"], "deep/mine", ""),
                                (["--out", "old.csv"], "old", "warning: --out old.csv: tables go to a folder, and this one is old\n")]:  # fmt: skip
        for _ in range(2):  # the second time, the folder holds the tables of the first
            done = engine.run("analyze", captures / LABELS[0], *given)
            assert done.code == 0 and done.stderr.startswith(line) and ("warning: --out" in done.stderr) == bool(line), done.stderr
            assert f"{folder}: qk.csv, heads.csv, bands.csv, curves.csv, changes.csv and summary.json of 1 checkpoint\n" in done.stderr
            assert re.search(r"of 'step-40' with 10 documents; for ± 0.005 it needs about \d+\.\n$", done.stderr), done.stderr
            assert {path.name for path in (tmp_path / folder).iterdir()} == files
    drawn = engine.run("figures", "tables", "--out", "tables/figures", "--format", "json")
    assert drawn.code == 0 and "warning" not in drawn.stderr and "no standard errors" not in drawn.stderr
    assert engine.run("analyze", captures / LABELS[0]).code == 0, "figures of it may lie there"
    compared = engine.run("compare", "tables", "--reference", "tables/summary.json")
    assert compared.code == 0 and compared.stderr == "", compared.stderr
    shutil.copy("tables/qk.csv", "tables/other.csv")
    alone = engine.run("figures", "tables/other.csv", "--out", "alone", "--format", "json")
    assert alone.code == 0 and "tables/other.csv: no standard errors" in alone.stderr, "the folder's files belong to its qk.csv"


def test_a_folder_with_files_of_others_is_left_alone(captures, tmp_path):
    for name, text in [("notes.txt", "mine"), ("heads.csv", "name,size\nAda,57\n"), ("summary.json", "{}")]:
        folder = tmp_path / name.split(".")[0]
        folder.mkdir()
        (folder / name).write_text(text)
        done = analyze(captures / LABELS[0], out=folder)
        assert done.code == 2 and done.stderr == f"error: --out {folder}: holds {name}, which ropewalk analyze did not write; name another folder\n"
        assert [path.name for path in folder.iterdir()] == [name] and (folder / name).read_text() == text
    done = analyze(captures / LABELS[0], out=tmp_path / "notes" / "notes.txt")
    assert done.code == 2 and "notes.txt: is not a folder" in done.stderr


def test_the_summary_says_dtype_and_device(captures, tmp_path):
    assert analyze(captures / LABELS[0], out=tmp_path / "tables").code == 0
    (checkpoint,) = json.loads((tmp_path / "tables" / "summary.json").read_text())["checkpoints"]
    assert checkpoint["dtype"] == "float32" and checkpoint["device"] == "cpu"


@pytest.mark.parametrize(
    "config, keys, says",
    [
        ({"architecture": "qwen3"}, {}, "architecture is 'llama' and 'qwen3'"),
        ({"layers": 77}, {}, "layers is"),
        ({"head_dim": 999}, {}, "head_dim is"),
    ],
)
def test_what_cannot_be_compared(captures, tmp_path, config, keys, says):
    other = change(captures / LABELS[0], tmp_path / "b", config, label="b", **keys)
    result = analyze(captures / LABELS[0], other, out=tmp_path / "tables")
    assert result.code == 3 and says in result.stderr and "cannot stand in one table" in result.stderr
    assert not (tmp_path / "tables" / "qk.csv").exists() and not (tmp_path / "tables" / "summary.json").exists()


def test_captures_before_rope_are_refused(captures, tmp_path):
    """As --pre-rope took them, before anything was published."""
    before = change(captures / LABELS[0], tmp_path / "before", point="pre-rope")
    result = analyze(before, out=tmp_path / "tables", options=["--quiet"])
    assert result.code == 3 and "key 'point': found 'pre-rope', expected 'post-rope'; capture it again\n" in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1 and not (tmp_path / "tables").exists()


def test_lost_pairs_are_named(captures, tmp_path):
    other = change(captures / LABELS[0], tmp_path / "b", label="step-99", dtype="bfloat16", device="cuda")
    result = analyze(captures / LABELS[0], other, out=tmp_path / "tables")
    assert result.code == 0
    assert "warning: 'step-40' and 'step-99' ran in float32 and bfloat16" in result.stderr
    assert "ran on cpu and cuda" in result.stderr


@pytest.mark.parametrize(
    "config, keys, says",
    [
        ({"n_q_heads": 0}, {}, "key 'config.n_q_heads': found 0"),
        ({"n_kv_heads": -1}, {}, "key 'config.n_kv_heads': found -1"),
        ({"layers": "twelve"}, {}, "key 'config.layers': found \"twelve\""),
        ({"nope_layers": 3}, {}, "key 'config.nope_layers'"),
        ({}, {"label": 5}, "key 'label': found 5"),
        ({}, {"model": [1]}, "key 'model': found [1]"),
        ({}, {"label": "x" * 40000}, "key 'label': found 40000 bytes"),
    ],
)
@pytest.mark.parametrize("source", ["moments", "vectors"])
def test_metadata_of_another_kind(captures, tmp_path, config, keys, says, source):
    other = change(captures / LABELS[0], tmp_path / "b", config, **keys)
    result = analyze(other, out=tmp_path / "tables", options=["--from", source, "--quiet"])
    assert result.code == 3 and says in result.stderr and result.stderr.count("\n") == 1, result.stderr
    assert ("moments.safetensors" if source == "moments" else "capture.json") in result.stderr


def test_a_small_file_of_huge_vectors(tmp_path):
    for head in ("l00h00q", "l00h00k"):
        folder = tmp_path / "vectors" / head
        folder.mkdir(parents=True)
        rows = 4
        zeros = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(np.zeros(rows * 20000, np.float32)), 20000)
        numbers = pyarrow.array(np.arange(rows, dtype=np.int32))
        table = pyarrow.table({"bucket": numbers, "example_id": numbers, "position": numbers, "vector": zeros})
        parquet.write_table(table, folder / "data.parquet", compression="zstd")
        assert (folder / "data.parquet").stat().st_size < 8000
    result = analyze(tmp_path, out=tmp_path / "tables", options=["--from", "vectors", "--kv-group", 1, "--quiet"])
    assert result.code == 3 and "vectors of 20000 numbers" in result.stderr and result.stderr.count("\n") == 1


def test_a_results_folder_is_no_capture(captures, tmp_path):
    results = tmp_path / "out" / "my"
    (results / "checkpoints").mkdir(parents=True)
    shutil.copytree(captures / LABELS[0], results / "checkpoints" / LABELS[0])
    result = analyze(results, out=tmp_path / "tables")
    assert result.code == 3 and "is a folder of results, not a capture" in result.stderr
    assert str(results / "checkpoints") in result.stderr
    (results / "manifest.json").write_text("{}")
    result = analyze(results / "checkpoints", out=tmp_path / "tables")
    assert result.code == 3 and "the folders in it are, so name these" in result.stderr


def test_report_and_figures_take_a_folder_or_a_table(tmp_path):
    table = synthetic.write(synthetic.demo_like(), tmp_path / "results")
    other = tmp_path / "results" / "other.csv"
    shutil.copy(table, other)
    drawn = []
    for number, given in enumerate([table, table.parent]):
        out = tmp_path / f"figures{number}"
        result = engine.run("figures", given, "--out", out, "--format", "json")
        assert result.code == 0, result.stderr
        drawn.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert drawn[0] == drawn[1] and "taxonomy.vl.json" in drawn[0]
    result = engine.run("report", table)
    if "built without the report" not in result.stderr:
        assert (result.code, result.stdout) == (0, f"{table.parent / 'report.html'}\n"), result.stderr
        page = (table.parent / "report.html").read_bytes()
        assert engine.run("report", table.parent).code == 0 and (table.parent / "report.html").read_bytes() == page
        result = engine.run("report", other)
        assert (result.code, result.stdout) == (0, f"{table.parent / 'other.report.html'}\n"), result.stderr
        (tmp_path / "empty").mkdir()
        result = engine.run("report", tmp_path / "empty")
        assert result.code == 4 and "holds no qk.csv" in result.stderr


def test_figures_are_listed(tmp_path):
    table = synthetic.write(synthetic.demo_like(), tmp_path)
    result = engine.run("figures", table, "--list", "--statistic", "abs_r_k")
    assert result.code == 0, result.stderr
    *figures, empty, keys = result.stdout.splitlines()
    drawn = engine.run("figures", table, "--out", tmp_path / "out", "--statistic", "abs_r_k", "--format", "json")
    assert drawn.code == 0, drawn.stderr
    assert sorted(line.split()[0] for line in figures) == sorted(path.name.removesuffix(".vl.json") for path in (tmp_path / "out").iterdir())
    assert re.search(r"^taxonomy +Classes of heads", result.stdout, re.M) and empty == ""
    names = keys.removeprefix("--statistic, --portrait: ").split(", ")
    assert {"r_q", "abs_r_k", "explained_variance"} <= set(names) and "r2cv_q" not in names, "what the table has"
    missing = engine.run("figures", table)
    assert missing.code == 2 and missing.stderr == "error: --out: is missing; name a folder, or give --list\n"


def test_captures_take_another_label(captures, tmp_path):
    first, second = LABELS[:2]
    result = analyze(captures / first, f"again={captures / first}", f"other={captures / second}", out=tmp_path / "tables", options=["--keep-order"])
    assert result.code == 0, result.stderr
    table = pandas.read_csv(tmp_path / "tables" / "qk.csv")
    assert list(table.checkpoint.drop_duplicates()) == [first, "again", "other"]
    own, again = (table[table.checkpoint == label].drop(columns=["checkpoint", "order", "step"], errors="ignore") for label in (first, "again"))
    pandas.testing.assert_frame_equal(own.reset_index(drop=True), again.reset_index(drop=True))
    twice = analyze(captures / first, captures / first, out=tmp_path / "two")
    assert twice.code == 3 and f"is also labelled '{first}'; give one another label: LABEL={captures / first}" in twice.stderr
    empty = analyze(f"={captures / first}", out=tmp_path / "two")
    assert empty.code == 2 and "expected a capture, or LABEL=CAPTURE" in empty.stderr


def test_what_is_no_table(tmp_path):
    """One line that says what to do: a folder, an empty one, nothing; a heads.csv that is a folder is left out."""
    table = synthetic.write(synthetic.demo_like(), tmp_path / "results")
    (tmp_path / "empty").mkdir()
    reference = tmp_path / "reference.json"
    reference.write_text(json.dumps({"mean_r_q": {"s3000": 0.5}}))
    for given, says in [
        (tmp_path / "empty", "is a folder and holds no qk.csv; ropewalk run and ropewalk analyze write one"),
        (tmp_path / "empty" / "qk.csv", "there is no such table; ropewalk run and ropewalk analyze write one"),
    ]:
        for verb in (["figures", given, "--out", tmp_path / "out"], ["compare", given, "--reference", reference]):
            result = engine.run(*verb)
            assert (result.code, result.stderr) == (4, f"error: {given}: {says}\n") and not (tmp_path / "out").exists()
    (tmp_path / "results" / "heads.csv").mkdir()
    result = engine.run("figures", table, "--out", tmp_path / "out", "--format", "json")
    assert result.code == 0 and f"warning: {table.parent / 'heads.csv'}: is a folder, not a table; going on without it\n" in result.stderr


def test_limits_that_a_number_passes(tmp_path):
    """On the side where a statistic has one; where it has none, none is stated."""
    table = synthetic.write(synthetic.demo_like(), tmp_path)
    for column, value, expected in [("r2cv_q", "1.5", "a number of at most 1, or nothing"), ("logit_sd", "-2", "a number of at least 0, or nothing"),
                                    ("pc0_offset", "2", "a number from 0 to 1, or nothing")]:  # fmt: skip
        (tmp_path / "heads.csv").write_text(f"checkpoint,layer,q_head,{column}\ns3000,0,0,{value}\n")
        result = engine.run("figures", table, "--out", tmp_path / "out", "--format", "json")
        assert f"line 2, column {column}: found '{value}'; expected {expected}; going on without it" in result.stderr


def test_a_mistyped_key_of_a_reference(tmp_path):
    table = synthetic.write(synthetic.demo_like(), tmp_path)
    reference = tmp_path / "reference.json"
    reference.write_text(json.dumps({"mean_rq": {"s3000": 0.5}}))
    result = engine.run("compare", table, "--reference", reference)
    assert result.code == 3 and "unknown key 'mean_rq'; did you mean mean_r_q?" in result.stderr and result.stdout == ""


def test_a_summary_of_another_kind(tmp_path):
    table = synthetic.write(synthetic.demo_like(), tmp_path)
    summary = tmp_path / "wrong.json"
    for wrong, says in [({"checkpoints": 5}, "key 'checkpoints' is 5"), ({"checkpoints": [], "mean_r_q": {"s3000": "x"}}, "key 'mean_r_q.s3000'")]:  # fmt: skip
        summary.write_text(json.dumps(wrong))
        for verb in (["figures", table, "--out", tmp_path / "out", "--format", "json"], ["compare", table, "--reference", tmp_path / "summary.json"]):
            result = engine.run(*verb, "--summary", summary)
            assert result.code == 3 and says in result.stderr and "wrong.json" in result.stderr, result.stderr


def test_names_that_spreadsheets_take_for_formulas(captures, tmp_path):
    other = change(captures / LABELS[0], tmp_path / "b", label="=1+1", model="@sum", random=0)
    assert analyze(other, out=tmp_path / "tables").code == 0
    assert all(line.startswith("'@sum,'=1+1,") for line in (tmp_path / "tables" / "qk.csv").read_text().splitlines()[1:])
    drawn = engine.run("figures", tmp_path / "tables" / "qk.csv", "--out", tmp_path / "figures", "--format", "json")
    assert drawn.code == 0 and "warning" not in drawn.stderr, drawn.stderr
    rows = json.loads((tmp_path / "figures" / "position_signal.vl.json").read_text())["datasets"]["means"]
    assert {row["checkpoint"] for row in rows} == {"=1+1"}


@pytest.mark.parametrize("table, arguments", [("qk.csv", []), *((f"{name}.csv", [name]) for name in ("heads", "bands", "curves"))])
def test_documented_columns(captures, tmp_path, table, arguments):
    printed = engine.run("columns", *arguments)
    assert printed.code == 0, printed.stderr
    text = (engine.repository() / "docs" / "formats.md").read_text()
    command = " ".join(["columns", *arguments])
    begin = text.index(f"<!-- columns: build/ropewalk {command} -->\n\n")
    documented = text[begin : text.index("\n<!-- end -->", begin)].split("\n\n", 1)[1]
    assert documented == printed.stdout, f"put what `ropewalk {command}` prints into docs/formats.md"
    assert analyze(captures / LABELS[0], out=tmp_path / "tables").code == 0
    names = [line.split("`")[1] for line in printed.stdout.splitlines()[2:]]
    assert (tmp_path / "tables" / table).read_text().splitlines()[0] == ",".join(names)
