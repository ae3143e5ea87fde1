"""Runs notebooks and keeps what their cells show: text, and figures as images. Usage: run_notebooks.py NOTEBOOK…, with the package on PYTHONPATH.

The cells run in this process, in the notebook's folder. That takes neither Jupyter nor a kernel.
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
from pathlib import Path

import vl_convert


def show(value) -> dict:
    """What a notebook shows of a cell's last value; a figure as an image, which needs no browser."""
    if type(value).__module__.startswith("ropewalk") and hasattr(value, "spec"):
        image = vl_convert.vegalite_to_png(value.spec, scale=0.55)  # small files
        return {"image/png": base64.b64encode(image).decode(), "text/plain": [repr(value)]}
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "to_html"):
        data["text/html"] = value.to_html(max_rows=12).splitlines(keepends=True)
    return data


def run_cell(source: str, name: str, names: dict) -> list[dict]:
    """The outputs of a cell."""
    tree, text, outputs = ast.parse(source, name), io.StringIO(), []
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(text):
        exec(compile(tree, name, "exec"), names)
        value = eval(compile(ast.Expression(last.value), name, "eval"), names) if last else None
    if text.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": text.getvalue().splitlines(keepends=True)})
    if value is not None and not source.rstrip().endswith(";"):
        outputs.append({"output_type": "execute_result", "metadata": {}, "execution_count": None, "data": show(value)})
    return outputs


def run(path: Path) -> dict:
    """The notebook with the outputs of its cells."""
    notebook, names, before = json.loads(path.read_text(encoding="utf-8")), {"__name__": "__main__"}, Path.cwd()
    os.chdir(path.parent)
    try:
        for number, cell in enumerate((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), 1):
            cell["outputs"] = run_cell("".join(cell["source"]), f"{path.name}, cell {number}", names)
            cell["execution_count"] = number
            for output in cell["outputs"]:
                if "execution_count" in output:
                    output["execution_count"] = number
    finally:
        os.chdir(before)
    return notebook


def main() -> None:
    for path in map(Path, sys.argv[1:]):
        notebook = run(path.resolve())
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
