"""Writes the files that a target is compiled from: each includes several of its sources, as headers take longer to compile than what is in them.

Sources that declare the same name stay apart, and so do those with torch's headers and those without. Called by
JoinedSources.cmake with a folder, sources, and after `--alone` those that are compiled by themselves; prints `with` or `without` (torch) and the path of
each file.
"""

import os
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_LINES = 1500
TORCH = "ropewalk/kernels/torch.h"
INCLUDE = re.compile(r'^#include "((?:ropewalk|tests|python)/[^"]+)"', re.M)
# Declarations begin a line: nothing is indented in a namespace.
DECLARED = re.compile(
    r"^(?:(?:class|struct|enum class|enum|using|#define) (\w+)"
    r"|(?:constexpr|const|thread_local|std::atomic)\b[^()\n]*?\b(\w+)(?:\[\w*\])* ?(?:[={;]|$)"
    r"|(?!TEST|INSTANTIATE|ROPEWALK|namespace|template)(?:\w[\w:<>,&*\[\] ]*?[ &*>])?(\w+)\()",
    re.M,
)
NAMESPACE = re.compile(r"^namespace ropewalk::(\w+) \{", re.M)
SECOND = re.compile(r"^constexpr .*?, (k[A-Z]\w*) =", re.M)
# Of a function: it may not share its name with one of another source that all functions see.
LOCAL = re.compile(r"^ .*\b(k[A-Z]\w*)(?:\[\w*\])*(?: =|\{)", re.M)


@cache
def included(path: Path) -> frozenset[Path]:
    """Headers of ours that it includes, itself or through others."""
    direct = [ROOT / name for name in INCLUDE.findall(path.read_text()) if (ROOT / name).exists()]
    return frozenset(direct).union(*(included(header) for header in direct))


@cache
def declared(path: Path) -> frozenset[str]:
    text = path.read_text()
    names = {name for found in DECLARED.findall(text) for name in found if name}.union(SECOND.findall(text))
    space = NAMESPACE.search(text)
    return frozenset(f"{space[1]}::{name}" for name in names) if space else frozenset(names)


class Source:
    def __init__(self, path: Path):
        self.path = path
        self.lines = path.read_text().count("\n")
        self.torch = ROOT / TORCH in included(path)
        self.shared = frozenset().union(*(declared(header) for header in included(path)))
        self.own = declared(path) - self.shared
        self.local = frozenset(LOCAL.findall(path.read_text()))

    def stays_apart(self, other: "Source") -> bool:
        return bool(self.own & (other.own | other.shared | other.local) or other.own & (self.shared | self.local))


def join(sources: list[Source], most_lines: int) -> list[list[Source]]:
    """In the order they are given; each goes to the first batch that has room for it and none of its names."""
    batches: list[list[Source]] = []
    for source in sources:
        for batch in batches:
            room = sum(one.lines for one in batch) + source.lines <= most_lines
            if room and not any(source.stays_apart(one) for one in batch):
                batch.append(source)
                break
        else:
            batches.append([source])
    return batches


def main():
    folder, *words = sys.argv[1:]
    split = words.index("--alone")
    together, alone = ([Source(Path(word)) for word in part] for part in (words[:split], words[split + 1 :]))
    for source in alone:
        print("with" if source.torch else "without", source.path)
    for kind, torch in (("with", True), ("without", False)):
        for number, batch in enumerate(join([source for source in together if source.torch == torch], MOST_LINES)):
            made = batch[0].path
            if len(batch) > 1:
                made = Path(folder) / f"{kind}_torch_{number}.cpp"
                # Relative, so that ccache finds what another clone of the repository compiled.
                text = "".join(f'#include "{os.path.relpath(source.path, folder)}"\n' for source in batch)
                made.parent.mkdir(parents=True, exist_ok=True)
                if not made.exists() or made.read_text() != text:
                    made.write_text(text)
            print(kind, made)


if __name__ == "__main__":
    main()
