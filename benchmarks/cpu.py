"""On the CPU, SmolLM2-135M in float32, documents of 4,096 tokens: the forward pass with the moments of every token of every
head, against torch's matrix products and attention alone, transformers' plain forward pass, and what else keeps every
token's queries and keys: transformers with a hook, TransformerLens, nnsight. All in turn, round by round, after the numbers
were found equal. Then its arithmetic over the processor's rate (the floor).
Usage: cpu.py [TOKENS [ROUNDS]], or cpu.py threads [DTYPE [THREADS …]] for other numbers of threads (cpu_threads.py)."""

import json
import os
import statistics
import subprocess
import sys
import time

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")

import arithmetic  # noqa: E402
import cpu_threads  # noqa: E402
import fused  # noqa: E402
import gpu_model  # noqa: E402
import machine  # noqa: E402
import torch  # noqa: E402
from torch.nn import functional  # noqa: E402
from transformers import AutoModel  # noqa: E402

WARM_UP = 1
PEERS = ("transformer_lens", "nnsight")


class TorchAlone:
    """Every matrix product and attention of the backbone by torch; or, of the last layer, only what queries and keys need."""

    def __init__(self, model, tokens):
        self.config, self.tokens = model.config, tokens
        self.layers = fused.layers(model)

    def run(self, needed=False):
        c = self.config
        nq, nk, d = c.num_attention_heads, c.num_key_value_heads, c.hidden_size // c.num_attention_heads
        x, inner = torch.randn(self.tokens, c.hidden_size), torch.randn(self.tokens, c.intermediate_size)
        keys = torch.randn(1, nq, self.tokens, d)
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


class Peers:
    """Programs of .venv-peers. One that does not run is asked once, and its reason kept."""

    def __init__(self, tokens):
        self.tokens, self.facts = tokens, {name: {"reason": None} for name in PEERS}

    def seconds(self, name):
        if self.facts[name]["reason"]:
            return None
        command = [machine.ROOT / ".venv-peers" / "bin" / "python", machine.ROOT / "benchmarks" / "peers.py", name, machine.SMOLLM2, str(self.tokens)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800)
        except (OSError, subprocess.SubprocessError) as error:
            # A program that fails says why last; one that was killed or took too long does not.
            failed = isinstance(error, subprocess.CalledProcessError) and error.returncode > 0
            said = error.stderr.strip().splitlines() if failed else []
            # Without this machine's paths: the reason goes into the result.
            self.facts[name]["reason"] = (said[-1] if said else str(error)).replace(f"{machine.ROOT}/", "")
            print(f"{name} does not run: {self.facts[name]['reason']}", file=sys.stderr)
            return None
        measured = json.loads(done.stdout.splitlines()[-1])
        self.facts[name].update(version=measured["version"], difference=measured["difference"])
        return measured["seconds"]


def clocked(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main(tokens=4096, rounds=machine.ROUNDS):
    import equality  # which needs more than `cpu.py threads` does

    equal = equality.check(machine.SMOLLM2)
    print(f"equal: {equal}", flush=True)
    model = AutoModel.from_pretrained(machine.SMOLLM2, dtype=torch.float32, attn_implementation="sdpa").eval()
    kept = []
    gpu_model.capturing_attention("keeping", kept, None)
    hooked = AutoModel.from_pretrained(machine.SMOLLM2, dtype=torch.float32, attn_implementation="keeping").eval()
    ids = torch.randint(0, model.config.vocab_size, (1, tokens))
    command = [machine.BUILD / "benchmarks" / "forward", machine.SMOLLM2, str(tokens), "1", "1", "cpu", "float32"]
    seconds = {name: [] for name in ("torch_alone", "torch_alone_needed", "ropewalk", "ropewalk_without_moments", "ropewalk_all", "transformers",
                                     "transformers_keeping", *PEERS)}  # fmt: skip
    parts, peers = [], Peers(tokens)
    with torch.inference_mode():
        alone = TorchAlone(model, tokens)
        for round in range(-WARM_UP, rounds):
            whole, needed = alone.run(), alone.run(needed=True)
            ours = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
            measured = {
                "torch_alone": sum(whole.values()), "torch_alone_needed": sum(needed.values()),
                "ropewalk": ours["with"][0], "ropewalk_without_moments": ours["without"][0], "ropewalk_all": ours["with_all"][0],
                "transformers": clocked(lambda: model(ids, use_cache=False)),
                "transformers_keeping": clocked(lambda: hooked(ids, use_cache=False)),
            }  # fmt: skip
            assert len(kept) == model.config.num_hidden_layers, "a layer's queries and keys were not kept"
            kept.clear()
            if round < 0:
                continue
            measured.update({name: peers.seconds(name) for name in PEERS})
            parts.append(whole)
            for name, time_ in measured.items():
                if time_ is not None:
                    seconds[name].append(time_)
            print(measured, flush=True)
    seconds = {name: times or None for name, times in seconds.items()}
    median = {name: times and statistics.median(times) for name, times in seconds.items()}
    spread = {name: times and [min(times), max(times)] for name, times in seconds.items()}
    floor = arithmetic.floor(model.config, tokens, torch.get_num_threads())
    median["floor"], spread["floor"] = (floor["seconds"], [floor["seconds"]] * 2) if floor else (None, None)
    result = {
        "model": machine.SMOLLM2.name, "tokens": tokens, "threads": torch.get_num_threads(), "equality": equal, "seconds": seconds, "median": median,
        "spread": spread, "torch_alone_parts": parts, "peers": peers.facts, "floor": floor,
        "times_the_floor": floor and median["ropewalk"] / floor["seconds"],
        "others_share": (median["ropewalk_all"] - median["ropewalk"]) / median["ropewalk_without_moments"],
        "times_ropewalk": {name: machine.ratio(times, seconds["ropewalk"]) for name, times in seconds.items() if times},
    }  # fmt: skip
    machine.write("cpu", result)
    print({name: value for name, value in result.items() if name.startswith(("times", "floor"))})


if __name__ == "__main__":
    if sys.argv[1:2] == ["threads"]:
        cpu_threads.main(*sys.argv[2:])
    else:
        main(*map(int, sys.argv[1:]))
