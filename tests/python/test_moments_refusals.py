"""What moments of tensors refuse, and that a refusal changes nothing."""

import copy

import numpy as np
import pytest
import ropewalk
import torch
from torch._subclasses import FakeTensorMode

from random_moments import D, K, LAYERS, Q, T, batches, fill, random_batch  # noqa: F401 (fixtures)

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
    "q: found a tensor without data of its own": lambda m, q, k: m.add(0, FakeTensorMode().from_tensor(q), k),
    "k: found a tensor without data of its own": lambda m, q, k: torch.func.vmap(lambda one: (m.add(0, q, one), one)[1])(k[None]),
    "found the labels .'1', '1'.": lambda m, q, k: (m.add(0, q, k), m.add(1, q, k), ropewalk.analyze({1: m, "1": m})),
    "cannot be copied or pickled": lambda m, q, k: copy.copy(m),
    "has no tokens": lambda m, q, k: m.add(0, q[:, :, :0], k[:, :, :0]),
    "document 1 was already added to layer 0": lambda m, q, k: (m.add(0, q, k), m.add(0, q, k, document=1)),
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
    with pytest.raises(ropewalk.UsageError, match="document 2 was already added"):
        loaded.add(0, q, k, document=2)
    loaded.add(0, q, k)
    assert loaded.documents == list(range(6))


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
        with pytest.raises(ropewalk.UsageError, match="was already added to layer 0"):
            moments.add(0, q, k, document=documents)
    assert moments.documents == [0, 5]
    moments.add(0, q, k, document=np.array([7, 8]))
    assert moments.documents == [0, 5, 7, 8]


def test_vectors_without_their_tokens_are_not_paired(batches, tmp_path):
    """It is unknown whether they come from the same documents."""
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
