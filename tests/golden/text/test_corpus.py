"""Corpora written by Python's libraries are read correctly; damaged ones are refused, with their name."""

import gzip
import json
import pathlib
import random

import numpy as np
import pyarrow as pa
import pytest
from safetensors import numpy as safetensors

import engine
import plain_models
import tiny_models
from corpus_contents import TEXTS, contents, error, peak_memory, read, write


# JSON lines


@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\n\n", "\r\n  \t\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("compress", [False, True])
def test_json_lines(tmp_path, ensure_ascii, newline, bom, compress) -> None:
    lines = [json.dumps({"text": text, "id": i - 2}, ensure_ascii=ensure_ascii) for i, text in enumerate(TEXTS)]
    data = bom + newline.join(lines).encode()
    path = tmp_path / ("a.jsonl.gz" if compress else "a.jsonl")
    path.write_bytes(gzip.compress(data) if compress else data)
    entries = read(path)
    assert [entry["content"] for entry in entries] == TEXTS
    assert [entry["id"] for entry in entries] == [i - 2 for i in range(len(TEXTS))]
    step = newline.count("\n")
    assert [entry["where"] for entry in entries] == [f"{path}:{1 + step * i}" for i in range(len(TEXTS))]


COMPRESS = {"gz": lambda data, level: gzip.compress(data, compresslevel=level),
            "zst": lambda data, level: pa.Codec("zstd", level or 1).compress(data, asbytes=True)}  # fmt: skip


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_parts_of_any_size(tmp_path, suffix) -> None:
    """Members or frames, buffers and lines end at unrelated offsets."""
    rng = random.Random(0)
    documents = ["".join(rng.choices("abcdé🙂 ", k=rng.randrange(1, 40000))) for _ in range(60)]
    data = "".join(json.dumps({"text": text}) + "\n" for text in documents).encode()
    path = tmp_path / f"a.jsonl.{suffix}"
    with path.open("wb") as file:
        while data:
            size = rng.choice([1, 100, 65536, 200000])
            file.write(COMPRESS[suffix](data[:size], rng.choice([0, 1, 9])))
            file.write(COMPRESS[suffix](b"", 1) if rng.random() < 0.2 else b"")
            data = data[size:]
        file.write(bytes(700) if suffix == "gz" else b"")  # the padding that gzip tolerates
    assert contents(path) == documents


@pytest.mark.parametrize("suffix", COMPRESS)
def test_bombs_are_lines_that_are_too_long(tmp_path, suffix) -> None:
    path = tmp_path / f"a.jsonl.{suffix}"
    path.write_bytes(COMPRESS[suffix](b'{"text": "' + b"a" * 500_000_000, 1))
    assert path.stat().st_size < 4_000_000
    assert "line is longer than 64.0 MiB" in error(path)
    assert peak_memory(path) < 300e6


@pytest.mark.parametrize("keep", [0, 1, 5, 9, 10, 15, 200, -9, -8, -4, -1])
def test_gzip_cut_short(tmp_path, keep) -> None:
    lines = b"".join(b'{"text": "%d"}\n' % random.Random(i).getrandbits(200) for i in range(50))
    whole = gzip.compress(lines)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(whole[:keep])
    assert "empty" in error(path) if keep == 0 else "cut short" in error(path)


def test_gzip_damaged(tmp_path) -> None:
    whole = gzip.compress(b'{"text": "abcdefgh"}\n' * 3)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(whole[:-8] + b"\1\2\3\4" + whole[-4:])
    assert "damaged gzip data" in error(path) and "data check" in error(path)
    path.write_bytes(whole + b"rubbish")
    assert "other bytes follow" in error(path)
    path.write_bytes(b'{"text": "not compressed"}\n')
    assert "is not gzip-compressed" in error(path)


def test_gzip_bomb_is_refused_in_little_memory(tmp_path) -> None:
    path = tmp_path / "a.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"text": "')
        for _ in range(80):
            file.write(b"a" * (1 << 20))
    assert "a.jsonl.gz:1: line is longer than 64.0 MiB" in error(path)


