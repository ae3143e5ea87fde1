"""Modules of the user's own, which pass their queries and keys to a watch."""

import copy
import io

import numpy as np
import pytest
import ropewalk
import torch
from watch_models import sgd


class Own(torch.nn.Module):
    """An attention that transformers does not know."""

    def __init__(self):
        super().__init__()
        self.projection = torch.nn.Linear(8, 3 * 8)
        self.watch = None

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.projection(x).chunk(3, -1))
        if self.watch is not None:
            self.watch.tap(0, q, k, torch.arange(x.shape[1]))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


@pytest.mark.parametrize("compiled", [False, True])
def test_modules_of_your_own(compiled, tmp_path):
    model = Own()
    run, optimizer, x = torch.compile(model, backend="eager") if compiled else model, sgd(model), torch.randn(3, 20, 8)
    expected = ropewalk.Moments(2, 2, 4, blocks=2)
    with ropewalk.watch(model, every=3, layers=1, batches=2, out=tmp_path / "out", errors="raise") as model.watch:
        for step in range(7):
            if step < 2:
                q, k, _ = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in model.projection(x).chunk(3, -1))
                expected.add(0, q, k, document=[step, step + 2, step + 4])
            run(x).sum().backward()
            optimizer.step()
    study = ropewalk.open(tmp_path / "out")
    assert list(study.checkpoints.label) == ["step-0…1", "step-3…4", "step-6"]
    found = study.capture("step-0…1")
    np.testing.assert_allclose(found.tensors["key.products"], expected.to_numpy()["key.products"], rtol=1e-5)
    with pytest.raises(ropewalk.UsageError, match="watch: is closed"):
        run(x)


def test_a_module_that_holds_its_watch_is_copied_and_saved(tmp_path):
    model, x = Own(), torch.randn(3, 20, 8)
    with ropewalk.watch(model, layers=1, batches=2) as model.watch:
        saved = io.BytesIO()
        torch.save(model, saved)
        saved.seek(0)
        copies = [copy.deepcopy(model), copy.copy(model.watch), torch.load(saved, weights_only=False)]
        copies[0](x), copies[2](x)
        copies[1].tap(0, x, x)
        del copies
        for _ in range(2):
            model(x).sum().backward()
        assert model.watch._measuring.measurement.batches == 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_numbers_that_are_large(dtype, tmp_path):
    """First the squares of all heads together overflow float32, but those of no single head; then those of one head."""
    generator = torch.Generator().manual_seed(4)
    q, k = (torch.randn(3, heads, 24, 8, generator=generator) for heads in (4, 2))
    model, told = Own(), []
    with ropewalk.watch(model, every=1, layers=1, batches=2, errors="raise", log=lambda values, step: told.append(values)) as watch:
        for size in (6e17, 1e-3):
            watch.tap(0, (q * size).to(dtype), k.to(dtype))
        watch.at(1)
        q[1, 2, 5] *= 1e20
        for size in (1, 0):
            watch.tap(0, (q * size + 1 - size).to(dtype), k.to(dtype))
    assert [values["ropewalk/batches_left_out"] for values in told] == [0, 1]


def test_rows_cost_what_one_row_costs():
    """Rows in the layout of a projection, with a token's heads adjacent: a GPU gets one launch for all of them."""

    def operations(rows):
        q, k = (torch.randn(rows, 24, heads, 8).transpose(1, 2) for heads in (4, 2))
        with ropewalk.watch(Own(), layers=1, batches=2, errors="raise") as watch:
            watch.tap(0, q, k)
            with torch.autograd.profiler.profile() as profile:
                watch.tap(0, q, k)
            watch.abort()
        return len(profile.function_events)

    assert 10 < operations(8) < 1.5 * operations(1)
