"""Corpora that Python's libraries write are read right; damaged ones are refused by name."""

import gzip
import json
import os
import pathlib
import random
import resource
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors import numpy as safetensors

import engine
import plain_models
import tiny_models

TOOL = pathlib.Path(os.environ["ROPEWALK_BUILD"]) / "tests/golden/corpus_tool"
TEXTS = ["plain", "naïve café", "日本語\n第二行", "tab\tand \"quotes\" \\ back", "🙂 \u0000 nul", "x" * 5000]


def read(path: pathlib.Path, *options: str, **keywords) -> list[dict]:
    done = subprocess.run([TOOL, path, *options], capture_output=True, text=True, check=True, **keywords)
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def contents(path: pathlib.Path, *options: str) -> list:
    entries = read(path, *options)
    assert all("content" in entry for entry in entries), entries[-1]
    return [entry["content"] for entry in entries]


def error(path: pathlib.Path, *options: str, kind: str = "input_error") -> str:
    message = read(path, *options)[-1][kind]
    assert str(path) in message
    return message


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
    """Members or frames, buffers and lines end at unrelated places."""
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


# Parquet

TOKENS = [[1, 2, 3], [0], list(range(300)), [65535, 255], [7] * 2000]
STRING_TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.large_string()),
]


def write(path: pathlib.Path, columns: dict, **options) -> None:
    pq.write_table(pa.table(columns), path, **options)


@pytest.mark.parametrize("kind", STRING_TYPES, ids=str)
@pytest.mark.parametrize("compression", ["snappy", "zstd"])
@pytest.mark.parametrize("store_schema", [True, False])
def test_parquet_text(tmp_path, kind, compression, store_schema) -> None:
    path = tmp_path / "a.parquet"
    texts = TEXTS * 60
    columns = {"other": list(range(len(texts))), "text": pa.array(texts).cast(kind)}
    write(path, columns, compression=compression, row_group_size=100, store_schema=store_schema)
    entries = read(path)
    assert [entry["content"] for entry in entries] == texts
    assert [entry["where"] for entry in entries] == [f"{path}: row {i}" for i in range(len(texts))]


LIST_TYPES = [pa.list_(kind()) for kind in (pa.uint16, pa.int32, pa.uint32, pa.int64, pa.uint64)]


@pytest.mark.parametrize("kind", LIST_TYPES + [pa.large_list(pa.int32())], ids=str)
@pytest.mark.parametrize("version", ["1.0", "2.6"])
@pytest.mark.parametrize("row_group_size", [3, 1000])
def test_parquet_tokens(tmp_path, kind, version, row_group_size) -> None:
    path = tmp_path / "a.parquet"
    write(path, {"tokens": pa.array(TOKENS * 40, kind)}, version=version, row_group_size=row_group_size)
    assert contents(path) == TOKENS * 40


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int16()], ids=str)
def test_parquet_small_tokens(tmp_path, kind) -> None:
    path = tmp_path / "a.parquet"
    write(path, {"tokens": pa.array([[1, 2], [127]], pa.list_(kind))})
    assert contents(path) == [[1, 2], [127]]


def test_parquet_fixed_size_tokens(tmp_path) -> None:
    path = tmp_path / "a.parquet"
    rows = [[i, i + 1, i + 2] for i in range(200)]
    write(path, {"tokens": pa.array(rows, pa.list_(pa.int32(), 3))})
    assert contents(path) == rows


def test_parquet_page_formats(tmp_path) -> None:
    path = tmp_path / "a.parquet"
    for page in ("1.0", "2.0"):
        write(path, {"text": TEXTS * 500}, data_page_version=page, data_page_size=1000,
              use_dictionary=False, compression="gzip")
        assert contents(path) == TEXTS * 500


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.uint64(), *STRING_TYPES], ids=str)
def test_parquet_ids(tmp_path, kind) -> None:
    path = tmp_path / "a.parquet"
    ids = [5, 0, 127]
    if not pa.types.is_integer(kind):
        ids = ["a", "ü", ""]
    write(path, {"id": pa.array(ids).cast(kind), "text": ["x", "y", "z"]})
    assert [entry["id"] for entry in read(path)] == ids


