"""Moments of tensors, against the program's own capture of the same vectors."""

import concurrent.futures
import copy
import gc
import os
import subprocess

import numpy as np
import pyarrow.parquet
import pytest
import ropewalk
import safetensors.numpy
import torch
from conftest import ropewalk as program
from torch._subclasses import FakeTensorMode

Q, K, D, LAYERS, T = 4, 2, 8, 2, 24


@pytest.fixture(scope="module")
def captured(source, tmp_path_factory):
    """What `ropewalk capture` keeps of a checkpoint, with all vectors written."""
    out = tmp_path_factory.mktemp("captured") / "A"
    program("capture", source.root / "A", "--corpus", source.root / "corpus.jsonl", "--out", out, "--context", 40, "--blocks", 4, "--dtype", "float32",
            "--device", "cpu", "--vectors", "all", "--quiet")  # fmt: skip
    return out


def vectors(out, layer, kind, heads):
    """[documents, heads, tokens, d]"""
    streams = []
    for head in range(heads):
        table = pyarrow.parquet.read_table(out / "vectors" / f"l{layer:02}h{head:02}{kind}" / "data.parquet")
        rows = np.stack(table["vector"].to_numpy())
        streams.append(rows.reshape(len(np.unique(table["example_id"])), -1, rows.shape[1]))
    return torch.from_numpy(np.stack(streams, 1).astype(np.float32))


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


def test_same_numbers_as_the_programs_capture(captured, tmp_path):
    capture = ropewalk.Capture.open(captured)
    config = capture.info["config"]
    moments = ropewalk.Moments(
        config["n_q_heads"], config["n_kv_heads"], config["head_dim"], layers=config["layers"], blocks=4, scale=config["attention_scale"], context=40
    )
    for layer in range(config["layers"]):
        moments.add(layer, vectors(captured, layer, "q", config["n_q_heads"]), vectors(captured, layer, "k", config["n_kv_heads"]))
    own = moments.to_numpy()
    assert not own["document.digest"].any() and not own["document.tokens"].any(), "nobody knows their tokens"
    for name in own.keys() - {"document.digest", "document.prefix_digest", "document.tokens"}:
        array, expected = own[name], capture.tensors[name]
        np.testing.assert_allclose(array, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max(), err_msg=name)
    assert set(own) >= {f"{kind}.{field}" for kind in ("query", "key") for field in ("mean", "position", "products", "block_mean")}
    program("analyze", captured, "--out", tmp_path / "tables", "--quiet")
    study, expected = moments.analyze(label="A"), ropewalk.open(tmp_path / "tables")
    for table, columns in (("components", ["explained_variance", "r_q", "r_k", "r_q_se", "r_k_se"]), ("heads", ["r2cv_q", "r2cv_k_se", "logit_sd", "pc0_content", "bias_context"])):
        ours, theirs = getattr(study, table), getattr(expected, table)
        assert list(ours.checkpoint) == list(theirs.checkpoint) and list(ours.layer) == list(theirs.layer)
        for column in columns:
            np.testing.assert_allclose(ours[column], theirs[column], rtol=2e-5, atol=1e-6, err_msg=column)
        assert ours[columns].notna().all(axis=None)


def test_all_that_a_file_holds(source, tmp_path):
    """Every tensor, also those in float16 and what belongs to documents; loaded as moments too."""
    out = tmp_path / "A"
    program("capture", source.root / "A", "--corpus", source.root / "corpus.jsonl", "--out", out, "--context", 40, "--dtype", "float32", "--device", "cpu",
            "--plasticity", "--quiet")  # fmt: skip
    with safetensors.safe_open(out / "moments.safetensors", "numpy") as file:
        stored = {name: file.get_tensor(name) for name in file.keys()}
    assert {str(array.dtype) for array in stored.values()} >= {"float16", "float32", "float64", "int64"}
    for found in (ropewalk.Capture.open(out).tensors, ropewalk.Moments.load(out).to_numpy(), ropewalk.Moments.load(out).capture().tensors):
        assert set(found) == set(stored)
        for name, array in stored.items():
            np.testing.assert_array_equal(found[name], array, err_msg=name)
            assert found[name].dtype == array.dtype, name
    stored["more"] = stored["block.tokens"].astype(np.int8)
    safetensors.numpy.save_file(stored, tmp_path / "moments.safetensors", {"ropewalk": "{}"})
    with pytest.raises(ropewalk.InputError, match="tensor 'more' is of I8, expected one of F64, F32, F16, I64"):
        ropewalk.Capture.open(tmp_path)


