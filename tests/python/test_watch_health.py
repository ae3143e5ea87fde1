"""Attention's health in a watch: extremes of heads against the attention that transformers computes, and alarms that name layer and head."""

import logging
import math

import numpy as np
import pytest
import ropewalk
import torch
from ropewalk._attention import Scores
from ropewalk._health import extremes
from ropewalk._row_health import HeadRows, RowHealth, joined
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from watch_models import make_model, sgd, train_step

TOKENS, DOCUMENTS = 20, 4  # so that 64 rows of a batch are all from the fourth token on
FIRST = 4
NUMBERS = ("logit_sd", "logit_max", "logit_peak", "entropy", "sink", "logit_bound")
_seen: list = []


def _spy(module, query, key, value, attention_mask, **options):
    _seen.append((module.layer_idx, query.detach(), key.detach(), options["scaling"]))
    return ALL_ATTENTION_FUNCTIONS["sdpa"](module, query, key, value, attention_mask, **options)


AttentionInterface.register("ropewalk_spy", _spy)
AttentionMaskInterface.register("ropewalk_spy", ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])


def documents(seed=1, count=DOCUMENTS):
    return torch.randint(3, 64, (count, TOKENS), generator=torch.Generator().manual_seed(seed))


def of_rows(q, k, scale, begins=(0,)):
    """Numbers of every row t >= 4 of a document in numpy: {head: {…}}. `begins`: where texts begin within it."""
    heads, tokens, _ = q.shape
    k = k.repeat_interleave(heads // k.shape[0], 0)
    found = []
    for head in range(heads):
        logits = scale * (q[head].double() @ k[head].double().T).numpy()
        rows = []
        for t in range(tokens):
            begin = max(one for one in begins if one <= t)
            if t - begin < FIRST:
                continue
            row = logits[t, begin : t + 1]
            p = np.exp(row - row.max())
            p /= p.sum()
            rows.append((row.max(), -(p * np.log(p)).sum(), p[0]))
        found.append(np.array(rows))
    return found


def test_extremes_are_those_of_the_models_own_attention():
    _seen.clear()
    model, told = make_model(attention="ropewalk_spy"), []
    with ropewalk.watch(model, every=1000, batches=1, log=lambda values, step: told.append((step, values)), errors="raise") as watch:
        train_step(model, sgd(model), [documents()])
        study = watch.study
    expected = {name: {} for name in NUMBERS[1:]}
    for layer, q, k, scale in _seen:
        rows = [np.concatenate(parts) for parts in zip(*(of_rows(one, other, scale) for one, other in zip(q, k)))]
        for head, of_head in enumerate(rows):
            expected["logit_max"][layer, head] = of_head[:, 0].mean()
            expected["logit_peak"][layer, head] = of_head[:, 0].max()
            expected["entropy"][layer, head] = of_head[:, 1].mean()
            expected["sink"][layer, head] = of_head[:, 2].mean()
            longest = q[:, head].norm(dim=-1).max() * k[:, head // (q.shape[1] // k.shape[1])].norm(dim=-1).max()
            expected["logit_bound"][layer, head] = scale * float(longest)
    expected["logit_sd"] = {(row.layer, row.q_head): row.logit_sd for row in study.heads.itertuples()}
    ((step, values),) = told
    assert step == 0
    for name in NUMBERS:
        numbers = expected[name]
        assert len(numbers) == 12
        largest = max(numbers, key=numbers.get)
        assert values[f"ropewalk/{name}_largest"] == pytest.approx(numbers[largest], rel=1e-4), name
        assert (values[f"ropewalk/{name}_largest_layer"], values[f"ropewalk/{name}_largest_head"]) == largest
        for part in (0.05, 0.5, 0.95):
            assert values[f"ropewalk/{name}_q{round(100 * part):02}"] == pytest.approx(np.quantile(list(numbers.values()), part), rel=1e-4), name
    assert values["ropewalk/logit_bound_largest"] >= values["ropewalk/logit_peak_largest"] >= values["ropewalk/logit_max_largest"]


class Pictures:
    def __init__(self):
        self.scalars, self.images = {}, {}

    def add_scalar(self, name, value, step):
        self.scalars[name] = value

    def add_image(self, name, image, step, dataformats):
        assert dataformats == "HW"
        self.images[name] = image


def test_images_are_by_layer_and_head():
    model, writer = make_model(), Pictures()
    with ropewalk.watch(model, every=1000, batches=1, log=[print, writer], errors="raise") as watch:
        train_step(model, sgd(model), [documents()])
        heads = watch.study.heads
    assert set(writer.images) == {f"ropewalk/{name}" for name in NUMBERS}
    image = np.asarray(writer.images["ropewalk/logit_sd"])
    layers, q_heads = 3, 4
    cells = image.reshape(layers, image.shape[0] // layers, q_heads, image.shape[1] // q_heads)
    assert (cells == cells[:, :1, :, :1]).all()
    np.testing.assert_allclose(cells[:, 0, :, 0], (heads.logit_sd / heads.logit_sd.max()).to_numpy().reshape(layers, q_heads), rtol=1e-5)


def test_too_large_a_logit_alarms_at_once(caplog):
    model, alerts = make_model(), []
    with ropewalk.watch(model, every=1000, batches=1, max_logit=1e-6, on_alert=alerts.append):
        train_step(model, sgd(model), [documents()])
    assert alerts and {alert.number for alert in alerts} == {"logit_peak"} and {alert.step for alert in alerts} == {0}
    assert {(alert.layer, alert.head) for alert in alerts} <= {(layer, head) for layer in range(3) for head in range(4)}
    assert all(alert.value > alert.limit == 1e-6 for alert in alerts)
    assert isinstance(alerts[0], ropewalk.Alert) and f"layer {alerts[0].layer}, head {alerts[0].head}" in str(alerts[0])
    with caplog.at_level(logging.WARNING, "ropewalk"), ropewalk.watch(make_model(), every=1000, batches=1, max_logit=1e-6) as watch:
        train_step(watch._model, sgd(watch._model), [documents()])
    assert "layer" in caplog.text and "head" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING, "ropewalk"), ropewalk.watch(make_model(), every=1000, batches=1, max_logit=None) as watch:
        train_step(watch._model, sgd(watch._model), [documents()])
    assert not caplog.text


def explode(model, layer, head, factor):
    """Makes a head's queries longer, as a training that goes wrong does."""
    width = model.config.hidden_size // model.config.num_attention_heads
    with torch.no_grad():
        model.model.layers[layer].self_attn.q_proj.weight[head * width : (head + 1) * width] *= factor


def measured(alerts, explodes, steps=24, begin=14, **options):
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0)
    with ropewalk.watch(model, every=1, batches=1, on_alert=alerts.append, max_logit=None, errors="raise", **options):
        for step in range(steps):
            if explodes and step >= begin:
                explode(model, 2, 1, 1.15)
            train_step(model, optimizer, [documents(seed=step)])
    return alerts


def test_a_head_that_explodes_is_named():
    assert measured([], explodes=False, warmup=0) == []
    (alert,) = measured([], explodes=True, warmup=0)
    assert (alert.layer, alert.head, alert.number) == (2, 1, "logit_sd")
    assert 15 <= alert.step <= 19 and alert.value > alert.limit


def test_a_young_training_raises_none():
    assert measured([], explodes=True, warmup=1000) == []
    assert measured([], explodes=True, steps=19, begin=9) == [], "without warmup= the first twenty measurements are history"


def test_an_alarm_that_fails_leaves_the_training_alone(caplog):
    def fails(alert):
        raise RuntimeError("no network")

    model = make_model()
    with caplog.at_level(logging.WARNING, "ropewalk"), ropewalk.watch(model, every=1000, batches=1, max_logit=1e-6, on_alert=fails):
        train_step(model, sgd(model), [documents()])
    assert "no network" in caplog.text and "training continues" in caplog.text


def test_what_is_impossible_is_refused():
    for options, text in ((dict(on_alert=3), "on_alert"), (dict(max_logit=-1), "max_logit"), (dict(warmup=-1), "warmup")):
        with pytest.raises(ropewalk.errors.UsageError, match=text):
            ropewalk.watch(make_model(), **options)


def test_packed_documents_are_texts_of_their_own():
    generator = torch.Generator().manual_seed(3)
    q, k = torch.randn(1, 4, 40, 8, generator=generator), torch.randn(1, 2, 40, 8, generator=generator)
    positions = torch.cat([torch.arange(22), torch.arange(18)])[None]
    health = RowHealth(2, 4)
    health.add(1, q, k, positions, Scores(scale=0.5), 0, 1)
    found = [HeadRows(*one) for one in health.numbers()[1]]
    for one, rows in zip(found, of_rows(q[0], k[0], 0.5, begins=(0, 22)), strict=True):
        assert one.rows == len(rows) == 18 + 14
        assert one.peak == pytest.approx(rows[:, 0].max(), rel=1e-5)
        assert [one.largest, one.entropy, one.sink] == pytest.approx(rows.sum(0), rel=1e-5)
    assert all(HeadRows(*one).rows == 0 for one in health.numbers()[0])


def test_a_cap_a_window_and_sinks_count():
    generator = torch.Generator().manual_seed(4)
    q, k = torch.randn(1, 2, 30, 8, generator=generator), torch.randn(1, 2, 30, 8, generator=generator)
    sinks = torch.tensor([0.5, -1.0])
    health = RowHealth(1, 2)
    health.add(0, q, k, torch.arange(30)[None], Scores(0.5, 7, 1.5, sinks), 0, 1)
    for head, one in enumerate(HeadRows(*one) for one in health.numbers()[0]):
        entropy = sink = peak = 0.0
        for t in range(FIRST, 30):
            seen = slice(max(0, t - 6), t + 1)
            logits = 1.5 * np.tanh(0.5 * (k[0, head, seen].double() @ q[0, head, t].double()).numpy() / 1.5)
            p = np.exp(np.append(logits, float(sinks[head])))
            p /= p.sum()
            entropy, peak = entropy - (p * np.log(p)).sum(), max(peak, logits.max())
            sink += p[0] if seen.start == 0 else 0
        assert (one.entropy, one.sink, one.peak) == pytest.approx((entropy, sink, peak), rel=1e-5)


def test_processes_are_joined():
    one = [[[2, 5.0, 8.0, 1.0, 0.5, 3.0, 4.0, 0.25], [0] * 8]]
    other = [[[3, 4.0, 9.0, 2.0, 0.1, 6.0, 1.0, 0.25], [1, -3.0, -3.0, 1.0, 0.0, 1.0, 1.0, 0.25]]]
    assert joined([one, other]) == [[[5, 5.0, 17.0, 3.0, 0.6, 6.0, 4.0, 0.25], [1, -3.0, -3.0, 1.0, 0.0, 1.0, 1.0, 0.25]]]


def test_numbers_that_are_missing_are_left_out():
    assert extremes("x", [(0, 0), (0, 1)], [math.nan, math.nan]) == {}
    found = extremes("x", [(0, 0), (3, 1), (0, 2)], [1.0, math.nan, 2.0])
    assert found["ropewalk/x_largest"] == 2 and found["ropewalk/x_largest_head"] == 2 and found["ropewalk/x_q50"] == 1.5
