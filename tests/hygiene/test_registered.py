"""Finds files that nothing builds or runs: they protect nothing."""

import re

import pytest
import tree


def mentioned(path, where) -> bool:
    pattern = rf"(?<![\w.-]){re.escape(path)}(?![\w.-])"
    return where.is_file() and re.search(pattern, where.read_text()) is not None


def folder_list(path):
    """The nearest CMakeLists.txt at or above a file, and the file's path as written there."""
    for folder in path.parents:
        if (folder / "CMakeLists.txt").is_file():
            return folder / "CMakeLists.txt", str(path.relative_to(folder))


def test_every_source_is_built():
    sources = [path for path in tree.tracked(".cpp", ".cu")]
    lost = []
    for path in sources:
        listing, name = folder_list(path)
        # A loop over tools has their names without the extension.
        if not mentioned(name, listing) and not mentioned(path.stem, listing):
            lost.append(tree.name(path))
    assert not lost


@pytest.mark.parametrize("folder, function", [("golden", "golden_test"), ("hygiene", "hygiene_test"), ("python", "python_test"), ("wheel", "wheel_test")])
def test_every_python_test_is_run(folder, function):
    listing = (tree.ROOT / "tests" / folder / "CMakeLists.txt").read_text()
    run = set(re.findall(rf"^\s*{function}\((\w+)", listing, re.M)) - {"name"}
    there = {path.stem.removeprefix("test_") for path in tree.tracked(".py")
             if path.is_relative_to(tree.ROOT / "tests" / folder) and path.name.startswith("test_")}  # fmt: skip
    assert there <= run


def test_every_browser_test_is_run():
    listing = (tree.ROOT / "tests/report/CMakeLists.txt").read_text()
    run = set(re.search(r"foreach\(name ([\w ]+)\)", listing).group(1).split())
    assert {path.name.removesuffix(".test.mjs") for path in tree.tracked(".test.mjs")} <= run


def test_every_test_folder_is_entered():
    listing = (tree.ROOT / "tests/CMakeLists.txt").read_text()
    entered = set(re.findall(r"add_subdirectory\((\w+)\)", listing))
    there = {path.parent.name for path in tree.tracked("CMakeLists.txt") if path.parent.parent == tree.ROOT / "tests"}
    assert there <= entered


def test_tests_mirror_sources():
    """tests/base/files/hash_test.cpp must test something in ropewalk/base/files."""
    for path in tree.tracked("_test.cpp"):
        room = path.parent.relative_to(tree.ROOT / "tests")
        assert (tree.ROOT / "ropewalk" / room).is_dir(), tree.name(path)


def test_cases_stand_where_cmake_sees_them():
    """tests/CMakeLists.txt finds cases by lines that start with TEST, TEST_F or TEST_P."""
    for path in tree.tracked("_test.cpp"):
        text = path.read_text()
        assert re.search(r"^TEST", text, re.M), tree.name(path)
        assert not re.search(r"^[ \t]+TEST(_F|_P)?\(|TYPED_TEST", text, re.M), tree.name(path)
