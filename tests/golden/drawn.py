"""Reads what a rendered figure shows: marks by the name of their layer, texts by their role, and their positions."""

import re
import xml.etree.ElementTree as xml
from pathlib import Path


class Drawing:
    def __init__(self, path: Path):
        self.root = xml.parse(path).getroot()
        self.width, self.height = float(self.root.get("width")), float(self.root.get("height"))
        self.parents = {child: parent for parent in self.root.iter() for child in parent}

    def groups(self, name: str) -> list:
        """Groups with a class such as `role-axis-label` or `markers_marks`, in the order drawn."""
        return [g for g in elements(self.root, "g") if name in (g.get("class") or "").split()]

    def marks(self, layer: str) -> list:
        return [mark for group in self.groups(f"{layer}_marks") for mark in group]

    def texts(self, role: str) -> list[str]:
        return [shown(text) for group in self.groups(role) for text in elements(group, "text")]

    def all_texts(self) -> list:
        return [text for text in elements(self.root, "text") if shown(text)]

    def position(self, element) -> tuple[float, float]:
        """The position of an element's origin in the picture."""
        x = y = 0.0
        while element is not None:
            dx, dy = translation(element)
            x, y = x + dx, y + dy
            element = self.parents.get(element)
        return x, y


def elements(root, tag: str) -> list:
    """All elements of a kind below an element, in any namespace."""
    return [element for element in root.iter() if element.tag.rpartition("}")[2] == tag]


def shown(text) -> str:
    return "\n".join(part for part in [text.text or "", *(span.text or "" for span in text)] if part)


def translation(element) -> tuple[float, float]:
    found = re.search(r"translate\(([-\d.e]+)[ ,]+([-\d.e]+)\)", element.get("transform") or "")
    return (float(found[1]), float(found[2])) if found else (0.0, 0.0)


def colors(marks, attribute="fill") -> list[str]:
    """The colour of each mark, as #rrggbb."""
    return [hex_color(mark.get(attribute)) for mark in marks]


def hex_color(text: str | None) -> str:
    found = re.fullmatch(r"rgb\((\d+), ?(\d+), ?(\d+)\)", text or "")
    return "#{:02x}{:02x}{:02x}".format(*map(int, found.groups())) if found else (text or "").lower()


def lightness(color: str) -> float:
    """CIE L*."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
              for c in (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))]  # fmt: skip
    return 116 * (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]) ** (1 / 3) - 16


def contrast(a: str, b: str) -> float:
    """WCAG 2 contrast ratio."""
    y = sorted(((lightness(c) + 16) / 116) ** 3 for c in (a, b))
    return (y[1] + 0.05) / (y[0] + 0.05)
