"""The notebooks run, and show what they should."""

import json
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ["study", "statistic", "training"]  # the second notebook reads what the first wrote
sys.path.insert(0, str(ROOT / "tools"))

import run_notebooks  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Copies of the notebooks, with the files that they read, in a writable folder."""
    root = tmp_path_factory.mktemp("notebooks")
    for name in ("experiments", "data"):
        (root / name).symlink_to(ROOT / name)
    return shutil.copytree(ROOT / "docs" / "notebooks", root / "docs" / "notebooks")


def shown(notebook):
    """The kinds of outputs, per cell."""
    return [[sorted(output.get("data", [output["output_type"]])) for output in cell["outputs"]] for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_shows_what_it_says(name, folder):
    kept = json.loads((ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert [cell["execution_count"] for cell in kept["cells"] if cell["cell_type"] == "code"] == list(range(1, len(shown(kept)) + 1)), "run tools/run_notebooks.py"
    assert shown(run_notebooks.run(folder / f"{name}.ipynb")) == shown(kept)


def test_all_of_them_are_known_and_small():
    there = sorted(ROOT.glob("docs/notebooks/*.ipynb"))
    assert {path.stem for path in there} == set(NOTEBOOKS)
    document = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for path in there:
        assert f"notebooks/{path.name}" in document
        assert path.stat().st_size < 500_000, "outputs are to be small"
        assert str(ROOT) not in path.read_text(encoding="utf-8")
