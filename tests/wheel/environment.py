"""A separate environment for the wheel, and a way to run commands there that hides the repository and the libraries of its system packages."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Exists on every Linux for which wheels are made (manylinux).
SYSTEM = re.compile(r"lib(c|m|dl|rt|z|pthread|resolv|gcc_s|stdc\+\+)\.so\.|ld-linux|linux-vdso")


def link(source, target):
    """A file of an installed package under another name, so that it exists without the first; a copy if it is on another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def make(folder: Path, wheel: Path) -> Path:
    """A new environment with the wheel, and with the packages of the tests' own environment; nothing is downloaded. Returns its Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    packages = packages_of(python)
    for one in Path(sysconfig.get_path("purelib")).iterdir():
        if re.match(r"ropewalk\b|__pycache__|.*\.(pth|egg-link)$", one.name):
            continue
        if one.is_dir():
            shutil.copytree(one, packages / one.name, copy_function=link)
        else:
            link(one, packages / one.name)
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", wheel], check=True
    )
    return python


def packages_of(python: Path) -> Path:
    done = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def libraries(*files) -> dict[str, str]:
    """The libraries that files need, by name: the path, or None."""
    done = subprocess.run(["ldd", *files], capture_output=True, text=True)
    return dict(re.findall(r"^\s*(\S+) => (not found|\S+)", done.stdout, re.M))


def of_system_packages(built: Path) -> list[str]:
    """Libraries that a module in the build uses from the system, and that Python itself does not need."""
    own = libraries(os.path.realpath(sys.executable), *Path(sysconfig.get_path("stdlib"), "lib-dynload").glob("*.so"))
    paths = {os.path.realpath(path) for name, path in libraries(built).items() if path.startswith(("/lib", "/usr")) and not SYSTEM.match(name)}
    return sorted(paths - {os.path.realpath(path) for path in own.values()})


# Not the program `mount`, which needs libraries itself.
HIDE = """
import ctypes, os, sys
call = ctypes.CDLL(None, use_errno=True).mount
def mount(source, target, kind, flags):
    if call(source.encode(), target.encode(), kind, flags, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)
count = int(sys.argv[1])
for place in sys.argv[2 : 2 + count]:
    if os.path.isdir(place):
        mount("none", place, b"tmpfs", 0)
    else:
        mount("/dev/null", place, None, 4096)  # MS_BIND
if len(sys.argv) > 2 + count:
    os.execvp(sys.argv[2 + count], sys.argv[2 + count :])
"""


def hiding(paths) -> list[str]:
    """Words before a command that hide folders and files from it; none where this machine does not allow that."""
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    words = [*unshare, os.path.realpath(sys.executable), "-c", HIDE, str(len(paths)), *paths]
    return words if subprocess.run(words, capture_output=True).returncode == 0 else []
