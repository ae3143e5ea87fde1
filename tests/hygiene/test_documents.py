"""Documents are true: commands exist, options are described, links have targets."""

import functools
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


@functools.cache
def options_of(verb: str) -> set[str]:
    return set(re.findall(r"--[a-z][\w-]*", help_of(verb)))


COMMANDS = ["README.md", "docs/guide.md", "docs/start.md", "docs/agents.md"]


@pytest.mark.parametrize("document", [*COMMANDS, "docs/cli.md"])
def test_verbs_exist(document):
    named = re.findall(r"(?:^\s+|`|/)ropewalk ([a-z]+)\b", (tree.ROOT / document).read_text(), re.M)
    assert named and set(named) <= set(verbs())


@pytest.mark.parametrize("document", COMMANDS)
def test_commands_have_options_that_exist(document):
    text = (tree.ROOT / document).read_text()
    commands = re.findall(r"(?:^ +|^    .*/|`)ropewalk ([a-z]+)\b([^`\n]*)", text, re.M)
    assert commands
    for verb, rest in commands:
        assert set(re.findall(r"--[a-z][\w-]*", rest)) <= options_of(verb), f"{document}: ropewalk {verb}{rest}"


def test_every_option_is_described():
    text = (tree.ROOT / "docs/cli.md").read_text()
    for verb in [(), *((verb,) for verb in verbs())]:
        for option in re.findall(r"(--[a-z][\w-]*)", help_of(*verb)):
            assert f"`{option}" in text, f"docs/cli.md lacks {option} of {verb}"


def test_described_options_exist():
    there = set(re.findall(r"--[a-z][\w-]*", help_of() + "".join(map(help_of, verbs()))))
    described = set(re.findall(r"`(--[a-z][\w-]*)", (tree.ROOT / "docs/cli.md").read_text()))
    assert described <= there


def anchors(text: str) -> set[str]:
    """Of every heading, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere():
    for path in [*documents(), tree.ROOT / "llms.txt"]:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", path.read_text()):
            if "://" not in target:
                there = path.parent / target if target else path
                assert there.exists(), f"{tree.name(path)}: {target}"
                assert not anchor or there.suffix != ".md" or anchor in anchors(there.read_text()), f"{tree.name(path)}: {target}#{anchor}"


def test_anchors_are_of_headings():
    text = "# One `two`: three\n```\n# no heading\n```\n### Shape\n"
    assert anchors(text) == {"one-two-three", "shape"}


def test_citation_is_of_the_last_release():
    version, date = re.search(r"^## (\d\S*) - (\S+)$", (tree.ROOT / "CHANGELOG.md").read_text(), re.M).groups()
    cited = (tree.ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {version}\n" in cited and f"\ndate-released: {date}\n" in cited
    readme = (tree.ROOT / "README.md").read_text()
    assert f"{{{version}}}" in readme and f"{{{date}}}" in readme


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