# Files and folders


def test_text_files(tmp_path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "b.txt").write_bytes(b"\xef\xbb\xbfsecond\r\nline\r\n")
    (folder / "a.txt").write_text("first\n")
    (folder / "C.TXT").write_text("capital\n")
    (folder / "notes.md").write_text("not read")
    (folder / ".hidden.txt").write_text("not read")
    assert contents(folder) == ["capital\n", "first\n", "second\nline\n"]
    (folder / "deep").mkdir()
    write(folder / "deep/rows.parquet", {"text": ["row 0", "row 1"]})
    (folder / "deep/long.jsonl.zst").write_bytes(COMPRESS["zst"](b'{"text": "line"}\n', 1))
    assert contents(folder) == ["capital\n", "first\n", "second\nline\n", "line", "row 0", "row 1"]
    assert "deep/rows.parquet: row 1" in read(folder)[-1]["where"]
    assert contents(folder / "b.txt") == ["second\nline\n"]
    assert "no fields" in error(folder / "b.txt", "text", kind="usage_error")


def test_bad_files(tmp_path) -> None:
    (tmp_path / "notes.md").write_text("x")
    assert "(plain, .gz or .zst) or .parquet file; it has 'notes.md'" in error(tmp_path)
    assert ".parquet, or a folder of them" in error(tmp_path / "notes.md")
    for name in ("a.txt", "a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.parquet"):
        assert "No such file" in error(tmp_path / name, kind="system_error")
    (tmp_path / "empty.txt").write_bytes(b"\xef\xbb\xbf")
    assert contents(tmp_path / "empty.txt") == [""]
    (tmp_path / "bad.txt").write_bytes(b"ok \xc0\x80")
    assert "byte 0xc0 at offset 3" in error(tmp_path / "bad.txt")


# Documents of a capture


def capture(model: pathlib.Path, corpus: pathlib.Path, out: pathlib.Path, *options) -> engine.Result:
    return engine.run("capture", model, "--corpus", corpus, "--out", out, "--context", 16, "--label", "tiny",
                      "--dtype", "float32", *options)  # fmt: skip


def captured(*arguments) -> dict:
    done = capture(*arguments)
    assert done.code == 0, done.stderr
    return safetensors.load_file(arguments[2] / "moments.safetensors")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> pathlib.Path:
    return plain_models.write(tiny_models.MODELS["llama_gqa"], tmp_path_factory.mktemp("model"))


def test_empty_rows_are_skipped_and_counted(tmp_path, model) -> None:
    rows = [{"tokens": list(range(16))}, {"tokens": []}, {"tokens": None}, {"text": ""}, {"text": None}, {"tokens": [1]}]
    corpus = tmp_path / "a.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows + [{"tokens": [i] * 16} for i in range(9)]))
    done = capture(model, corpus, tmp_path / "out", "--documents", 500)
    assert done.code == 0, done.stderr
    assert "10 documents, 160 tokens; 1 shorter and 4 empty ones skipped" in done.stderr
    assert f"warning: {corpus}: expected 500 documents, found 10" in done.stderr
    assert "too few" not in done.stderr


def test_few_documents_are_said_to_be_few(tmp_path, model) -> None:
    corpus = tmp_path / "a.jsonl"
    corpus.write_text("".join(json.dumps({"tokens": [i] * 60}) + "\n" for i in range(7)))
    done = capture(model, corpus, tmp_path / "out")
    assert done.code == 0, done.stderr
    assert f"warning: {corpus}: 7 documents are too few for reliable standard errors; give at least 8, or cut" in done.stderr
    done = capture(model, corpus, tmp_path / "cut", "--chunk")
    assert done.code == 0 and "too few" not in done.stderr


