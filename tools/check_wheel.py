"""Looks a wheel over before anybody gets it. Usage: check_wheel.py WHEEL. Prints what it holds; ends with 1 and one line for each fault."""

import fnmatch
import io
import re
import sys
import zipfile
from pathlib import Path

import wheel_backend
from elftools.elf.elffile import ELFFile

LARGEST = 40_000_000  # bytes
# Of every Linux that wheels are for (manylinux).
SYSTEM = ("libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libz.so.1", "libpthread.so.0", "libresolv.so.2", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2")
PROGRAM = "ropewalk/libexec/ropewalk/ropewalk"
HOLDS = (
    "ropewalk/__init__.py", "ropewalk/_build.py", "ropewalk/_core.pyi", "ropewalk/py.typed", "ropewalk/_core.*.so", "ropewalk/bin/ropewalk", PROGRAM,
    "*.data/scripts/ropewalk", "ropewalk/experiments/demo.yaml", "ropewalk/experiments/pythia-160m.yaml", "ropewalk/data/demo/tokenizer.json",
    "ropewalk/data/demo/S1-56/model.safetensors", "ropewalk/data/reference/smollm3.json", "*.dist-info/licenses/LICENSE", "ropewalk.libs/licenses/libcurl4*.txt",
)  # fmt: skip
PAGE = b'<script type="application/json" id="data">'  # of the report, which lies inside the program


def dynamic(content):
    """What a shared library or program needs, and where it looks for that."""
    section = ELFFile(io.BytesIO(content)).get_section_by_name(".dynamic")
    tags = list(section.iter_tags()) if section else []
    paths = [path for tag in tags for path in (getattr(tag, "runpath", None) or getattr(tag, "rpath", None) or "").split(":") if path]
    return [tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"], paths


def faults(path):
    """What is wrong with a wheel, one line each."""
    if path.stat().st_size > LARGEST:
        yield f"{path.stat().st_size / 1e6:.1f} MB; expected at most {LARGEST / 1e6:.0f}"
    wheel = zipfile.ZipFile(path)
    names = wheel.namelist()
    for wanted in HOLDS:
        if not fnmatch.filter(names, wanted):
            yield f"{wanted} is missing"
    bundled = {Path(name).name for name in names if name.startswith("ropewalk.libs/")}
    for name in names:
        content = wheel.read(name)
        if not content.startswith(b"\x7fELF"):
            continue
        needed, paths = dynamic(content)
        for library in needed:
            if library not in bundled and library not in SYSTEM and not any(fnmatch.fnmatch(library, one) for one in wheel_backend.FOREIGN):
                yield f"{name}: needs {library}, which is not bundled"
        order = [library for library in needed if re.match("lib(crypto|parquet)", library)]
        if any("parquet" in library for library in order) and "crypto" not in order[0]:
            yield f"{name}: needs {', '.join(order)}; expected libcrypto before libparquet, which has one of its own"
        for folder in paths:
            if not folder.startswith("$ORIGIN"):
                yield f"{name}: looks for libraries in {folder}; expected places beside itself"
        if name == PROGRAM and PAGE not in content:
            yield f"{name}: the page of the report is missing; build with ROPEWALK_REPORT=ON"
    (metadata,) = fnmatch.filter(names, "*.dist-info/METADATA")
    text = wheel.read(metadata).decode()
    for package in wheel_backend.PROVIDED:
        if not re.search(rf"^Requires-Dist: {package}==[0-9.]+\*$", text, re.M):
            yield f"{metadata}: does not name a version of {package}"


def main():
    path = Path(sys.argv[1])
    found = list(faults(path))
    for fault in found:
        print(f"{path}: {fault}", file=sys.stderr)
    if found:
        raise SystemExit(1)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
