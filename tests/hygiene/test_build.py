"""Which targets compile what: nothing is compiled that was not requested."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tree

BUILD = Path(os.environ["ROPEWALK_BUILD"])
JOINED = re.compile(r'^#include "([^"]+)"', re.M)
sys.path.insert(0, str(tree.ROOT / "cmake"))
import join_sources  # noqa: E402


def compiled(path: Path) -> list[Path]:
    """Our sources that one joined file of the build includes."""
    return [(path.parent / name).resolve() for name in JOINED.findall(path.read_text())] if path.is_relative_to(BUILD / "joined") else [path]


def test_a_second_clone_compiles_what_the_first_compiled():
    """ccache recognises a source again if no path of this clone is in it."""
    joined = list((BUILD / "joined").rglob("*.cpp"))
    assert joined and not [path for path in joined if str(tree.ROOT) in path.read_text()]
    for command in json.loads((BUILD / "compile_commands.json").read_text()):
        if "ccache" in command["command"]:
            assert f"CCACHE_BASEDIR={tree.ROOT} " in command["command"]


def test_the_program_is_built_without_tests():
    """`make build` and `make demo` on a fresh clone compile only the program."""
    makefile = (tree.ROOT / "Makefile").read_text()
    assert re.search(r"^build:.*\n\t@cmake --build build --target ropewalk_cli$", makefile, re.M)
    assert re.search(r"^demo: build$", makefile, re.M) and re.search(r"^test: all wheel$", makefile, re.M)
    commands = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "ropewalk_cli"], capture_output=True, text=True, check=True).stdout
    files = [Path(path) for path in re.findall(rf" -c ({re.escape(str(tree.ROOT))}/\S+\.cpp)$", commands, re.M)]
    names = [tree.name(source) for file in files for source in compiled(file)]
    assert len(names) > 100 and len(set(names)) == len(names)
    assert len(files) < len(names) / 3, "headers are read once for several sources"
    assert not [name for name in names if not name.startswith(("ropewalk/", "build/generated/"))]


def test_torch_is_precompiled_where_it_is_included():
    """Reading torch's headers takes ten seconds, and loading them precompiled still two, in vain where they are not included."""
    wrong, seen = [], 0
    for command in json.loads((BUILD / "compile_commands.json").read_text()):
        path, line = Path(command["file"]), command["command"]
        if "-fsanitize=thread" in line:  # a handful of sources, for a test
            continue
        given = re.search(r"-include \S+/(ropewalk_core|ropewalk_tests)\.dir/cmake_pch", line) is not None
        for source in compiled(path):
            # Fuzz targets and small tools are few; a precompiled header for them would take longer than it saves.
            if not source.is_relative_to(tree.ROOT) or tree.name(source).startswith(("build/", "tests/fuzz/", "tests/golden/", "benchmarks/")):
                continue
            seen += 1
            if source.suffix == ".cpp" and given != join_sources.Source(source).torch:
                wrong.append(f"{tree.name(source)}: {'reads' if not given else 'does not include'} torch")
    assert seen > 300 and not wrong, "if includes changed, `cmake --preset release` puts it right"


def source(folder: Path, name: str, text: str) -> join_sources.Source:
    path = folder / name
    path.write_text(text)
    return join_sources.Source(path)


@pytest.mark.parametrize(
    "declaration",
    ["int f(int x) {", "std::vector<int> f() {", "struct f {", "using f = int;", "constexpr int f[] = {1};", "const int f = 1;", "f() {}", "#define f 1"],
)
def test_sources_that_declare_the_same_name_are_compiled_apart(tmp_path, declaration):
    one, other = source(tmp_path, "a.cpp", f"{declaration}\n"), source(tmp_path, "b.cpp", "class f {};\n")
    assert one.stays_apart(other) and other.stays_apart(one)
    assert not one.stays_apart(source(tmp_path, "c.cpp", "  f();\nvoid g() {}\n"))
    assert [len(batch) for batch in join_sources.join([one, other], 100)] == [1, 1]


def test_a_name_in_a_header_of_the_other_keeps_sources_apart(tmp_path):
    private = source(tmp_path, "a.cpp", "struct Field {\n")
    public = source(tmp_path, "b.cpp", '#include "ropewalk/base/error.h"\n')
    assert private.stays_apart(public) and public.stays_apart(private)
    assert not public.stays_apart(source(tmp_path, "c.cpp", '#include "ropewalk/base/error.h"\n'))
