"""The rule by which a watch alarms about growing logits, on simulated runs."""

import math

import numpy as np
import pytest
from ropewalk._alarm import GROWTH, LEAST, Growth, GrowthAlarm, growths

HEADS, MEASUREMENTS = 576, 100


def healthy(seed, heads=HEADS, measurements=MEASUREMENTS):
    """Logarithms of each head's numbers: levels of their own, slow drift, noise whose size differs from head to head, and its errors."""
    random = np.random.default_rng(seed)
    level = random.normal(0, 0.7, heads)
    drift = np.cumsum(random.normal(0, 0.004, (measurements, heads)), axis=0)
    noise = random.choice([0.01, 0.03, 0.06], heads)
    return level + drift + noise * random.standard_t(5, (measurements, heads)), noise


def run(logs, noise, warmup=10, every=1):
    rule = GrowthAlarm(warmup)
    return [
        (measurement, head)
        for measurement, row in enumerate(logs)
        for head, _ in rule.measure(every * measurement, np.exp(row).tolist(), (noise * np.exp(row)).tolist())
    ]


@pytest.mark.parametrize("seed", range(5))
def test_healthy_runs_raise_none(seed):
    logs, noise = healthy(seed)
    assert run(logs, noise) == []


@pytest.mark.parametrize("seed", range(5))
def test_an_explosion_is_caught_soon(seed):
    logs, noise = healthy(seed)
    noise[:] = 0.02
    explodes, begin = 300, 50
    logs[:, explodes] = 0.02 * np.random.default_rng(seed).standard_normal(MEASUREMENTS)
    logs[begin:, explodes] += math.log(1.15) * np.arange(1, MEASUREMENTS - begin + 1)
    alarms = run(logs, noise)
    assert alarms and {head for _, head in alarms} == {explodes}
    assert begin + 2 <= alarms[0][0] <= begin + 4, "after about three measurements of 15 % each"
    assert len(alarms) == 1, "once, though it goes on"


def test_a_plain_score_would_raise_many():
    """What the rule is for: growth against a mean and standard deviation of the history alarms about healthy heads."""
    logs, _ = healthy(0)
    plain = sum(
        int((abs(logs[i] - logs[max(0, i - 20) : i].mean(0)) > 5 * logs[max(0, i - 20) : i].std(0, ddof=1)).sum()) for i in range(LEAST, MEASUREMENTS)
    )
    assert plain > 20


def test_one_measurement_alone_is_none():
    logs, noise = np.zeros((40, 8)), np.full(8, 0.01)
    logs[30, 2] = 3
    assert run(logs, noise) == []
    logs[31, 2] = 3
    assert run(logs, noise) == [(31, 2)]


def test_falling_logits_are_none():
    logs = np.zeros((40, 4))
    logs[30:, 1] = -3
    assert run(logs, np.full(4, 0.01)) == []


def test_the_beginning_is_history_alone():
    logs = np.zeros((40, 4))
    logs[20:, 1] = 2
    assert run(logs, np.full(4, 0.01), warmup=20, every=1) == [(21, 1)]
    assert run(logs, np.full(4, 0.01), warmup=35, every=1) == []


def test_errors_and_noise_of_others_count():
    few, enough = [[0.0] * (LEAST - 1)], [[0.0] * LEAST]
    assert growths(few, [1.0], [0.0]) == [None]
    (growth,) = growths(enough, [1.0], [0.0])
    assert growth == Growth(1.0, GROWTH) and growth.beyond
    (growth,) = growths(enough, [1.0], [0.2])
    assert growth.allowed == pytest.approx(6 * math.hypot(0.02, 0.2)) and not growth.beyond
    noisy = [0.5, -0.5] * 10
    quiet, first, second = growths([[0.0] * 20, noisy, noisy], [1.0] * 3, [0.0] * 3)
    assert quiet.allowed == first.allowed == second.allowed == pytest.approx(6 * 1.4826 * 0.5), "a quiet head may be noisy as the others are"
    assert growths(enough, [math.nan], [0.0]) == [None]


def test_another_setting_begins_anew():
    rule = GrowthAlarm(0)
    for step in range(30):
        assert rule.measure(step, [1.0], [0.01], setting=512) == []
    for step in range(30, 50):
        assert rule.measure(step, [9.0], [0.01], setting=4096) == []
    assert rule.measure(50, [30.0], [0.01], setting=4096) == []
    assert [head for head, _ in rule.measure(51, [30.0], [0.01], setting=4096)] == [0]