def test_float64_keeps_its_digits():
    """An offset of a million spreads: float32 has none of them left."""
    generator = torch.Generator().manual_seed(3)
    q = torch.randn(10, Q, T, D, generator=generator, dtype=torch.float64) + 1e6
    k = torch.randn(10, K, T, D, generator=generator, dtype=torch.float64) - 1e6
    moments = ropewalk.Moments(Q, K, D, blocks=4, context=T)
    moments.add(0, q, k)
    t = np.tile(np.arange(T), 10)
    for kind, vectors in (("q", q), ("k", k)):
        x, found = vectors[:, 1].reshape(-1, D).numpy(), moments.moments(0, kind, 1)
        np.testing.assert_allclose(found.mean - np.round(found.mean), x.mean(0) - np.round(found.mean), atol=1e-7)
        np.testing.assert_allclose(found.covariance, np.cov(x.T), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.position_covariance, ((x - x.mean(0)) * (t - t.mean())[:, None]).sum(0) / (len(x) - 1), rtol=1e-5, atol=1e-5)


def test_moments_are_numpys(batches):
    moments = fill(batches)
    q = batches[1][0][:, 3].reshape(-1, D).double().numpy()
    t = np.tile(np.arange(T), 10)
    found = moments.moments(1, "q", 3)
    assert found.n == len(q) and found.position_mean == pytest.approx(t.mean()) and found.position_variance == pytest.approx(t.var(ddof=1))
    np.testing.assert_allclose(found.mean, q.mean(0), rtol=1e-6)
    np.testing.assert_allclose(found.covariance, np.cov(q.T), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.position_covariance, ((q - q.mean(0)) * (t - t.mean())[:, None]).sum(0) / (len(q) - 1), rtol=1e-4, atol=1e-4)


def test_batches_rows_and_views_are_the_same(batches):
    whole = fill(batches)
    rows = ropewalk.Moments(Q, K, D, layers=LAYERS, blocks=4)
    for layer, (q, k) in enumerate(batches):
        for document in range(10):
            rows.add(layer, q[document], k[document])
    same(rows, whole)
    assert whole.documents == rows.documents == list(range(10))
    same(fill(batches, change=lambda x: x.transpose(1, 2).contiguous().transpose(1, 2)), whole)
    same(fill(batches, change=lambda x: torch.cat([x, -x], -1)[..., :D]), whole)
    same(fill(batches, positions=torch.arange(T)), whole)
    same(fill(batches, positions=torch.arange(T, dtype=torch.int32).expand(10, T)), whole)
    same(fill(batches, document=list(range(10))), whole)


