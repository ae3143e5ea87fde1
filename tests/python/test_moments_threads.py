"""Moments with other threads and processes, and the memory that they need."""

import concurrent.futures
import gc
import os
import subprocess

import numpy as np
import pytest
import ropewalk
import torch

from random_moments import D, K, Q, T, batches, fill, random_batch, same  # noqa: F401 (fixtures)


def test_settings_of_torch_come_back_from_several_threads():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:

        def add(_):
            moments = ropewalk.Moments(Q, K, D)
            for _ in range(20):
                moments.add(0, random_batch(3, Q, 200), random_batch(3, K, 200))

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(add, range(8)))
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_a_forked_process_leaves_temporary_results_alone():
    moments = ropewalk.Moments(Q, K, D)
    moments.add(0, random_batch(3, Q), random_batch(3, K))
    study = moments.analyze()
    child = os.fork()
    if child == 0:
        try:
            del study
            gc.collect()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert study.folder.is_dir() and len(study.heads) == Q


def test_memory_does_not_grow():
    """Added tensors are released."""
    import gc
    import resource

    moments = ropewalk.Moments(Q, K, 64)
    q, k = torch.randn(1, Q, 4096, 64), torch.randn(1, K, 4096, 64)
    for document in range(10):
        moments.add(0, q.clone(), k.clone())
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for document in range(40):
        moments.add(0, q.clone(), k.clone())
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 40 * q.nbytes / 1024 / 4


def test_a_launched_program_reads_what_was_saved_elsewhere(batches, tmp_path):
    """Both write the same bytes for the same numbers."""
    fill(batches).save(tmp_path / "a", label="x")
    fill(batches).save(tmp_path / "b", label="x")
    names = ("moments.safetensors", "capture.json")
    assert [(tmp_path / "a" / name).read_bytes() for name in names] == [(tmp_path / "b" / name).read_bytes() for name in names]
    done = subprocess.run([os.environ["ROPEWALK"], "analyze", tmp_path / "a", "--out", tmp_path / "tables"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("numbered", [True, False])
def test_several_threads_add_to_one_layer(numbered):
    """Nothing is lost, and nothing counts twice."""
    rows, heads, tokens, d, batches = 64, 4, 32, 32, 15
    moments = ropewalk.Moments(heads, heads, d, blocks=2 * rows)

    def batch(number):
        generator = torch.Generator().manual_seed(number)
        return torch.randn(rows, heads, tokens, d, generator=generator) + 2, torch.randn(rows, heads, tokens, d, generator=generator)

    def add(thread):
        for number in range(thread, 8 * batches, 8):
            moments.add(0, *batch(number), document=number * rows if numbered else None)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))
    assert moments.documents == list(range(8 * batches * rows))
    assert moments.to_numpy()["block.tokens"].sum() == 8 * batches * rows * tokens == 245_760
    for kind, index in (("q", 0), ("k", 1)):
        added = torch.cat([batch(number)[index] for number in range(8 * batches)]).double()
        for head in range(heads):
            found, vectors = moments.moments(0, kind, head), added[:, head].reshape(-1, d)
            assert found.n == 245_760
            np.testing.assert_allclose(found.mean, vectors.mean(0), rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(found.covariance, torch.cov(vectors.T), rtol=1e-5, atol=1e-6)


def test_a_thread_per_layer_and_one_that_reads(batches):
    layers = 8
    moments, expected = (ropewalk.Moments(Q, K, D, layers=layers, blocks=4) for _ in range(2))
    q, k = random_batch(40, Q), random_batch(40, K)

    def add(to, layer):
        for document in range(40):
            to.add(layer, q[document] + layer, k[document], torch.arange(T) * (1 + document))

    for layer in range(layers):
        add(expected, layer)
    with concurrent.futures.ThreadPoolExecutor(layers + 1) as pool:
        adding = [pool.submit(add, moments, layer) for layer in range(layers)]
        while not all(future.done() for future in adding):
            repr(moments)
            try:
                moments.capture()
            except ropewalk.UsageError as error:  # between two layers' documents
                assert "expected the same documents in every layer" in str(error)
        [future.result() for future in adding]
    same(moments, expected)
