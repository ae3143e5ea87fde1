"""What `analyze` puts into one table and where its summary is written; files with wrong contents."""

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
    """A copy of a capture with a changed description, in both files that have one."""
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
    """For NAME.csv, a former meaning of --out, the folder is NAME; the default is `tables`. The last line says how many documents a precision
    needs.
    """
    monkeypatch.chdir(tmp_path)
    files = {"qk.csv", "heads.csv", "bands.csv", "curves.csv", "changes.csv", "edges.csv", "roles.csv", "summary.json"}
    for given, folder, line in [([], "tables", ""), (["--out", "deep/mine"], "deep/mine", ""),
                                (["--out", "old.csv"], "old", "warning: --out old.csv: expected a folder for tables, but this one is old\n")]:  # fmt: skip
        for _ in range(2):  # the second time, the folder holds the tables of the first
            done = engine.run("analyze", captures / LABELS[0], *given)
            assert done.code == 0 and done.stderr.startswith(line) and ("warning: --out" in done.stderr) == bool(line), done.stderr
            assert f"{folder}: qk.csv, heads.csv, bands.csv, curves.csv, changes.csv and summary.json of 1 checkpoint\n" in done.stderr
            assert re.search(r"for 'step-40' with 10 documents; ± 0.005 needs about \d+\.\n$", done.stderr), done.stderr
            assert {path.name for path in (tmp_path / folder).iterdir()} == files
    drawn = engine.run("figures", "tables", "--out", "tables/figures", "--format", "json")
    assert drawn.code == 0 and "warning" not in drawn.stderr and "no standard errors" not in drawn.stderr
    assert engine.run("analyze", captures / LABELS[0]).code == 0, "figures of it may lie there"
    compared = engine.run("compare", "tables", "--reference", "tables/summary.json")
    assert compared.code == 0 and compared.stderr == "", compared.stderr
    shutil.copy("tables/qk.csv", "tables/other.csv")
    alone = engine.run("figures", "tables/other.csv", "--out", "alone", "--format", "json")
    assert alone.code == 0 and "tables/other.csv: has no standard errors" in alone.stderr, "the folder's files belong to its qk.csv"


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
    assert result.code == 3 and says in result.stderr and "cannot be in one table" in result.stderr
    assert not (tmp_path / "tables" / "qk.csv").exists() and not (tmp_path / "tables" / "summary.json").exists()


def test_captures_before_rope_are_refused(captures, tmp_path):
    """The text before RoPE as --pre-rope kept it, before the first release."""
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
    assert result.code == 3 and "is a results folder, not a capture" in result.stderr
    assert str(results / "checkpoints") in result.stderr
    (results / "manifest.json").write_text("{}")
    result = analyze(results / "checkpoints", out=tmp_path / "tables")
    assert result.code == 3 and "pass the folders inside it" in result.stderr


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
