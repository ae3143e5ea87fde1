"""The floor of a forward pass on the CPU: its operations over the rate at which the processor multiplies and adds (peak.cpp)."""

import subprocess

import machine


def operations(config, tokens: int) -> float:
    """Multiplications and additions of all products and of causal attention; of the last layer, what its queries and keys need."""
    d, inner, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    head = d // config.num_attention_heads
    q, kv = config.num_attention_heads * head, config.num_key_value_heads * head
    layer = d * (q + 2 * kv) + q * d + 3 * d * inner
    seen = (tokens + 1) / 2  # tokens that a query sees, on average
    return 2.0 * tokens * ((layers - 1) * (layer + 2 * q * seen) + d * (q + kv))


def peak(threads: int) -> float:
    """Float32 operations per second of so many threads; 0 where it is not known."""
    return float(subprocess.run([machine.BUILD / "benchmarks" / "peak", str(threads)], stdout=subprocess.PIPE, text=True, check=True).stdout)


def floor(config, tokens: int, threads: int, rate: float | None = None) -> dict | None:
    rate = rate or peak(threads)
    return {"operations": operations(config, tokens), "operations_per_second": rate, "seconds": operations(config, tokens) / rate} if rate else None
