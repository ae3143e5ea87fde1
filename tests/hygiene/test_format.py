"""Code is formatted like `make format` does."""

import subprocess

import tree


def test_clang_format():
    command = ["clang-format", "--dry-run", "--Werror", *map(str, tree.tracked(*tree.CODE))]
    done = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True)
    files = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "error: code should be" in line})
    assert done.returncode == 0, f"run `make format`: {files or done.stderr}"


def test_whitespace():
    bad = []
    for path in tree.tracked():
        text = path.read_bytes()
        if not text or b"\0" in text or tree.fuzzed(path):
            continue
        if b"\r" in text or b" \n" in text or not text.endswith(b"\n"):
            bad.append(tree.name(path))
    assert not bad, "carriage returns, spaces at line ends, or no newline at the end"
