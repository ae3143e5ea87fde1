"""How large rooms, files and functions are."""

import ast
import re
from pathlib import Path

import tree

SOURCES = (*tree.CODE, ".py", ".ts", ".mjs")
# Lines that open a block at the margin or one step in, but are not functions.
OTHER = re.compile(r"^\s*(?:namespace|struct|class|enum|union|extern|typedef|using|export (?:interface|type)|interface|type)\b|= \{$|^\s*#")


def sources() -> list[Path]:
    return [path for path in tree.tracked(*SOURCES) if not tree.fuzzed(path)]


def lines(path: Path) -> int:
    return path.read_text().count("\n")


def braced_functions(text: str):
    """Functions of C++ or TypeScript in the form of clang-format: the last line is a brace in the column of the first."""
    rows = text.split("\n")
    for number, row in enumerate(rows):
        if not row.endswith("{") or row.strip() == "{":
            continue
        first = number
        # A declaration of several lines begins after a blank line, a comment, or the end of the previous declaration.
        while first > 0 and rows[first - 1].strip() and not re.search(r"(?:[;}:{]|^\s*//.*|^\s*#.*|\*/)$", rows[first - 1]):
            first -= 1
        margin = len(rows[first]) - len(rows[first].lstrip())
        declaration = " ".join(part.strip() for part in rows[first : number + 1])
        if margin > 2 or "(" not in declaration or OTHER.search(rows[first]):
            continue
        end = next((at for at in range(number + 1, len(rows)) if re.match(rf"^ {{{margin}}}\}}", rows[at])), None)
        if end is None or end <= number:
            continue
        name = re.search(r"([\w:~]+)\s*\(", declaration)
        if name and name.group(1) not in ("if", "for", "while", "switch", "catch", "TEST", "TEST_F", "TEST_P"):
            yield name.group(1), first, end


def functions(path: Path):
    """(name, lines) of every function of a file."""
    text = path.read_text()
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name, node.end_lineno - node.lineno + 1
        return
    found = list(braced_functions(text))
    for name, first, end in found:
        # A view of the page is a function whose inner functions are its methods: each is counted separately.
        inner = [(a, b) for _, a, b in found if first < a and b < end] if path.suffix != ".cpp" else []
        yield name, end - first + 1 - sum(b - a + 1 for a, b in inner)
