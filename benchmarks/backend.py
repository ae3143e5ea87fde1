"""What a capture with `backend: transformers` adds to transformers' bare forward pass, on the CPU or, with `cuda`, on a GPU: one document of 2,048 tokens at a
time, with what captures keep by default, and the saving of moments apart. Runs the companion's task in this process. Needs build/python (`make python`)."""

import sys
import tempfile
import time
from pathlib import Path

import machine

sys.path[:0] = [str(machine.BUILD / "python")]

import ropewalk  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
TOKENS, ROUNDS, BLOCKS = 2048, 7 if DEVICE == "cpu" else 31, 16
# SmolLM2-135M on a CPU; the shapes of SmolLM3-3B on a GPU. Times do not depend on weights.
SMALL = dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
             max_position_embeddings=8192, tie_word_embeddings=True)  # fmt: skip
LARGE = dict(vocab_size=128256, hidden_size=2048, intermediate_size=11008, num_hidden_layers=36, num_attention_heads=16, num_key_value_heads=4,
             max_position_embeddings=65536, tie_word_embeddings=True)  # fmt: skip
DTYPE = "float32" if DEVICE == "cpu" else "bfloat16"


class Refused(Exception):
    def __init__(self, text, kind="refused"):
        super().__init__(text)


def task():
    """The companion's task, as it runs there."""
    source = machine.ROOT / "ropewalk" / "companion" / "model.py"
    made = {"Refused": Refused}
    exec(compile(source.read_text(), str(source), "exec"), made)
    return made


def plan(config):
    heads = [[layer, head] for layer in range(config.num_hidden_layers) for head in range(config.num_attention_heads)]
    layers, scale = list(range(config.num_hidden_layers)), config.head_dim**-0.5
    keep = dict(pre_rope=True, lags=True, plasticity=False, rows=0, loss=False)
    planned = dict(context=TOKENS, documents=10**6, heads=heads, windows=[], clusters=[], keep=keep)
    return dict(
        layers=len(layers), q_heads=config.num_attention_heads, kv_heads=config.num_key_value_heads, d_head=config.head_dim, blocks=BLOCKS, scale=scale,
        config=config.to_json_string(use_diff=False), measured=layers, scales={str(layer): scale for layer in layers}, planned=planned,
    )  # fmt: skip


def timed(work):
    if DEVICE != "cpu":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if DEVICE != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def main():
    config = transformers.LlamaConfig(**(SMALL if DEVICE == "cpu" else LARGE))
    companion = task()
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        words = {"version": ropewalk.__version__, "folder": folder, "settings": config.to_dict(), "changed": False, "trust": False}
        load = dict(dtype=DTYPE, device=DEVICE, memory=2**40, needed=0, offload="", random=1, threads=torch.get_num_threads(), plan=plan(config))
        companion["answer"]({**words, "do": "load", **load}, {})
        ids = torch.randint(config.vocab_size, (TOKENS,), dtype=torch.int32)
        current, number = companion["current"], iter(range(10**6))

        def measured():
            companion["answer"]({**words, "do": "document", "index": next(number)}, {"ids": ids.numpy().tobytes()})

        @torch.no_grad()
        def bare():
            current["model"](input_ids=ids.long()[None].to(DEVICE), use_cache=False, logits_to_keep=1)

        for work in (measured, bare):
            work()
        seconds = {"measured": [], "bare": []}
        for _ in range(ROUNDS):
            seconds["measured"].append(timed(measured))
            current["hooks"].detach()
            seconds["bare"].append(timed(bare))
            current["hooks"].attach()
        saving = timed(lambda: companion["answer"]({**words, "do": "save", "folder": str(Path(folder) / "saved")}, {}))
    adds = machine.ratio(seconds["measured"], seconds["bare"])
    adds.update({end: adds[end] - 1 for end in ("median", "low", "high")})
    result = {"model": f"Llama with {len(plan(config)['measured'])} layers of {config.num_attention_heads} heads of {config.head_dim}, random weights, {DTYPE}", "tokens": TOKENS,
              "threads": torch.get_num_threads(), "seconds": seconds, "adds": adds, "seconds_to_save": saving}  # fmt: skip
    if DEVICE != "cpu":
        result["gpu"] = torch.cuda.get_device_name()
    machine.write("backend" if DEVICE == "cpu" else "backend_gpu", result)
    print(f"the backend adds {adds['median']:.1%} ({adds['low']:.1%} to {adds['high']:.1%}) to transformers' forward pass; saving takes {saving:.2f} s")


main()
