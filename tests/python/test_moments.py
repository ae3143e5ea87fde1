"""Moments of tensors, compared with the program's capture of the same vectors."""

import numpy as np
import pyarrow.parquet
import pytest
import ropewalk
import safetensors.numpy
import torch

from conftest import ropewalk as program
from random_moments import D, K, LAYERS, Q, T, batches, fill, same  # noqa: F401 (fixtures)


@pytest.fixture(scope="module")
def captured(source, tmp_path_factory):
    """The moments that `ropewalk capture` keeps of a checkpoint, with all vectors written."""
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
    """Every tensor, including float16 ones and those of documents; also after loading as moments."""
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
    """An offset of a million spreads: in float32 no digit of the spread remains."""
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