def test_positions_count(batches):
    moved = fill(batches, positions=3 * torch.arange(T) + 5).moments(0, "k", 0)
    still = fill(batches).moments(0, "k", 0)
    assert moved.position_mean == pytest.approx(3 * still.position_mean + 5)
    np.testing.assert_allclose(moved.position_covariance, 3 * still.position_covariance, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_floating_types(batches, dtype):
    same(fill(batches, change=lambda x: x.to(dtype)), fill(batches, change=lambda x: x.to(dtype).float()), 1e-6)


def test_gradients_are_left_alone(batches):
    def loss(measured):
        x = batches[0][0].clone().requires_grad_()
        q = (x * 2).sin()
        if measured:
            moments = ropewalk.Moments(Q, K, D)
            moments.add(0, q, batches[0][1])
            assert moments.moments(0, "q", 0).mean.sum() != 0
        q.square().sum().backward()
        return x.grad

    assert torch.equal(loss(True), loss(False)) and torch.is_grad_enabled()


def test_halves_add_up(batches):
    whole = fill(batches)
    same(fill(batches, slice(0, 8)) + fill(batches, slice(8, 10)), whole, 1e-12)
    given = fill(batches, slice(0, 5), document=0) + fill(batches, slice(5, 10), document=5)
    same(given, whole, 1e-12)
    with pytest.raises(ropewalk.UsageError, match="both hold document 0"):
        fill(batches, document=0) + fill(batches)
    with pytest.raises(ropewalk.InputError, match="cannot be merged"):
        fill(batches) + fill([batches[0], batches[1]][:1] * 2) + ropewalk.Moments(Q, Q, D, layers=LAYERS, blocks=4)


def test_a_sum_can_grow(batches):
    grown = fill(batches, slice(0, 4)) + fill(batches, slice(4, 8))
    for layer, (q, k) in enumerate(batches):
        grown.add(layer, q[8:], k[8:])
    same(grown, fill(batches), 1e-12)
    assert grown.documents == list(range(10))


def test_layers_that_got_nothing_are_left_out(batches):
    moments = ropewalk.Moments(Q, K, D, layers=7, blocks=4)
    moments.add(5, *batches[0])
    assert {layer for layer, _, _ in moments.capture().heads} == {5} == set(moments.analyze().heads.layer)


def test_save_and_load(batches, tmp_path):
    moments = fill(batches)
    out = moments.save(tmp_path / "step", label="step 1", model="mine")
    loaded = ropewalk.Moments.load(out)
    assert (loaded.layers, loaded.q_heads, loaded.kv_heads, loaded.d_head, loaded.blocks) == (LAYERS, Q, K, D, 4)
    for name, array in loaded.to_numpy().items():
        np.testing.assert_array_equal(array, moments.to_numpy()[name].astype(array.dtype), err_msg=name)
    program("analyze", out, "--out", tmp_path / "tables", "--quiet")
    table, own = ropewalk.open(tmp_path / "tables").components, moments.analyze(label="step 1", model="mine").components
    assert set(table.checkpoint) == {"step 1"} and set(table.model) == {"mine"}
    np.testing.assert_allclose(own.r_q, table.r_q, rtol=1e-7)
    with pytest.raises(ropewalk.UsageError, match="not an empty folder"):
        moments.save(out)


def test_tables_of_several_steps(batches, tmp_path):
    study = ropewalk.analyze({"one": fill(batches, slice(0, 5)), "two": fill(batches, slice(5, 10))}, tmp_path / "kept", components=2)
    assert list(study.checkpoints.label) == ["one", "two"] and (tmp_path / "kept" / "changes.csv").is_file()
    assert len(study.components) == 2 * LAYERS * Q * 2


def test_tables_live_as_long_as_their_study(batches):
    study = fill(batches).analyze()
    folder = study.folder
    assert folder.is_dir() and len(study.heads) == LAYERS * Q
    assert study.bands.empty and study.curves.empty, "how vectors were turned is not known"
    del study
    assert not folder.exists()


WRONG = {
    "q: found list": lambda m, q, k: m.add(0, [1], k),
    r"q: found a tensor of \[3, 4, 24\], expected": lambda m, q, k: m.add(0, q[..., 0], k),
    r"k: found a tensor of \[3, 2, 23, 8\], expected": lambda m, q, k: m.add(0, q, k[:, :, 1:]),
    r"k: found a tensor of \[2, 2, 24, 8\], expected": lambda m, q, k: m.add(0, q, k[1:]),
    r"q: found a tensor of \[3, 2, 24, 8\], expected": lambda m, q, k: m.add(0, k, q),
    "q: found a tensor of torch.int64": lambda m, q, k: m.add(0, q.long(), k),
    "layer: found 2, expected a whole number from 0 to 1": lambda m, q, k: m.add(2, q, k),
    "k: is on meta; expected cpu or cuda": lambda m, q, k: m.add(0, q, k.to("meta")),
    "positions: found a tensor of torch.float32 and torch.strided, expected a plain torch tensor of whole numbers": lambda m, q, k: m.add(0, q, k, torch.rand(T)),
    r"positions: found a tensor of \[23\], expected": lambda m, q, k: m.add(0, q, k, torch.arange(T - 1)),
    "document: found 2 numbers, expected one for each of 3": lambda m, q, k: m.add(0, q, k, document=[1, 2]),
    "document: found -1, expected a whole number from 0 on": lambda m, q, k: m.add(0, q, k, document=-1),
    "layer: found 0.0": lambda m, q, k: m.add(0.0, q, k),
    "positions: found -1, expected numbers from 0": lambda m, q, k: m.add(0, q, k, torch.arange(T) - 1),
    "positions: are on meta": lambda m, q, k: m.add(0, q, k, torch.arange(T, device="meta")),
    "components: found 0, expected a whole number from 1 to 1024": lambda m, q, k: (m.add(0, q, k), m.analyze(components=0)),
    "positions: found list": lambda m, q, k: m.add(0, q, k, list(range(T))),
    "positions: found a tensor of torch.uint64": lambda m, q, k: m.add(0, q, k, torch.arange(T).to(torch.uint64)),
    "q: found a tensor without numbers of its own": lambda m, q, k: m.add(0, FakeTensorMode().from_tensor(q), k),
    "k: found a tensor without numbers of its own": lambda m, q, k: torch.func.vmap(lambda one: (m.add(0, q, one), one)[1])(k[None]),
    "found the labels .'1', '1'.": lambda m, q, k: (m.add(0, q, k), m.add(1, q, k), ropewalk.analyze({1: m, "1": m})),
    "cannot be copied or pickled": lambda m, q, k: copy.copy(m),
    "has no tokens": lambda m, q, k: m.add(0, q[:, :, :0], k[:, :, :0]),
    "document 1 was added to layer 0 before": lambda m, q, k: (m.add(0, q, k), m.add(0, q, k, document=1)),
    "expected the same documents in every layer": lambda m, q, k: (m.add(0, q, k), m.add(1, q[1:], k[1:]), m.to_numpy()),
    "kind 'v': expected 'q' or 'k'": lambda m, q, k: (m.add(0, q, k), m.add(1, q, k), m.moments(0, "v", 0)),
    "nothing was added yet": lambda m, q, k: m.analyze(),
}


def test_tensors_that_are_seen_with_their_sign_turned():
    q, k = random_batch(3, Q), random_batch(3, K)
    turned = torch.complex(q, q).conj().imag
    assert turned.is_neg()
    moments = ropewalk.Moments(Q, K, D)
    moments.add(0, turned, k)
    np.testing.assert_allclose(moments.moments(0, "q", 0).mean, -q[:, 0].mean((0, 1)), rtol=1e-6)


def test_documents_that_were_loaded_are_not_added_again(tmp_path):
    q, k = random_batch(3, Q), random_batch(3, K)
    moments = ropewalk.Moments(Q, K, D)
    moments.add(0, q, k)
    assert sum([moments]) is moments
    loaded = ropewalk.Moments.load(moments.save(tmp_path / "kept"))
    with pytest.raises(ropewalk.UsageError, match="document 2 was added before"):
        loaded.add(0, q, k, document=2)
    loaded.add(0, q, k)
    assert loaded.documents == list(range(6))


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


@pytest.mark.parametrize("message", WRONG)
def test_what_does_not_fit(message):
    moments = ropewalk.Moments(Q, K, D, layers=LAYERS, blocks=4)
    with pytest.raises(ropewalk.UsageError, match=message) as error:
        WRONG[message](moments, random_batch(3, Q), random_batch(3, K))
    assert "\n" not in str(error.value)


def test_sizes_that_do_not_go_together():
    for sizes, message in (((4, 3, 8), "expected numbers above 0"), ((0, 0, 8), "q_heads: found 0"), ((4, 2, 0), "d_head: found 0"), (("4", 2, 8), "q_heads: found '4'")):
        with pytest.raises(ropewalk.UsageError, match=message):
            ropewalk.Moments(*sizes)
    for sizes in (dict(layers=2**62), dict(q_heads=2**31, kv_heads=2**31), dict(q_heads=2**31 + 4), dict(d_head=2**40), dict(blocks=2**60)):
        with pytest.raises(ropewalk.UsageError, match="expected"):
            ropewalk.Moments(**{"q_heads": 4, "kv_heads": 2, "d_head": 8, **sizes})
    for settings in (dict(scale=float("nan")), dict(scale=-1), dict(context=-3), dict(blocks=True)):
        with pytest.raises(ropewalk.UsageError, match=f"{next(iter(settings))}: found .*, expected"):
            ropewalk.Moments(4, 2, 8, **settings)


def test_a_batch_is_added_as_a_whole_or_not_at_all():
    moments, q, k = ropewalk.Moments(Q, K, D), random_batch(2, Q), random_batch(2, K)
    moments.add(0, q, k, document=[0, 5])
    for documents in ([7, 5], [1, 1]):
        with pytest.raises(ropewalk.UsageError, match="was added to layer 0 before"):
            moments.add(0, q, k, document=documents)
    assert moments.documents == [0, 5]
    moments.add(0, q, k, document=np.array([7, 8]))
    assert moments.documents == [0, 5, 7, 8]


def test_vectors_without_their_tokens_are_not_paired(batches, tmp_path):
    """Nobody knows whether they are of the same documents."""
    study = ropewalk.analyze({1: fill(batches), 2: fill(batches)}, tmp_path / "out")
    assert study.changes(None).paired.unique().tolist() == [0]
    for label in (1, 2):
        fill(batches).save(tmp_path / str(label))
    assert ropewalk.analyze([tmp_path / "1", tmp_path / "2"]).changes(None).paired.unique().tolist() == [0]


def test_what_is_no_capture(tmp_path):
    with pytest.raises(ropewalk.UsageError, match="found Moments, expected capture folders"):
        ropewalk.analyze(ropewalk.Moments(4, 2, 8))
    with pytest.raises(ropewalk.Error, match="folder"):
        ropewalk.analyze({"a": "folder"})
    with pytest.raises(ropewalk.UsageError, match="found Moments"):
        ropewalk.analyze({"a": "folder", "b": ropewalk.Moments(4, 2, 8)})
    (tmp_path / "file").write_text("")
    with pytest.raises(ropewalk.SystemError, match="cannot be a results folder"):
        ropewalk.analyze("nowhere", tmp_path / "file")
    with pytest.raises(ropewalk.Error):
        ropewalk.analyze("nowhere", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_value_that_is_not_finite():
    moments, q = ropewalk.Moments(Q, K, D), random_batch(3, Q)
    q[1, 2, 3, 4] = float("nan")
    with pytest.raises(ropewalk.InputError, match="document 1") as error:
        moments.add(0, q, random_batch(3, K))
    assert "head 2" in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(ropewalk.UsageError, match="start new ones"):
        moments.to_numpy()


def test_memory_does_not_grow():
    """Tensors that were added are let go."""
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
    """Both write the same bytes of the same numbers."""
    fill(batches).save(tmp_path / "a", label="x")
    fill(batches).save(tmp_path / "b", label="x")
    names = ("moments.safetensors", "capture.json")
    assert [(tmp_path / "a" / name).read_bytes() for name in names] == [(tmp_path / "b" / name).read_bytes() for name in names]
    done = subprocess.run([os.environ["ROPEWALK"], "analyze", tmp_path / "a", "--out", tmp_path / "tables"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("numbered", [True, False])
def test_several_threads_add_to_one_layer(numbered):
    """Nothing is lost, nothing counts twice."""
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
