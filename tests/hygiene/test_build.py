"""What is compiled for whom: nobody waits for what he did not ask for."""

import os
import re
import subprocess
from pathlib import Path

import tree

BUILD = Path(os.environ["ROPEWALK_BUILD"])


def test_the_program_is_built_without_tests():
    """`make build` and `make demo` on a fresh clone compile the program alone."""
    makefile = (tree.ROOT / "Makefile").read_text()
    assert re.search(r"^build:.*\n\t@cmake --build build --target ropewalk_cli$", makefile, re.M)
    assert re.search(r"^demo: build$", makefile, re.M) and re.search(r"^test: all$", makefile, re.M)
    commands = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "ropewalk_cli"], capture_output=True, text=True, check=True).stdout
    compiled = [str(Path(path).relative_to(tree.ROOT)) for path in re.findall(rf" -c ({re.escape(str(tree.ROOT))}/\S+\.cpp)$", commands, re.M)]
    assert len(compiled) > 100
    assert not [name for name in compiled if not name.startswith(("ropewalk/", "build/generated/"))]
