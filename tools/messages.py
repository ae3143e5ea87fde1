"""Lists every message of the program, the package and the page: errors, warnings, the log, help, figures, texts.

tools/messages.py > tests/hygiene/messages.txt after a change of words, so that the change is one diff. {} stands for a value. A message is
a string of more than one word that is not code.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("ropewalk", "python", "report/src")
SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<raw>\w*)\(.*?\)(?P=raw)"|^\s*#[^\n]*|\'(?:[^\'\\\n]|\\.)\'', re.S | re.M
)
PIECE = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
CPP = re.compile(rf'(?P<skipped>{SKIPPED.pattern})|{PIECE.pattern}(?:\s*{PIECE.pattern})*', re.S | re.M)
TYPESCRIPT = re.compile(r'(?P<skipped>//[^\n]*|/\*.*?\*/|^import [^\n]*)|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`', re.S | re.M)
WORDS = re.compile(r"[^\W\d_]{2,}.* | .*[^\W\d_]{2,}", re.S)
CODE = re.compile(r"datum\.|==|=>|&&|\|\||</|\\w|\\d|\(\?")
"""Texts for Vega, HTML, or patterns."""
CLASSES = re.compile(r"^[ a-z0-9-]+$|\w\(\w+, |var\(--")
"""Classes of the page's elements, and their styles."""


def is_message(text: str) -> bool:
    return bool(WORDS.search(text)) and not CODE.search(text)


def of_cpp(text: str) -> list[str]:
    found = []
    for literal in CPP.finditer(text):
        if literal.group("skipped") is None:
            found.append("".join(PIECE.findall(literal.group(0))))
    return [words for words in found if is_message(words)]


def shown(node: ast.AST) -> str | None:
    """A string, with {} for the values of an f-string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def of_python(text: str) -> list[str]:
    tree = ast.parse(text)
    # Docstrings are comments, and the constants in an f-string are parts of it.
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    skipped |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    found = [shown(node) for node in ast.walk(tree) if id(node) not in skipped]
    return [words for words in found if words and is_message(words)]


def of_typescript(text: str) -> list[str]:
    found = []
    for literal in TYPESCRIPT.finditer(text):
        if literal.group("skipped") is None:
            found.append(re.sub(r"\$\{(?:[^{}]|\{[^{}]*\})*\}", "{}", literal.group(2) or literal.group(3) or ""))
    return [words for words in found if is_message(words) and not CLASSES.search(words)]


READERS = {".cpp": of_cpp, ".h": of_cpp, ".cu": of_cpp, ".py": of_python, ".ts": of_typescript}


def listed() -> str:
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", *FOLDERS], capture_output=True, text=True, check=True).stdout.split("\0")
    lines = []
    for name in sorted(names):
        path = ROOT / name
        read = READERS.get(path.suffix)
        messages = sorted({words.replace("\n", "\\n") for words in read(path.read_text())}) if name and read and path.is_file() else []
        if messages:
            lines += [name, *(f'    "{words}"' for words in messages), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(listed())
