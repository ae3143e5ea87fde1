"""Limits are guidelines: what exceeds one is in limits.toml, with the reason."""

import collections
import tomllib

import sizes
import tree

LIMITS = tomllib.loads((tree.ROOT / "tests/hygiene/limits.toml").read_text())
FOLDER, FILE, FUNCTION, TINY, TINY_FILES = 45, 300, 60, 30, 100


def excepted(found: dict[str, int], kind: str):
    """Everything found is in the list, and everything in the list is found."""
    listed = LIMITS[kind]
    assert {name: size for name, size in found.items() if name not in listed} == {}, f"above the limit and not in limits.toml [{kind}]"
    assert {name for name in listed if name not in found} == set(), f"limits.toml [{kind}] names what is within the limit"
    assert all(reason.strip() for reason in listed.values())


def test_folders():
    count = collections.Counter(tree.name(path.parent) for path in sizes.sources())
    excepted({folder: number for folder, number in count.items() if number > FOLDER}, "folders")


def test_files():
    found = {tree.name(path): sizes.lines(path) for path in sizes.sources()}
    excepted({name: number for name, number in found.items() if number > FILE}, "files")


def test_functions():
    found = {}
    for path in sizes.sources():
        for name, size in sizes.functions(path):
            if size > FUNCTION:
                found[f"{tree.name(path)} {name}"] = size
    excepted(found, "functions")


def test_few_files_are_tiny():
    """A header counts with its source: one function has a short header of its file's name."""
    size = collections.Counter()
    for path in sizes.sources():
        if tree.name(path).startswith("ropewalk/"):
            size[tree.name(path.with_suffix(""))] += sizes.lines(path)
    tiny = sorted(name for name, number in size.items() if number < TINY)
    assert len(tiny) < TINY_FILES, tiny
