"""Captures of a study, and statistics of your own: their values and errors are those of the tables."""

import numpy as np
import pytest
import ropewalk

from conftest import ropewalk as program
from study_rows import study  # noqa: F401 (fixtures)


def pc0(head):
    """r_q, r_k and explained variance of PC0, as the tables have them."""
    n = head.q.n + head.k.n
    offset = head.q.mean - head.k.mean
    pooled = (head.q.covariance * (head.q.n - 1) + head.k.covariance * (head.k.n - 1) + head.q.n * head.k.n / n * np.outer(offset, offset)) / (n - 1)
    values, vectors = np.linalg.eigh(pooled)
    v = vectors[:, -1]
    r_q, r_k = (v @ s.position_covariance / np.sqrt(v @ s.covariance @ v * s.position_variance) for s in (head.q, head.k))
    return {"ev": values[-1] / values.sum(), "r_q": abs(r_q), "r_k": abs(r_k)}


def test_jackknife_gives_the_tables_numbers_and_errors(study):
    own = study.jackknife(pc0)
    table = study.components.query("pc == 0").reset_index(drop=True)
    assert list(own.checkpoint) == list(table.checkpoint) and list(own.q_head) == list(table.q_head)
    for name, key in (("ev", "explained_variance"), ("r_q", "r_q"), ("r_k", "r_k")):
        np.testing.assert_allclose(own[name], table[key].abs(), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(own.ev_se, table.explained_variance_se, rtol=1e-4)


def test_jackknife_of_a_fit(study):
    """R² of position, from the inverse of the covariance."""

    def r2(stream):
        return stream.position_covariance @ np.linalg.solve(stream.covariance, stream.position_covariance) / stream.position_variance

    own = study.jackknife(lambda head: {"q": r2(head.q), "k": r2(head.k)})
    for name in ("q", "k"):
        np.testing.assert_allclose(own[name], study.heads[f"r2_{name}"], rtol=1e-5)
        np.testing.assert_allclose(own[f"{name}_se"], study.heads[f"r2_{name}_se"], rtol=1e-3)


def test_difference_is_that_of_the_changes(study):
    own = study.difference("A", "B", lambda head: pc0(head)["ev"])
    expected = study.changes(fdr=None).query("statistic == 'explained_variance' and kind == 'step'")
    assert set(own.paired) == {1} == set(expected.paired)
    np.testing.assert_allclose(own.value, expected.change, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(own.se, expected.change_se, rtol=1e-4)


def r2(kind):
    def of(head):
        stream = getattr(head, kind)
        return stream.position_covariance @ np.linalg.solve(stream.covariance, stream.position_covariance) / stream.position_variance

    return of


def test_captured_vectors_have_tokens_of_their_own(source, tmp_path):
    """A sample of tokens, another one for every head's queries and keys."""
    program("capture", source.root / "A", "--corpus", source.root / "corpus.jsonl", "--out", tmp_path / "capture", "--context", 40, "--blocks", 4, "--vectors", "log-uniform",
            "--rate", 3, "--quiet")  # fmt: skip
    (tmp_path / "study.yaml").write_text(
        "name: V\nphases:\n  - {name: P, context: 40, checkpoints: [{label: A, vectors: capture/vectors}]}\n")
    study = ropewalk.run(tmp_path / "study.yaml", tmp_path / "out", format=["json"], progress=False)
    head, first = study.capture("A").head(0, 0), study.components.iloc[0]
    assert (head.q.n, head.k.n) == (first.n_q, first.n_k) and head.q.n != head.k.n
    for kind in "qk":
        found, table = study.jackknife(r2(kind)), study.heads
        np.testing.assert_allclose(found.value, table[f"r2_{kind}"], rtol=1e-7)
        np.testing.assert_allclose(found.se, table[f"r2_{kind}_se"], rtol=1e-5)


def test_difference_of_contexts_is_paired(source, tmp_path):
    (tmp_path / "study.yaml").write_text(
        f"name: C\ncorpus: {{path: {source.root / 'corpus.jsonl'}}}\nphases:\n  - {{name: P, context: [20, 40], checkpoints: [{{label: A, path: {source.root / 'A'}}}]}}\n")
    study = ropewalk.run(tmp_path / "study.yaml", tmp_path / "out", format=["json"], progress=False)
    changes = study.changes(None)
    changes = changes[(changes.kind == "context") & (changes.statistic == "r2_k")]
    found = study.difference("A@20", "A@40", r2("k"))
    assert found.paired.tolist() == changes.paired.tolist() == [1] * len(found)
    np.testing.assert_allclose(found.se, changes.change_se, rtol=1e-4)


def test_captures(study):
    capture = study.capture("A")
    layer, q_head, kv_head = capture.heads[-1]
    whole = capture.head(layer, q_head)
    assert whole.kv_head == kv_head and whole.q.covariance.shape == (whole.q.d, whole.q.d)
    np.testing.assert_array_equal(whole.q.covariance, whole.q.covariance.T)
    assert whole.q.n == capture.info["tokens"] == capture.block_sizes.sum()
    assert sum(whole.q.n - case.q.n for case in list(capture.cases(layer, q_head))[1:]) == whole.q.n
    np.testing.assert_array_equal(capture.moments(layer, "k", kv_head).mean, whole.k.mean)
    with pytest.raises(ropewalk.UsageError, match="no query head 77 of layer 0"):
        capture.moments(0, "q", 77)
    with pytest.raises(ropewalk.UsageError, match="holds no capture of"):
        study.capture("C")


def test_a_statistic_cannot_change_what_others_see(study):
    """Heads that read the same keys share them."""
    def ridge(head):
        head.k.covariance[np.diag_indices(head.k.d)] += 1
        return 0.0

    for statistic in (ridge, lambda head: np.subtract(head.q.mean, 1, out=head.q.mean).sum()):
        with pytest.raises(ValueError, match="read-only"):
            study.jackknife(statistic)


def test_names_of_a_statistic(study):
    for names in (["layer"], ["value", "se"], ["a", "a_se"]):
        with pytest.raises(ropewalk.UsageError, match="expected names that are not checkpoint"):
            study.jackknife(lambda head, names=names: dict.fromkeys(names, 1.0))
    with pytest.raises(ropewalk.UsageError, match="after .'x0'.: expected the same names"):
        study.jackknife(lambda head: {f"x{head.q_head}": 1.0})


def test_a_statistic_that_is_none(study):
    with pytest.raises(ropewalk.UsageError, match="expected a number"):
        study.jackknife(lambda head: "much")
    for much in ("1.5", 10**400):
        with pytest.raises(ropewalk.UsageError, match="expected a number"):
            study.jackknife(lambda head, much=much: much)
    calls = iter(range(10**6))
    with pytest.raises(ropewalk.UsageError, match="the same names"):
        study.jackknife(lambda head: {f"x{next(calls)}": 1.0})


@pytest.mark.parametrize("damage", ["cut", "empty", "header", "bounds"])
def test_a_damaged_capture_is_one_line(folder, tmp_path, damage):
    data = (folder / "checkpoints" / "A" / "moments.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    made = {
        "cut": data[: len(data) // 2], "empty": b"", "header": data[:8] + b"x" * size + data[8 + size :],
        "bounds": data[:8] + data[8 : 8 + size].replace(b'"data_offsets":[', b'"data_offsets":[9', 1)[:size] + data[8 + size :],
    }  # fmt: skip
    (tmp_path / "moments.safetensors").write_bytes(made[damage])
    with pytest.raises(ropewalk.InputError) as error:
        ropewalk.Capture.open(tmp_path)
    assert "moments.safetensors" in str(error.value) and "\n" not in str(error.value)
