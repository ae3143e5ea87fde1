"""Parquet: texts, tokens and ids of every type and layout, and damaged files."""

import json
import os
import random
import resource
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_contents import TEXTS, TOOL, contents, error, peak_memory, read, write


# Parquet

TOKENS = [[1, 2, 3], [0], list(range(300)), [65535, 255], [7] * 2000]
STRING_TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.large_string()),
]


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

# Types that cannot be ids, and the message about a column that was named as one.
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
    """Ids were not requested: a column with this name is used if it can be."""
    column, said = NO_IDS[name]
    path = tmp_path / "a.parquet"
    write(path, {"text": ["one", "two"], "id": column})
    assert read(path)[1] == {"content": "two", "id": None, "where": f"{path}: row 1"}
    assert said in (told := error(path, "text", "id")) and "; name another field, or none: documents then get numbers as ids" in told


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
    """The machine is the reason, not a file."""
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
    assert found - {"content"} == {f"{path}: reading it takes more memory than there is"}, found


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


def test_parquet_memory_is_bounded(tmp_path) -> None:
    """A row group needs no more memory than some of its rows."""
    texts = [random.Random(i).randbytes(50000).hex() for i in range(3000)]
    small, large = tmp_path / "small.parquet", tmp_path / "large.parquet"
    # Pages are the smallest unit to decompress; writers end them only after a batch.
    options = {"compression": "none", "write_batch_size": 8, "row_group_size": 10000}
    write(small, {"text": texts[:100]}, **options)
    write(large, {"text": texts}, **options)
    assert pq.ParquetFile(large).num_row_groups == 1 and large.stat().st_size > 290e6
    assert peak_memory(large) < peak_memory(small) + 60e6