def test_fields(tmp_path) -> None:
    path = tmp_path / "a.parquet"
    write(path, {"body": ["x"], "key": ["k"], "ids": [[1, 2]]})
    assert read(path, "body", "key")[0] == {"content": "x", "id": "k", "where": f"{path}: row 0"}
    assert contents(path, "ids") == [[1, 2]]
    assert "no column 'text' or 'tokens'; it has 'body', 'key', 'ids'" in error(path)
    assert "no column 'nope'" in error(path, "nope")
    assert "no column 'nope'" in error(path, "body", "nope")
    path = tmp_path / "a.jsonl"
    path.write_text('{"body": "x", "key": "k", "ids": [1, 2], "tokens": [3], "id": -9223372036854775808}\n')
    assert read(path, "body", "key")[0] == {"content": "x", "id": "k", "where": f"{path}:1"}
    assert read(path)[0] == {"content": [3], "id": -(2**63), "where": f"{path}:1"}


def invalid_utf8() -> pa.Array:
    offsets = pa.array([0, 2, 5], pa.int32()).buffers()[1]
    return pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"okab\xff"))


BAD_PARQUET = {
    "number for text": ({"text": [1]}, "'text' holds int64; expected strings"),
    "binary for text": ({"text": [b"a"]}, "'text' holds binary; expected strings"),
    "tokens in text": ({"text": [[1]]}, "'text' holds list<element: int64>; expected strings"),
    "text in tokens": ({"tokens": ["1 2"]}, "'tokens' holds string; expected lists of integer token ids"),
    "floats in tokens": ({"tokens": [[1.0]]}, "'tokens' holds list<element: double>"),
    "null token": ({"tokens": [[1], [2, None]]}, "row 1: token 1 is null"),
    "negative token": ({"tokens": [[1], [5, -1]]}, "row 1: token 1 is -1"),
    "large token": ({"tokens": [[2**31]]}, "row 0: token 0 is 2147483648"),
    "huge token": ({"tokens": pa.array([[2**63]], pa.list_(pa.uint64()))}, "row 0: token 0 is"),
    "invalid UTF-8": ({"text": invalid_utf8()}, "offset 2"),
}

# No ids, and what is said of a column that was named as one.
NO_IDS = {
    "double": ([1.5, 2.5], "id column 'id' holds double; expected integers or strings"),
    "nothing": (pa.array([None, None], pa.null()), "id column 'id' holds null"),
    "lists": ([[1], [2]], "id column 'id' holds list"),
    "objects": ([{"a": 1}, {"a": 2}], "id column 'id' holds struct"),
    "bytes": ([b"a", b"b"], "id column 'id' holds binary"),
    "times": (pa.array([1, 2], pa.timestamp("s")), "id column 'id' holds timestamp"),
    "truths": ([True, False], "id column 'id' holds bool"),
    "null": (["a", None], "row 1: the id is null; expected a 64-bit integer or a string"),
    "null number": ([1, None], "row 1: the id is null"),
    "huge": (pa.array([1, 2**63], pa.uint64()), "row 1: the id is beyond 64 signed bits"),
    "no text": (invalid_utf8(), "row 1: the id is not UTF-8"),
}


@pytest.mark.parametrize("name", NO_IDS)
def test_ids_that_are_none(tmp_path, name) -> None:
    """Nobody is asked for ids: a column that happens to be called so is one where it can be."""
    column, said = NO_IDS[name]
    path = tmp_path / "a.parquet"
    write(path, {"text": ["one", "two"], "id": column})
    assert read(path)[1] == {"content": "two", "id": None, "where": f"{path}: row 1"}
    assert said in (told := error(path, "text", "id")) and "; name another field, or none: then documents have numbers for ids" in told


EMPTY_ROWS = {
    "null text": (["a", None, "b"], ["a", "", "b"]),
    "null dictionary text": (pa.array(["a", None, "b"]).dictionary_encode(), ["a", "", "b"]),
    "empty text": (["a", "", "b"], ["a", "", "b"]),
    "null tokens": ([[1], None, [2]], [[1], "", [2]]),
    "no tokens": ([[1], [], [2]], [[1], [], [2]]),
}


