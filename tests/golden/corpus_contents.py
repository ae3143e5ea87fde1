"""What the program reads from a file of documents."""

import json
import os
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

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


def write(path: pathlib.Path, columns: dict, **options) -> None:
    pq.write_table(pa.table(columns), path, **options)


def peak_memory(path: pathlib.Path) -> int:
    """The most bytes of memory that the tool needs to read a whole corpus."""
    code = "import resource,subprocess,sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
    code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    done = subprocess.run([sys.executable, "-c", code, TOOL, path], capture_output=True, text=True, check=True)
    return int(done.stdout)
