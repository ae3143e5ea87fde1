"""What tests of the backend share: the program, a corpus of token ids, and experiments."""

import json
import os
import subprocess

import numpy as np
from safetensors.numpy import load_file

from tiny_models import CONTEXT

BLOCKS = 3
QUIET = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def program(*arguments, code=0, environment=None, timeout=600):
    command = [os.environ["ROPEWALK"], *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **QUIET, **(environment or {})}, timeout=timeout)
    assert done.returncode == code, done.stderr
    return done


def refusal(*arguments, code=3, environment=None):
    """The one line with which the program refuses."""
    done = program(*arguments, code=code, environment=environment)
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and done.stderr.endswith(lines[0] + "\n") and done.stdout == "", done.stderr
    return lines[0]


def experiment(path, corpus, models, documents=None, **keys):
    texts = {"path": str(corpus), "min_tokens": 1, **({"documents": documents} if documents else {})}
    # Rows of attention are not measured with transformers.
    settings = dict(name="Backend", device="cpu", dtype="float32", blocks=BLOCKS, sliding=True, rows=0, corpus=texts)
    entries = [{"label": label, "path": str(folder), "context": CONTEXT} for label, folder in models.items()]
    path.write_text(json.dumps({**settings, "models": entries, **keys}))
    return path


def capture_of(folder):
    return load_file(folder / "moments.safetensors"), json.loads((folder / "capture.json").read_text())


def assert_same_moments(mine, theirs, relative):
    """Of every stream's field, the largest number is what differences are relative to."""
    assert set(mine) == set(theirs)
    for key in mine:
        one, other = mine[key].astype(float), theirs[key].astype(float)
        assert one.shape == other.shape, key
        if one.size == 0:
            continue
        size = np.abs(one).max()
        if one.ndim > 1:
            own = np.abs(one).reshape(len(one), -1).max(1)
            size = np.maximum(own, 1e-3 * size).reshape(-1, *[1] * (one.ndim - 1))
        assert (np.abs(other - one) <= relative * size).all(), key
