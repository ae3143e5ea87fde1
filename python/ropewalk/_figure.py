"""Figures: Vega-Lite specifications that notebooks show."""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from . import _module
from ._listener import Listener
from .errors import Error, SystemError, UsageError  # noqa: A004

RENDERED = ("png", "svg", "pdf")


class Figure:
    """A figure of a study. Jupyter, VS Code and marimo draw it; other notebooks show it as an image, if vl-convert is installed.

    `spec` is its Vega-Lite specification with the data, a dict, which you may change or open in the Vega editor.
    """

    def __init__(self, name: str, spec: dict[str, Any]) -> None:
        self.name = name
        self.spec = spec

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the figure in the format of the file's extension: .png, .svg, .pdf (these need vl-convert), or .json for the specification."""
        out = Path(path)
        form = out.suffix.lstrip(".").lower()
        if form == "json":
            try:
                out.write_text(json.dumps(self.spec, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            except OSError as error:
                raise SystemError(f"{out}: cannot be written: {error.strerror}") from None
            return out
        if form not in RENDERED:
            raise UsageError(f"{out}: ends in '{out.suffix}'; expected .png, .svg, .pdf or .json")
        if not out.absolute().parent.is_dir():
            raise SystemError(f"{out}: cannot be written: there is no folder {out.absolute().parent}")
        with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".ropewalk-") as folder, Listener() as listener:
            _module.core().render(listener, self.name, json.dumps(self.spec), folder, form)
            (Path(folder) / f"{self.name}.{form}").replace(out)
        return out

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        # Each notebook program knows one of these types, and draws the same. Programs that know neither use the image, or show the hint.
        bundle: dict[str, Any] = {f"application/vnd.vegalite.v{major}+json": self.spec for major in (5, 6)}
        if importlib.util.find_spec("vl_convert") is not None:
            with contextlib.suppress(Error), tempfile.TemporaryDirectory(prefix="ropewalk-") as folder:
                bundle["image/png"] = base64.b64encode(self.save(Path(folder) / "figure.png").read_bytes()).decode()
        hint = "" if "image/png" in bundle else "\nThis program does not draw Vega-Lite: install vl-convert-python to see an image here, or open figure.spec in the Vega editor."
        return bundle | {"text/plain": repr(self) + hint}

    def __repr__(self) -> str:
        return f"<ropewalk.Figure {self.name}>"
