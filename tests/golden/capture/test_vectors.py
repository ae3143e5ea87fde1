"""Vectors files have the published layout, and published variants of it can be read."""

import itertools
import json
import os
import pathlib
import resource
import subprocess

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TOOL = pathlib.Path(os.environ["ROPEWALK_BUILD"]) / "tests/golden/vectors_tool"
MEMORY = 1 << 20


def write(folder: pathlib.Path, head_dim: int, rows: list[dict], memory: int = MEMORY, **options) -> str:
    text = "\n".join([str(head_dim), *(json.dumps(row) for row in rows)]) + "\n"
    command = [TOOL, "write", folder, str(memory)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, **options).stdout


def read(folder: pathlib.Path) -> list[dict]:
    done = subprocess.run([TOOL, "read", folder], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def random_rows(seed: int, streams, documents: int, head_dim: int) -> list[dict]:
    rng = np.random.default_rng(seed)
    rows = []
    for document, (layer, head, kind) in itertools.product(range(documents), streams):
        n = int(rng.integers(0, 20))
        vectors = rng.standard_normal(n * head_dim).astype(np.float32)
        rows.append(
            {
                "layer": layer,
                "head": head,
                "kind": kind,
                "example_id": [document, 2**33 + document, -5 - document][document % 3],
                "positions": sorted(rng.integers(0, 4096, n).tolist()),
                "buckets": rng.integers(0, 16, n).tolist(),
                "vectors": [float(x) for x in vectors],
                "window": None if layer % 2 else 512,
            }
        )
    return rows


def low_32_bits(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def test_published_layout(tmp_path) -> None:
    streams = [(0, 0, "q"), (0, 0, "k"), (7, 31, "q"), (123, 100, "k")]
    rows = random_rows(0, streams, documents=40, head_dim=8)
    assert write(tmp_path, 8, rows, memory=4000) == ""
    names = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.parquet"))
    assert names == [f"vectors/{name}/data.parquet" for name in ("l00h00k", "l00h00q", "l07h31q", "l123h100k")]
    schema = pa.schema(
        [
            ("bucket", pa.int32()),
            ("example_id", pa.int32()),
            ("position", pa.int32()),
            ("vector", pa.list_(pa.float32(), 8)),
            ("sliding_window", pa.int32()),
        ]
    )
    for layer, head, kind in streams:
        path = tmp_path / f"vectors/l{layer:02}h{head:02}{kind}/data.parquet"
        assert pq.read_schema(path).equals(schema)
        own = [row for row in rows if (row["layer"], row["head"], row["kind"]) == (layer, head, kind)]
        table = pq.read_table(path)
        assert table["position"].to_pylist() == [p for row in own for p in row["positions"]]
        assert table["bucket"].to_pylist() == [b for row in own for b in row["buckets"]]
        ids = [low_32_bits(row["example_id"]) for row in own for _ in row["positions"]]
        assert table["example_id"].to_pylist() == ids
        assert table["sliding_window"].to_pylist() == [None if layer % 2 else 512] * table.num_rows
        expected = np.array([x for row in own for x in row["vectors"]], np.float32).reshape(-1, 8)
        assert np.array_equal(np.stack(table["vector"].to_numpy()), expected)
        frame = pd.read_parquet(path)
        assert list(frame.columns) == schema.names
        assert np.array_equal(np.stack(frame["vector"]), expected)
        assert pq.ParquetFile(path).num_row_groups > 1  # there is so little memory that rows were written in between


def test_read_back(tmp_path) -> None:
    rows = random_rows(1, [(2, 3, "k"), (2, 3, "q"), (10, 0, "q")], documents=30, head_dim=4)
    write(tmp_path, 4, rows)
    answers = read(tmp_path)
    assert [answer["stream"] for answer in answers] == ["l02h03k", "l02h03q", "l10h00q"]
    for answer in answers:
        own = [row for row in rows if f"l{row['layer']:02}h{row['head']:02}{row['kind']}" == answer["stream"]]
        assert answer["head_dim"] == 4
        assert answer["position"] == [p for row in own for p in row["positions"]]
        assert answer["bucket"] == [b for row in own for b in row["buckets"]]
        assert answer["example_id"] == [low_32_bits(row["example_id"]) for row in own for _ in row["positions"]]
        assert np.array_equal(np.float32(answer["vector"]), np.float32([x for row in own for x in row["vectors"]]))
    assert read(tmp_path / "vectors") == answers


def test_thousands_of_streams_with_few_descriptors(tmp_path) -> None:
    streams = [(layer, head, kind) for layer in range(40) for head in range(32) for kind in "qk"]
    rows = random_rows(2, streams, documents=2, head_dim=2)
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))  # noqa: E731
    assert write(tmp_path, 2, rows, memory=20000, preexec_fn=few) == ""
    paths = list(tmp_path.rglob("data.parquet"))
    assert len(paths) == len(streams)
    assert sum(pq.read_metadata(path).num_rows for path in paths) == sum(len(row["positions"]) for row in rows)


