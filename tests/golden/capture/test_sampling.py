"""The sampled heads and tokens are those that Python's `random` and torch draw, for thousands of random settings."""

import json
import os
import pathlib
import random
import subprocess

import sampling_reference

TOOL = pathlib.Path(os.environ["ROPEWALK_BUILD"]) / "tests/golden/sampling_tool"
EDGE_SEEDS = [0, 1, -1, 42, 2**31, 2**32 - 1, 2**32, 2**32 + 1, -(2**32), 2**63 - 1, -(2**63)]


def answers(settings: list[dict]) -> list:
    text = "".join(json.dumps(setting) + "\n" for setting in settings)
    done = subprocess.run([TOOL], input=text, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(settings)
    return [json.loads(line) for line in lines]


def random_seed(rng: random.Random) -> int:
    if rng.random() < 0.1:
        return rng.choice(EDGE_SEEDS)
    return rng.choice([1, -1]) * rng.getrandbits(rng.randrange(1, 64))


def compare(settings: list[dict], expected) -> None:
    for setting, answer in zip(settings, answers(settings), strict=True):
        assert answer == expected(setting), setting


def test_random_bits() -> None:
    rng = random.Random(1)
    seeds = EDGE_SEEDS + [random_seed(rng) for _ in range(200)]
    # After 624 words the generator computes a new state.
    settings = [
        {"what": "bits", "seed": seed, "bits": [rng.randrange(1, 65) for _ in range(700)]} for seed in seeds
    ]

    def expected(setting: dict) -> list[int]:
        python = random.Random(setting["seed"])
        return [python.getrandbits(bits) for bits in setting["bits"]]

    compare(settings, expected)


def test_samples_of_ranges() -> None:
    rng = random.Random(2)
    settings = []
    for _ in range(1500):
        n = rng.choice([rng.randrange(1, 40), rng.randrange(1, 3000), 1 << rng.randrange(20), 2**40 + 7])
        k = rng.randrange(0, min(n, 700) + 1) if rng.random() < 0.7 else min(n, rng.randrange(0, 8))
        settings.append({"what": "range", "seed": random_seed(rng), "n": n, "k": k})
    # Values of n at which Python switches between its two ways to sample.
    for k, limit in [(3, 21), (5, 21), (6, 85), (21, 85), (22, 277), (300, 1045)]:
        for n in (limit - 1, limit, limit + 1):
            settings.append({"what": "range", "seed": 7, "n": n, "k": min(k, n)})
    compare(settings, lambda s: random.Random(s["seed"]).sample(range(s["n"]), s["k"]))


def test_heads() -> None:
    rng = random.Random(3)
    settings = [{"what": "heads", "seed": 0, "layers": list(range(36)), "n_heads": 16, "count": 300}]
    for _ in range(1200):
        n_layers = rng.randrange(1, 100)
        layers = sorted(rng.sample(range(n_layers), rng.randrange(1, n_layers + 1)))
        n_heads = rng.choice([1, 2, 3, 8, 9, 14, 16, 32, 64])
        count = rng.randrange(1, len(layers) * n_heads + 20)
        settings.append(
            {"what": "heads", "seed": random_seed(rng), "layers": layers, "n_heads": n_heads, "count": count}
        )

    def expected(setting: dict) -> dict:
        candidates = [[layer, head] for layer in setting["layers"] for head in range(setting["n_heads"])]
        drawn = candidates
        if setting["count"] < len(candidates):
            drawn = random.Random(setting["seed"]).sample(candidates, setting["count"])
        return {"drawn": drawn, "sorted": sorted(drawn)}

    compare(settings, expected)


def test_published_heads_by_depth() -> None:
    """Seed 0 on SmolLM3's 36 layers and 16 heads gives the published number of heads per depth bin."""
    setting = {"what": "heads", "seed": 0, "layers": list(range(36)), "n_heads": 16, "count": 300}
    (answer,) = answers([setting])
    bins = [0] * 10
    for layer, _ in answer["drawn"]:
        bins[max(-(-10 * layer // 35) - 1, 0)] += 1
    assert bins == [30, 38, 20, 26, 25, 41, 17, 38, 26, 39]


def token_setting(rng: random.Random) -> dict:
    context = rng.choice([1, 7, 64, 100, 1000, 4096, 5000])
    return {
        "what": "tokens",
        "mode": rng.choice(["uniform", "log-uniform"] * 5 + ["all"]),
        "rate": rng.choice([1, 1.0, 2, 0.1, 1 / 3, 16, rng.uniform(0.01, 30)]),
        "context": context,
        "bucket_size": rng.choice([0, 1, 2, 3, 255, 256, 257, rng.randrange(1, 2 * context + 1)]),
        "example_id": rng.choice([rng.randrange(1000), rng.getrandbits(63), -rng.getrandbits(63) - 1]),
        "layer": rng.randrange(130),
        "kind": rng.choice("qk"),
        "n_tokens": rng.choice([context, rng.randrange(context + 1)]),
    }


def test_tokens() -> None:
    rng = random.Random(4)
    settings = [token_setting(rng) for _ in range(1500)]
    compare(settings, sampling_reference.sample_tokens)


def test_tokens_of_a_long_document() -> None:
    rng = random.Random(5)
    settings = [token_setting(rng) | {"context": 65536, "n_tokens": 65536, "bucket_size": 0} for _ in range(12)]
    compare(settings, sampling_reference.sample_tokens)


def test_settings_differ() -> None:
    """Otherwise a sampler that ignores an input would pass where the input does not matter."""
    base = token_setting(random.Random(6)) | {
        "mode": "uniform", "rate": 2, "context": 4096, "n_tokens": 4096, "bucket_size": 256, "example_id": 5,
        "layer": 3, "kind": "q",
    }  # fmt: skip
    changed = [base | change for change in ({"example_id": 6}, {"layer": 4}, {"kind": "k"}, {"rate": 4})]
    first, *others = answers([base, *changed])
    assert all(other["positions"] != first["positions"] for other in others)
