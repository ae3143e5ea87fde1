"""Moments of random queries and keys."""

import numpy as np
import pytest
import ropewalk
import torch

Q, K, D, LAYERS, T = 4, 2, 8, 2, 24


def random_batch(rows=3, heads=Q, tokens=T, seed=0):
    return torch.randn(rows, heads, tokens, D, generator=torch.Generator().manual_seed(seed)) + 2


@pytest.fixture(scope="module")
def batches():
    """Queries and keys of ten documents in every layer."""
    return [(random_batch(10, Q, seed=layer), random_batch(10, K, seed=100 + layer)) for layer in range(LAYERS)]


def fill(batches, rows=slice(None), change=lambda x: x, **settings):
    moments = ropewalk.Moments(Q, K, D, layers=LAYERS, blocks=4)
    for layer, (q, k) in enumerate(batches):
        moments.add(layer, change(q[rows]), change(k[rows]), **settings)
    return moments


def same(a, b, tolerance=0.0):
    a, b = a.to_numpy(), b.to_numpy()
    assert set(a) == set(b)
    for name in a:
        scale = max(np.abs(b[name]).max(initial=0), 1e-300)
        np.testing.assert_allclose(a[name] / scale, b[name] / scale, rtol=0, atol=tolerance, err_msg=name)
