"""A small study, measured by the program; the package's results are compared with the program's files."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))

import trust_study  # noqa: E402

gc.disable()  # as in golden/conftest.py

SETTINGS = dict(context=40, blocks=4, dtype="float32", device="cpu")  # of a capture of the small study


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def ropewalk(*arguments) -> str:
    done = subprocess.run([os.environ["ROPEWALK"], *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """Two checkpoints and a baseline, the corpus and the experiment."""
    return trust_study.Study(tmp_path_factory.mktemp("source") / "study", models=("A", "B"))


@pytest.fixture(scope="session")
def folder(source):
    """The results of `ropewalk run`."""
    out = source.root / "out"
    ropewalk("run", source.root / "study.yaml", "--out", out, "--format", "json", "--quiet")
    return out
