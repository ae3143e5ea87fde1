"""The installed library, linked by a project of its own (examples/cmake_project), against numpy."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import analysis_reference as expected

ROOT = Path(__file__).parents[2]
DOCUMENTS, TOKENS, DIM, BLOCKS = 32, 128, 8, 16


def cmake(*arguments):
    done = subprocess.run(["cmake", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.fixture(scope="module")
def output():
    """What the example prints. Its folder is always the same, so that a compiler's cache can know it."""
    build = Path(os.environ["ROPEWALK_BUILD"])
    folder = build / "tests" / "library"
    shutil.rmtree(folder, ignore_errors=True)
    cmake("--install", build, "--component", "library", "--prefix", folder / "prefix")
    ccache = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    cmake("-S", ROOT / "examples/cmake_project", "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}", *ccache)
    cmake("--build", folder / "build")
    done = subprocess.run([folder / "build" / "measure_tensors"], capture_output=True, text=True)
    shutil.rmtree(folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def noise(heads, document, seed):
    i = np.arange(heads * TOKENS * DIM, dtype=float) + 10007.0 * document
    x = np.sin(i * 12.9898 + seed) * 43758.5453
    return (x - np.floor(x) - 0.5).reshape(heads, TOKENS, DIM) * 0.7 ** np.arange(DIM)


def with_position(vectors, strength):
    vectors[: len(vectors) // 2, :, 0] += strength * np.linspace(-0.5, 0.5, TOKENS)
    return vectors


def test_numbers_and_errors(output):
    q = np.stack([with_position(noise(4, document, 1), 2) for document in range(DOCUMENTS)])  # [documents, heads, T, d]
    k = np.stack([with_position(noise(2, document, 2), -1) for document in range(DOCUMENTS)])
    t = np.arange(TOKENS)

    def measure(head, documents):
        positions = np.tile(t, len(documents))
        rows, _ = expected.analyze_head(
            q[documents, head].reshape(-1, DIM), positions, k[documents, head // 2].reshape(-1, DIM), positions, 1)  # fmt: skip
        return rows[0][[1, 2, 0]]  # r_q, r_k, explained variance

    lines = output.splitlines()
    assert len(lines) == 5
    everything = np.arange(DOCUMENTS)
    for head, line in enumerate(lines[1:]):
        number, *rest = re.findall(r"-?[\d.]+", line)
        assert int(number) == head
        values, errors = np.array(rest[::2], float), np.array(rest[1::2], float)
        whole = measure(head, everything)
        assert values == pytest.approx(whole, abs=2e-6)
        without = np.array([measure(head, everything[everything % BLOCKS != block]) for block in range(BLOCKS)])
        without[without[:, :2] @ whole[:2] < 0, :2] *= -1
        jackknife = np.sqrt((BLOCKS - 1) * without.var(axis=0))
        assert errors == pytest.approx(jackknife, rel=2e-3, abs=2e-6)
    assert float(lines[1].split()[1]) > 0.8 > 0.2 > abs(float(lines[3].split()[1])), "position is where it was put"
