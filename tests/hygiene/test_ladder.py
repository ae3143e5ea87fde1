"""A room, which is a folder of ropewalk/ with sources, includes only from itself and the rooms before it, and says what it is."""

import re

import pytest
import tree

LADDER = """
base base/processes base/files companion hub checkpoint text
kernels kernels/gpu kernels/attention kernels/rows kernels/moments kernels/products
model/config model model/architectures
moments moments/accumulators moments/vectors moments/collectors moments/files moments/tensors
analysis/math analysis/replicates analysis/statistics analysis/table analysis/analyze analysis/run analysis/ablation analysis/forecast
figures/parts figures
study/source study/experiment study/capture study/show study/ablation study/forecast study/run
cli
""".split()
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]ropewalk/([^">]+)/[^"/>]+\.(?:h|cuh)[">]', re.M)


def room(path) -> str:
    return str(path.relative_to(tree.ROOT / "ropewalk").parent)


def sources():
    return [path for path in tree.tracked(*tree.CODE) if tree.name(path).startswith("ropewalk/")]


@pytest.mark.parametrize("name", LADDER)
def test_includes_only_from_below(name):
    allowed = LADDER[: LADDER.index(name) + 1]
    wrong = [
        f"{tree.name(path)} includes ropewalk/{target}/"
        for path in sources()
        if room(path) == name
        for target in INCLUDE.findall(path.read_text())
        if target not in allowed
    ]
    assert not wrong


def test_every_room_is_on_the_ladder():
    assert {room(path) for path in sources()} == set(LADDER)


def test_every_room_says_what_it_is():
    """Three to eight lines: what comes in, what goes out, where to start reading."""
    wrong = []
    for name in {*LADDER, "analysis", "study"}:
        file = tree.ROOT / "ropewalk" / name / "README.md"
        lines = [line for line in file.read_text().splitlines() if line] if file.is_file() else []
        text = " ".join(lines)
        linked = name in ("analysis", "study") or "Start with" in text
        if not (3 <= len(lines) <= 8 and lines[0] == f"# {name}" and "In: " in text and "Out: " in text and linked):
            wrong.append(name)
        wrong += [f"{name}: {file}" for file in re.findall(r"`([a-z0-9_]+\.(?:h|cuh|cpp|py))`", text) if not list((tree.ROOT / "ropewalk").rglob(file))]
    assert not wrong


def test_includes_are_rooted():
    """Ours start with ropewalk/, tests/ or python/, so that a file can move without its neighbours."""
    ours = re.compile(r'^\s*#\s*include\s+"(?!ropewalk/|tests/|python/)([^"]+)"', re.M)
    wrong = {tree.name(path): ours.findall(path.read_text()) for path in tree.tracked(*tree.CODE)}
    assert not {path: found for path, found in wrong.items() if found}


def test_contributing_shows_the_ladder():
    """Rooms in the order of the ladder, each linked to its README."""
    text = (tree.ROOT / "CONTRIBUTING.md").read_text()
    linked = re.findall(r"\]\(ropewalk/([a-z/]+)\)", text)
    assert linked == LADDER
