"""Skipped tests are not reported as passed: GPU tests, where the GPU is hidden."""

import os
import re
import subprocess
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["unit.moments.gpu", "golden.gpu"])
def test_hidden_gpu_is_a_skip(name):
    build = os.environ["ROPEWALK_BUILD"]
    listed = subprocess.run(["ctest", "--test-dir", build, "-N", "-R", f"^{name}$"], capture_output=True, text=True).stdout
    if "Total Tests: 0" in listed:
        pytest.skip("a build under sanitizers runs all C++ tests as one")
    if name.startswith("unit.") and not Path(build, "tests/ropewalk_tests").exists():
        pytest.skip("the C++ tests are not built")
    done = subprocess.run(
        ["ctest", "--test-dir", build, "-R", f"^{name}$", "-FS", ".*"], capture_output=True, text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert re.search(rf"{re.escape(name)} \.*\s*\*\*\*Skipped", done.stdout), done.stdout
