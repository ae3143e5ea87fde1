"""The installed library, linked by a separate project (examples/cmake_project), compared with numpy."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import analysis_reference as expected
import edit_reference
import tiny_models

ROOT = Path(__file__).parents[3]
DOCUMENTS, TOKENS, DIM, BLOCKS = 32, 128, 8, 16


def cmake(*arguments):
    done = subprocess.run(["cmake", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny checkpoint and documents of tokens."""
    folder = tmp_path_factory.mktemp("edit")
    rng = np.random.default_rng(5)
    texts = {i: rng.integers(0, tiny_models.VOCAB, 64).tolist() for i in range(3)}
    return tiny_models.write(tiny_models.MODELS["llama_gqa"], folder / "model"), tiny_models.write_corpus(folder / "tokens.jsonl", texts), texts


@pytest.fixture(scope="module")
def outputs(model):
    """The examples' output. Their folder is always the same, so that a compiler's cache recognises it."""
    build = Path(os.environ["ROPEWALK_BUILD"])
    folder = build / "tests" / "library"
    shutil.rmtree(folder, ignore_errors=True)
    cmake("--install", build, "--component", "library", "--prefix", folder / "prefix")
    ccache = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    cmake("-S", ROOT / "examples/cmake_project", "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}", *ccache)
    cmake("--build", folder / "build")
    commands = [["measure_tensors"], ["edit_heads", *model[:2]]]
    done = [subprocess.run([folder / "build" / program, *files], capture_output=True, text=True) for program, *files in commands]
    shutil.rmtree(folder)
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 2
    return [one.stdout for one in done]


def noise(heads, document, seed):
    i = np.arange(heads * TOKENS * DIM, dtype=float) + 10007.0 * document
    x = np.sin(i * 12.9898 + seed) * 43758.5453
    return (x - np.floor(x) - 0.5).reshape(heads, TOKENS, DIM) * 0.7 ** np.arange(DIM)


def with_position(vectors, strength):
    vectors[: len(vectors) // 2, :, 0] += strength * np.linspace(-0.5, 0.5, TOKENS)
    return vectors


def test_numbers_and_errors(outputs):
    q = np.stack([with_position(noise(4, document, 1), 2) for document in range(DOCUMENTS)])  # [documents, heads, T, d]
    k = np.stack([with_position(noise(2, document, 2), -1) for document in range(DOCUMENTS)])
    t = np.arange(TOKENS)

    def measure(head, documents):
        positions = np.tile(t, len(documents))
        rows, _ = expected.analyze_head(
            q[documents, head].reshape(-1, DIM), positions, k[documents, head // 2].reshape(-1, DIM), positions, 1)  # fmt: skip
        return rows[0][[1, 2, 0]]  # r_q, r_k, explained variance

    lines = outputs[0].splitlines()
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


def test_an_edit_of_ones_own(outputs, model):
    """Compared with transformers with its own attention function."""
    folder, _, texts = model
    reference = edit_reference.Edited(folder, list(texts.values()))
    logits = (0.1 * np.arange(64)).tolist()
    edit = dict(kind="distance", heads=[[0, 1], [2, 3]], logits={"0.1": logits, "2.3": logits}, keep_mass=True)
    before, after = (np.concatenate(reference.measure(one)[0]).mean() for one in (None, edit))
    assert [float(number) for number in re.findall(r"[\d.]+", outputs[1])] == pytest.approx([before, after], abs=2e-5)
    assert abs(after - before) > 1e-4