def test_one_long_text_fills_every_block(tmp_path, model) -> None:
    rng = random.Random(4)
    corpus = tmp_path / "a.jsonl"
    corpus.write_text(json.dumps({"body": [rng.randrange(tiny_models.VOCAB) for _ in range(16 * 21 + 5)]}) + "\n")
    options = ["--field", "body", "--chunk", "--blocks", 8]
    whole = captured(model, corpus, tmp_path / "whole", *options)
    assert whole["block.documents"].tolist() == [3, 3, 2, 3, 3, 2, 3, 2]
    info = json.loads((tmp_path / "whole/capture.json").read_text())
    assert len(info["chunk"].pop("pieces")) == 16
    assert (info["documents"], info["skipped_short"], info["chunk"]) == (21, 1, {"texts": 1, "named": 0})
    for part in range(2):
        captured(model, corpus, tmp_path / f"part{part}", *options, "--shard", f"{part}/2")
    done = engine.run("merge", tmp_path / "part0", tmp_path / "part1", "--out", tmp_path / "merged")
    assert done.code == 0, done.stderr
    merged = safetensors.load_file(tmp_path / "merged/moments.safetensors")
    assert merged["block.documents"].tolist() == whole["block.documents"].tolist()
    np.testing.assert_allclose(merged["query.mean"], whole["query.mean"], atol=1e-6)


def test_a_study_of_one_long_text(tmp_path, model) -> None:
    rng = random.Random(5)
    (tmp_path / "a.jsonl").write_text(json.dumps({"tokens": [rng.randrange(tiny_models.VOCAB) for _ in range(700)]}) + "\n")
    experiment = tmp_path / "one.yaml"

    def measured(corpus: str) -> str:
        experiment.write_text(
            f"name: One\ncorpus: {{path: a.jsonl{corpus}}}\ndtype: float32\nblocks: 8\n"
            f"phases: [{{name: All, context: 16, checkpoints: [{{label: a, path: {model}}}]}}]\n"
        )
        done = engine.run("run", experiment, "--out", tmp_path / "out", "--format", "json")
        assert done.code == 0, done.stderr
        return done.stderr

    measured(", chunk: true")
    moments = safetensors.load_file(tmp_path / "out/checkpoints/a/moments.safetensors")
    assert moments["block.documents"].tolist() == [6, 5, 6, 5, 5, 6, 5, 5]
    assert "measured already" in measured(", chunk: true")
    assert "measured already" not in measured("")
    assert json.loads((tmp_path / "out/checkpoints/a/capture.json").read_text())["documents"] == 1


def test_errors_of_vectors_of_a_cut_text(tmp_path, model) -> None:
    """A text whose two halves differ: blocks of neighbours show this in the errors; dealing pieces in turn would hide it."""
    rng = random.Random(6)
    mood = [range(8), range(tiny_models.VOCAB - 8, tiny_models.VOCAB)]
    row = {"tokens": [rng.choice(mood[i // 512]) for i in range(1024)]}

    def errors(name: str, entry: dict):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(entry) + "\n")
        done = capture(model, tmp_path / f"{name}.jsonl", tmp_path / name, "--chunk", "--vectors", "all")
        assert done.code == 0, done.stderr
        found = {}
        for source in ("moments", "vectors"):
            table = tmp_path / f"{name}_{source}"
            done = engine.run("analyze", tmp_path / name, "--from", source, "--out", table)
            assert done.code == 0, done.stderr
            rows = np.genfromtxt(table / "qk.csv", delimiter=",", names=True, dtype=None, encoding=None)
            found[source] = (rows["explained_variance_se"], rows["r_q_se"], done.stderr)
        return found

    plain = errors("plain", row)
    for i in range(2):
        np.testing.assert_allclose(plain["vectors"][i], plain["moments"][i], rtol=1e-3, atol=1e-6)
    assert "too small" not in plain["vectors"][2]
    named = errors("named", {"id": "book", **row})
    assert "pieces of longer texts" in named["vectors"][2] and "--from moments for correct ones" in named["vectors"][2]
    np.testing.assert_allclose(named["moments"][0], plain["moments"][0])
    assert named["vectors"][0].mean() < 0.8 * named["moments"][0].mean(), "what the warning is about"