@pytest.mark.parametrize("name", EMPTY_ROWS)
def test_empty_rows_of_parquet(tmp_path, name) -> None:
    column, expected = EMPTY_ROWS[name]
    write(tmp_path / "a.parquet", {"body": column})
    assert contents(tmp_path / "a.parquet", "body") == expected


@pytest.mark.parametrize("name", BAD_PARQUET)
def test_bad_parquet(tmp_path, name) -> None:
    columns, expected = BAD_PARQUET[name]
    path = tmp_path / "a.parquet"
    write(path, columns)
    assert expected in error(path)


def test_too_little_memory_for_a_row_group(tmp_path) -> None:
    """The machine's fault, and no file's."""
    path = tmp_path / "a.parquet"
    texts = [random.Random(key).randbytes(1 << 20).hex() for key in range(64)]  # 128 MiB, read at once
    pq.write_table(pa.table({"text": texts}), path, compression="none", use_dictionary=False, data_page_size=1 << 28)

    def limited(size):
        def apply():
            resource.setrlimit(resource.RLIMIT_AS, (size, size))

        return apply

    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    found = set()
    for size in range(160 << 20, 480 << 20, 80 << 20):
        done = subprocess.run([TOOL, path], capture_output=True, text=True, preexec_fn=limited(size), env=environment)
        if done.returncode == 0:
            last = json.loads(done.stdout.split("\n")[-2])
            found.add("content" if "content" in last else last.get("system_error", done.stdout[-300:]))
    assert len(found - {"content"}) == 1 and all(one.startswith(f"{path}: ") and "memory" in one for one in found - {"content"}), found


def test_columns_of_one_name(tmp_path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"]), path)
    assert "has 2 columns named 'text'" in error(path)


def test_damaged_parquet(tmp_path) -> None:
    """However a file is damaged, it is read or refused; nothing crashes."""
    path = tmp_path / "a.parquet"
    write(path, {"text": [f"document {i}" * 20 for i in range(300)], "id": list(range(300))})
    whole = path.read_bytes()
    for size in (0, 3, 4, 100, len(whole) - 8, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert "cannot be read as Parquet" in error(path)
    path.write_bytes(b"PAR1 this is no such file PAR1")
    assert "cannot be read as Parquet" in error(path)
    rng = random.Random(0)
    refused = 0
    for _ in range(40):
        damaged = bytearray(whole)
        for _ in range(rng.randrange(1, 5)):
            damaged[rng.randrange(4, len(damaged) - 8)] = rng.randrange(256)
        path.write_bytes(damaged)
        last = read(path)[-1]
        assert "content" in last or str(path) in last["input_error"]
        refused += "input_error" in last
    assert refused > 7


def peak_memory(path: pathlib.Path) -> int:
    """Bytes the tool takes at most, reading all of a corpus."""
    code = "import resource,subprocess,sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
    code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    done = subprocess.run([sys.executable, "-c", code, TOOL, path], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_parquet_memory_is_bounded(tmp_path) -> None:
    """A row group takes no more memory than some rows of it."""
    texts = [random.Random(i).randbytes(50000).hex() for i in range(3000)]
    small, large = tmp_path / "small.parquet", tmp_path / "large.parquet"
    # Pages, the least that can be decompressed, are cut only after a writer's batch.
    options = {"compression": "none", "write_batch_size": 8, "row_group_size": 10000}
    write(small, {"text": texts[:100]}, **options)
    write(large, {"text": texts}, **options)
    assert pq.ParquetFile(large).num_row_groups == 1 and large.stat().st_size > 290e6
    assert peak_memory(large) < peak_memory(small) + 60e6


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
    """Two halves of a text in two moods: blocks of neighbours show it, pieces dealt in turn would hide it."""
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
    assert "pieces of longer texts" in named["vectors"][2] and "--from moments has honest ones" in named["vectors"][2]
    np.testing.assert_allclose(named["moments"][0], plain["moments"][0])
    assert named["vectors"][0].mean() < 0.8 * named["moments"][0].mean(), "what the warning is about"