def test_bfloat16_values_take_half_the_space(tmp_path) -> None:
    vectors = np.random.default_rng(3).standard_normal(4096 * 64).astype(np.float32)
    bfloat16 = (vectors.view(np.uint32) & 0xFFFF0000).view(np.float32)
    base = {"layer": 0, "head": 0, "kind": "q", "example_id": 0, "window": None}
    positions = list(range(4096))
    row = base | {"positions": positions, "buckets": positions, "vectors": [float(x) for x in bfloat16]}
    write(tmp_path, 64, [row])
    assert (tmp_path / "vectors/l00h00q/data.parquet").stat().st_size < 0.5 * vectors.nbytes


# Reading files of other programs

COLUMNS = {"bucket": [0, 1], "example_id": [7, 7], "position": [3, 300], "vector": [[1.0, 2.5], [-3.0, 0.5]]}


def store(tmp_path: pathlib.Path, **columns) -> pathlib.Path:
    path = tmp_path / "vectors/l01h02q/data.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    merged = {name: values for name, values in (COLUMNS | columns).items() if values is not None}
    pq.write_table(pa.table(merged), path)
    return path


NUMBERS = [pa.float16(), pa.float32(), pa.float64()]


@pytest.mark.parametrize("number", NUMBERS, ids=str)
@pytest.mark.parametrize("kind", ["list", "large_list", "fixed_size_list"])
@pytest.mark.parametrize("integer", [pa.int32(), pa.int64(), pa.uint16()], ids=str)
def test_variants(tmp_path, number, kind, integer) -> None:
    make = {"list": pa.list_, "large_list": pa.large_list, "fixed_size_list": lambda t: pa.list_(t, 2)}[kind]
    columns = {"vector": pa.array([[np.float16(x) for x in row] for row in COLUMNS["vector"]], make(number))}
    for name in ("bucket", "example_id", "position"):
        columns[name] = pa.array(COLUMNS[name], integer)
    store(tmp_path, token_str=["a", None], **columns)
    (answer,) = read(tmp_path)
    assert answer == {"stream": "l01h02q", "head_dim": 2, "vector": [1.0, 2.5, -3.0, 0.5]} | {
        name: COLUMNS[name] for name in ("bucket", "example_id", "position")
    }


BAD = {
    "no vector": ({"vector": None}, "has no column 'vector'; it has 'bucket', 'example_id', 'position'"),
    "no position": ({"position": None}, "has no column 'position'"),
    "position of floats": ({"position": [0.5, 1.0]}, "'position' holds double; expected integers"),
    "bucket of text": ({"bucket": ["a", "b"]}, "'bucket' holds string; expected integers"),
    "vector of numbers": ({"vector": [1.0, 2.0]}, "'vector' holds double; expected lists of float"),
    "vector of integers": ({"vector": [[1], [2]]}, "'vector' holds list<element: int64>"),
    "null bucket": ({"bucket": [0, None]}, "row 1: 'bucket' is null"),
    "null example": ({"example_id": [None, 0]}, "row 0: 'example_id' is null"),
    "null position": ({"position": [0, None]}, "row 1: 'position' is null"),
    "null vector": ({"vector": [[1.0], None]}, "row 1: 'vector' is null"),
    "null number": ({"vector": [[1.0, 2.0], [3.0, None]]}, "row 1: number 1 of the vector is null"),
    "negative position": ({"position": [0, -1]}, "row 1: 'position' is -1"),
    "large position": ({"position": [0, 2**31]}, "row 1: 'position' is 2147483648"),
    "large bucket": ({"bucket": [0, 2**31]}, "row 1: 'bucket' is 2147483648"),
    "lengths differ": ({"vector": [[1.0, 2.0], [3.0]]}, "row 1: the vector has 1 numbers; expected 2"),
    "empty vector": ({"vector": [[], []]}, "row 0: the vector has 0 numbers"),
    "infinite": ({"vector": [[1.0], [float("inf")]]}, "row 1: number 0 of the vector is inf"),
    "not a number": ({"vector": [[1.0], [float("nan")]]}, "row 1: number 0 of the vector is nan"),
    "beyond float32": ({"vector": [[1.0], [1e300]]}, "row 1: number 0 of the vector is inf"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_columns(tmp_path, name) -> None:
    columns, expected = BAD[name]
    if isinstance(columns.get("vector"), list) and name in ("empty vector", "null number"):
        columns = {"vector": pa.array(columns["vector"], pa.list_(pa.float32()))}
    path = store(tmp_path, **columns)
    message = read(tmp_path)[-1]["input_error"]
    assert str(path) in message and expected in message


def test_bad_folders(tmp_path) -> None:
    assert "holds no vectors" in read(tmp_path)[0]["input_error"]
    assert "No such file" in read(tmp_path / "none")[0]["system_error"]
    path = store(tmp_path)
    (tmp_path / "vectors/l1h2q").mkdir()
    assert "is missing" in read(tmp_path)[0]["input_error"]
    (tmp_path / "vectors/l1h2q/data.parquet").write_bytes(path.read_bytes())
    assert "names the same stream as" in read(tmp_path)[0]["input_error"]
    (tmp_path / "vectors/l1h2q/data.parquet").unlink()
    (tmp_path / "vectors/l1h2q").rmdir()
    path.write_bytes(path.read_bytes()[:-3])
    assert "cannot be read as Parquet" in read(tmp_path)[0]["input_error"]
