"""Documents are true: commands exist, options are described, links have targets."""

import importlib.util
import os
import re
import subprocess

import pytest
import tree


def documents():
    return [path for path in tree.tracked(".md")]


def help_of(*verb) -> str:
    return subprocess.run([os.environ["ROPEWALK"], *verb, "--help"], capture_output=True, text=True, check=True).stdout


def verbs() -> list[str]:
    return re.findall(r"^  ([a-z]+) ", help_of().split("Subcommands:")[1], re.M)


def test_make_targets_exist():
    targets = set(re.findall(r"^([\w-]+):", (tree.ROOT / "Makefile").read_text(), re.M))
    for path in documents():
        for command in re.findall(r"(?:^\s+|`)make ([a-z][\w-]*)", path.read_text(), re.M):
            assert command in targets, f"{tree.name(path)}: make {command}"


def test_makefile_promises():
    targets = set(re.findall(r"^([\w-]+):", (tree.ROOT / "Makefile").read_text(), re.M))
    assert targets >= {"setup", "build", "test", "test-real", "sanitize", "fuzz", "bench", "bench-gpu", "format", "clean"}


@pytest.mark.parametrize("document", ["README.md", "docs/cli.md"])
def test_verbs_exist(document):
    named = re.findall(r"(?:^\s+|`|/)ropewalk ([a-z]+)\b", (tree.ROOT / document).read_text(), re.M)
    assert named and set(named) <= set(verbs())


def test_every_option_is_described():
    text = (tree.ROOT / "docs/cli.md").read_text()
    for verb in [(), *((verb,) for verb in verbs())]:
        for option in re.findall(r"(--[a-z][\w-]*)", help_of(*verb)):
            assert f"`{option}" in text, f"docs/cli.md lacks {option} of {verb}"


def test_described_options_exist():
    there = set(re.findall(r"--[a-z][\w-]*", help_of() + "".join(map(help_of, verbs()))))
    described = set(re.findall(r"`(--[a-z][\w-]*)", (tree.ROOT / "docs/cli.md").read_text()))
    assert described <= there


def test_links_lead_somewhere():
    for path in documents():
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{tree.name(path)}: {target}"


def test_pictures_of_the_demo_are_drawn_by_the_tool_and_shown():
    spec = importlib.util.spec_from_file_location("draw_images", tree.ROOT / "tools" / "draw_images.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    pictures = {path.name for path in (tree.ROOT / "docs" / "images").glob("demo_*.png")}
    assert pictures == {f"demo_{name}.png" for name in tool.PICTURES}
    shown = "".join(path.read_text() for path in documents())
    assert all(name in shown for name in pictures)


def test_changelog_is_open():
    assert re.search(r"^## Unreleased$", (tree.ROOT / "CHANGELOG.md").read_text(), re.M)
