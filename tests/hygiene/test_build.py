"""What is compiled for whom: nobody waits for what he did not ask for."""

import json
import os
import re
import subprocess
from pathlib import Path

import tree

BUILD = Path(os.environ["ROPEWALK_BUILD"])
INCLUDE = re.compile(r'^#include "((?:ropewalk|tests|python)/[^"]+)"', re.M)
TORCH = "ropewalk/kernels/torch.h"


def reached(path: Path, known: dict) -> bool:
    """Whether a file of ours includes torch, itself or through headers of ours."""
    name = tree.name(path)
    if name not in known:
        known[name] = False
        included = INCLUDE.findall(path.read_text())
        known[name] = TORCH in included or any(reached(tree.ROOT / one, known) for one in included)
    return known[name]


def test_the_program_is_built_without_tests():
    """`make build` and `make demo` on a fresh clone compile the program alone."""
    makefile = (tree.ROOT / "Makefile").read_text()
    assert re.search(r"^build:.*\n\t@cmake --build build --target ropewalk_cli$", makefile, re.M)
    assert re.search(r"^demo: build$", makefile, re.M) and re.search(r"^test: all wheel$", makefile, re.M)
    commands = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "ropewalk_cli"], capture_output=True, text=True, check=True).stdout
    compiled = [str(Path(path).relative_to(tree.ROOT)) for path in re.findall(rf" -c ({re.escape(str(tree.ROOT))}/\S+\.cpp)$", commands, re.M)]
    assert len(compiled) > 100
    assert not [name for name in compiled if not name.startswith(("ropewalk/", "build/generated/"))]


def test_torch_is_precompiled_where_it_is_included():
    """Reading torch's headers takes ten seconds; loading them precompiled still two, for nothing where nobody includes them."""
    known, wrong = {}, []
    for command in json.loads((BUILD / "compile_commands.json").read_text()):
        path, line = Path(command["file"]), command["command"]
        # Fuzz targets and small tools are few; a precompiled header of their own would take longer than it saves.
        if not path.is_relative_to(tree.ROOT) or tree.name(path).startswith(("build/", "tests/fuzz/", "tests/golden/", "benchmarks/")):
            continue
        given = re.search(r"-include \S+/(ropewalk_core|ropewalk_tests)\.dir/cmake_pch", line) is not None
        if path.suffix == ".cpp" and given != reached(path, known):
            wrong.append(f"{tree.name(path)}: {'reads' if not given else 'does not include'} torch")
    assert known and not wrong, "if includes changed, `cmake --preset release` puts it right"
