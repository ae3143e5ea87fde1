"""A folder of ropewalk/ includes only from itself and the folders before it."""

import re

import pytest
import tree

LADDER = ["base", "companion", "hub", "checkpoint", "text", "kernels", "model", "moments", "analysis", "figures", "study", "cli"]
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]ropewalk/([^"/>]+)/', re.M)


@pytest.mark.parametrize("folder", LADDER)
def test_includes_only_from_below(folder):
    allowed = LADDER[: LADDER.index(folder) + 1]
    wrong = [
        f"{tree.name(path)} includes ropewalk/{target}/"
        for path in tree.tracked(*tree.CODE)
        if tree.name(path).startswith(f"ropewalk/{folder}/")
        for target in INCLUDE.findall(path.read_text())
        if target not in allowed
    ]
    assert not wrong


def test_every_folder_is_on_the_ladder():
    folders = {path.relative_to(tree.ROOT).parts[1] for path in tree.tracked(*tree.CODE) if tree.name(path).startswith("ropewalk/")}
    assert folders <= set(LADDER)


def test_includes_are_rooted():
    """Ours start with ropewalk/, tests/ or python/, so that a file can move without its neighbours."""
    ours = re.compile(r'^\s*#\s*include\s+"(?!ropewalk/|tests/|python/)([^"]+)"', re.M)
    wrong = {tree.name(path): ours.findall(path.read_text()) for path in tree.tracked(*tree.CODE)}
    assert not {path: found for path, found in wrong.items() if found}


def test_contributing_shows_the_ladder():
    text = " ".join((tree.ROOT / "CONTRIBUTING.md").read_text().split())
    assert " → ".join(LADDER) in text
