"""The wheel of `make wheel` works without this repository and without the libraries of its system packages."""

import csv
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from types import SimpleNamespace

import environment
import pytest

ROOT = environment.ROOT
sys.path.insert(0, str(ROOT / "tests/golden"))

from fake_hub import FakeHub  # noqa: E402

BUILT = Path(os.environ["ROPEWALK_BUILD"]) / "python/ropewalk"


@pytest.fixture(scope="module")
def wheel():
    (found,) = ROOT.glob("dist/*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The installed wheel, the tests next to it, and `run`, which runs a command there."""
    folder = tmp_path_factory.mktemp("wheel")
    python = environment.make(folder / "environment", wheel)
    packages = environment.packages_of(python)
    for name in ("tests/python", "tests/golden"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "older"))
    (folder / "docs").mkdir()
    shutil.copy(ROOT / "docs/python.md", folder / "docs")
    (module,) = BUILT.glob("_core.*.so")
    hidden = {str(ROOT), os.path.realpath(ROOT / ".venv"), os.path.realpath(sysconfig.get_path("data"))}
    before = environment.hiding([*environment.of_system_packages(module), *sorted(hidden)])
    clean = {key: value for key, value in os.environ.items() if not re.match("PYTHON|ROPEWALK|VIRTUAL_ENV|LD_", key)}

    def run(*words, **settings):
        variables = {**clean, "PATH": f"{python.parent}:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **settings}
        return subprocess.run([*before, *map(str, words)], cwd=folder, env=variables, capture_output=True, text=True)

    return SimpleNamespace(folder=folder, python=python, packages=packages, package=packages / "ropewalk", run=run, hides=bool(before))


def test_it_is_of_these_sources(wheel):
    """`make test` builds it; by hand: make wheel."""
    files = zipfile.ZipFile(wheel)
    for source in [*(ROOT / "python/ropewalk").glob("*.py"), *(ROOT / "python/ropewalk").glob("*.pyi")]:
        assert files.read(f"ropewalk/{source.name}") == source.read_bytes(), f"{source} has changed: make wheel"


def test_the_repository_is_out_of_sight(installed):
    if not installed.hides:
        pytest.skip("this machine lets nobody hide folders; the other tests run in sight of them")
    (module,) = BUILT.glob("_core.*.so")
    libraries = environment.of_system_packages(module)
    assert any("libcurl" in library for library in libraries)
    seen = installed.run(installed.python, "-c", f"import os; print(os.listdir({str(ROOT)!r}), sum(map(os.path.getsize, {libraries!r})))")
    assert seen.stdout == "[] 0\n", seen.stderr


def test_libraries_are_its_own_or_those_of_torch_and_pyarrow(installed):
    (module,) = installed.package.glob("_core.*.so")
    for file in (module, installed.package / "libexec/ropewalk/ropewalk"):
        found = environment.libraries(file)
        assert {"libtorch_cpu.so", "libc10.so"} <= set(found) and any(name.startswith("libcurl-") for name in found)
        lost = {name: where for name, where in found.items() if not environment.SYSTEM.match(name) and not os.path.realpath(where).startswith(str(installed.packages))}
        assert not lost


def test_the_demo(installed):
    done = installed.run("ropewalk", "demo", "--format", "svg", "--quiet")
    assert done.returncode == 0, done.stderr
    out = installed.folder / "out/demo"
    with open(out / "heads.csv", newline="") as file:
        assert {row["checkpoint"] for row in csv.DictReader(file)} >= {"init", "S1-56", "LC2-500"}
    assert (out / "figures/position_signal.svg").stat().st_size > 1000, "rendered by the Python of the environment"
    assert b"Ropewalk demo" in (out / "report.html").read_bytes()


def test_one_version(installed):
    (version,) = re.findall(r"^project\(ropewalk VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    code = "import importlib.metadata as m, ropewalk; print(m.version('ropewalk'), ropewalk.__version__)"
    assert installed.run(installed.python, "-c", code).stdout.split() == [version, version]
    assert installed.run("ropewalk", "--version").stdout.split()[0] == version


def test_ready_made_experiments(installed):
    done = installed.run("ropewalk", "run", "nonesuch")
    assert done.returncode == 3 and "these are amber, " in done.stderr and "pythia-160m" in done.stderr
    assert "smollm2-135m" not in done.stderr, "it reads what a tool of the repository makes"
    done = installed.run(installed.python, "-c", "import ropewalk; print(ropewalk.run('demo', dry_run=True))")
    assert "Ropewalk demo" in done.stdout, done.stderr


def test_the_python_tests(installed):
    """All tests except those of notebooks, which are documents of the repository, and of the backend, which are as long as all others together."""
    tests = sorted(file for file in (installed.folder / "tests/python").glob("test_*.py") if file.stem not in ("test_notebooks", "test_backend", "test_backend_runs"))
    settings = {name: os.environ[name] for name in ("OMP_NUM_THREADS", "GOMP_SPINCOUNT", "HF_HUB_OFFLINE") if name in os.environ}
    done = installed.run(installed.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, ROPEWALK=str(installed.python.parent / "ropewalk"), **settings)
    assert done.returncode == 0, done.stdout + done.stderr


def test_downloads_are_encrypted(installed, tmp_path):
    """With the TLS of the wheel, although libparquet contains the functions of another OpenSSL."""
    hub = FakeHub()
    certificate = hub.encrypt(tmp_path)
    hub.repository("org/model").commit("main", {"config.json": b"{}"})
    settings = {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "0"}
    try:
        trusting = installed.run("ropewalk", "inspect", "org/model", SSL_CERT_FILE=str(certificate), **settings)
        assert trusting.returncode == 3 and hub.requests and "certificate" not in trusting.stderr, trusting.stderr
        hub.requests.clear()
        code = "import ropewalk; ropewalk.inspect('org/model')"
        done = installed.run(installed.python, "-c", code, SSL_CERT_FILE=str(certificate), **settings)
        assert "InputError: org/model" in done.stderr and hub.requests, done.stderr
        wary = installed.run("ropewalk", "inspect", "org/model", **settings)
        assert wary.returncode == 4 and re.search("error: .*certificate", wary.stderr), wary.stderr
    finally:
        hub.close()


@pytest.mark.parametrize("version", ["1.0.0", "99.13.0+cpu"])
def test_another_torch_is_one_line(installed, tmp_path, version):
    (tmp_path / f"torch-{version}.dist-info").mkdir()
    (tmp_path / f"torch-{version}.dist-info/METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
    line = rf"ropewalk [0-9.]+ was built with torch \S+ but found torch {re.escape(version)}: install torch [0-9.]+, or install ropewalk again in this environment"
    done = installed.run("ropewalk", "--version", PYTHONPATH=str(tmp_path))
    assert done.returncode == 4 and re.fullmatch(rf"error: {line}\n", done.stderr), done.stderr
    done = installed.run(installed.python, "-c", "import ropewalk", PYTHONPATH=str(tmp_path))
    assert re.fullmatch(f"ImportError: {line}", done.stderr.splitlines()[-1])


def test_torch_of_another_folder(installed, tmp_path):
    """The package in another folder than torch and pyarrow, as in an environment on top of the system's."""
    shutil.copytree(installed.package, tmp_path / "ropewalk", copy_function=environment.link)
    shutil.copytree(installed.packages / "ropewalk.libs", tmp_path / "ropewalk.libs", copy_function=environment.link)
    words = (installed.python, installed.python.parent / "ropewalk", "--version")
    done = installed.run(*words, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    done = installed.run(installed.python, "-c", "import ropewalk; print(ropewalk.run('demo', dry_run=True), ropewalk.__file__)", PYTHONPATH=str(tmp_path))
    assert "Ropewalk demo" in done.stdout and str(tmp_path) in done.stdout, done.stderr
