"""On the CPU, SmolLM2-135M in float32, documents of 4,096 tokens: the forward pass with the moments of every token of every
head, against its own matrix products and attention (the floor) and against transformers' plain forward pass."""

import json
import os
import statistics
import subprocess
import time

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import fused  # noqa: E402
import machine  # noqa: E402
import torch  # noqa: E402
from torch.nn import functional  # noqa: E402
from transformers import AutoModel  # noqa: E402

TOKENS, ROUNDS, WARM_UP = 4096, 5, 1


class Floor:
    """Every matrix product and attention of the backbone; or, of the last layer, only what queries and keys need."""

    def __init__(self, model):
        self.config = model.config
        self.layers = fused.layers(model)

    def run(self, needed=False):
        c = self.config
        nq, nk, d = c.num_attention_heads, c.num_key_value_heads, c.hidden_size // c.num_attention_heads
        x, inner = torch.randn(TOKENS, c.hidden_size), torch.randn(TOKENS, c.intermediate_size)
        keys = torch.randn(1, nq, TOKENS, d)
        spent = {"products": 0.0, "attention": 0.0}

        def timed(kind, call):
            start = time.perf_counter()
            call()
            spent[kind] += time.perf_counter() - start

        for i, (qkv, out, gate_up, down) in enumerate(self.layers):
            if needed and i + 1 == len(self.layers):
                timed("products", lambda w=qkv: functional.linear(x, w[: (nq + nk) * d]))
                break
            timed("products", lambda w=qkv: functional.linear(x, w))
            timed("attention", lambda: functional.scaled_dot_product_attention(keys, keys, keys, is_causal=True))
            for left, weight in ((x, out), (x, gate_up), (inner, down)):
                timed("products", lambda a=left, w=weight: functional.linear(a, w))
        return spent


def main():
    model = AutoModel.from_pretrained(machine.SMOLLM2, dtype=torch.float32, attn_implementation="sdpa").eval()
    ids = torch.randint(0, model.config.vocab_size, (1, TOKENS))
    command = [machine.BUILD / "benchmarks" / "forward", machine.SMOLLM2, str(TOKENS), "1", "1", "cpu", "float32"]
    seconds = {name: [] for name in ("floor", "floor_of_what_is_needed", "ropewalk", "ropewalk_without_moments", "transformers")}
    parts = []
    with torch.inference_mode():
        floor = Floor(model)
        for round in range(ROUNDS + WARM_UP):
            whole, needed = floor.run(), floor.run(needed=True)
            ours = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
            start = time.perf_counter()
            model(ids, use_cache=False)
            theirs = time.perf_counter() - start
            if round < WARM_UP:
                continue
            parts.append(whole)
            seconds["floor"].append(sum(whole.values()))
            seconds["floor_of_what_is_needed"].append(sum(needed.values()))
            seconds["ropewalk"] += ours["with"]
            seconds["ropewalk_without_moments"] += ours["without"]
            seconds["transformers"].append(theirs)
            print({name: round_[-1] for name, round_ in seconds.items()}, whole, flush=True)
    median = {name: statistics.median(times) for name, times in seconds.items()}
    result = {
        "model": machine.SMOLLM2.name, "tokens": TOKENS, "threads": torch.get_num_threads(), "seconds": seconds, "median": median, "floor_parts": parts,
        "times_the_floor": median["ropewalk"] / median["floor"],
        "times_the_floor_of_what_is_needed": median["ropewalk"] / median["floor_of_what_is_needed"],
        "faster_than_transformers": median["transformers"] / median["ropewalk"],
    }  # fmt: skip
    machine.write("cpu", result)
    print({name: value for name, value in result.items() if name.startswith(("times", "faster"))})


if __name__ == "__main__":
    main()
