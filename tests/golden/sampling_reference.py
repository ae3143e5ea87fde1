"""The sampling of the published captures, implemented with Python's `random` and torch."""

import math

import torch

MASK = (1 << 64) - 1


def mix64(value: int) -> int:
    value ^= value >> 30
    value = value * 0xBF58476D1CE4E5B9 & MASK
    value ^= value >> 27
    value = value * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def token_seed(example_id: int, layer: int, kind: str) -> int:
    seed = 0x243F6A8885A308D3
    for value in (example_id, layer, ord(kind)):
        seed ^= mix64(value & MASK)
        seed = seed * 0x9E3779B97F4A7C15 & MASK
        seed ^= seed >> 32
    return seed


def buckets_and_widths(mode: str, n_tokens: int, bucket_size: int) -> tuple[list[int], list[float]]:
    if mode == "log-uniform":
        least = math.ceil(math.log2(bucket_size))
        buckets = [max(math.floor(math.log2(t + 1)), least) for t in range(n_tokens)]
        return buckets, [2.0**bucket for bucket in buckets]
    return [t // bucket_size for t in range(n_tokens)], [float(bucket_size)] * n_tokens


def sample_tokens(setting: dict) -> dict:
    n_tokens = setting["n_tokens"]
    size = setting["bucket_size"] or max(setting["context"] // 16, 1)
    buckets, widths = buckets_and_widths(setting["mode"], n_tokens, size)
    if setting["mode"] == "all":
        keep = [True] * n_tokens
    else:
        generator = torch.Generator(device="cpu")
        generator.manual_seed(token_seed(setting["example_id"], setting["layer"], setting["kind"]))
        draws = torch.rand(n_tokens, generator=generator, dtype=torch.float32)
        chance = [min(1.0, setting["rate"] / width) for width in widths]
        keep = (draws < torch.tensor(chance, dtype=torch.float32)).tolist()
    positions = [t for t in range(n_tokens) if keep[t]]
    return {"positions": positions, "buckets": [buckets[t] for t in positions]}
