"""A model with SmolLM3-3B's shapes and random weights, and what one would run it with: the products and attention alone
(the floor), and transformers. Used by gpu.py."""

import json
import random
import statistics
from pathlib import Path

import fused
import torch


def smollm3(layers=36):
    """A model of SmolLM3-3B's shapes with random weights, bfloat16, on the GPU."""
    from transformers import SmolLM3Config, SmolLM3ForCausalLM

    config = SmolLM3Config(
        vocab_size=128256, hidden_size=2048, intermediate_size=11008, num_hidden_layers=layers, num_attention_heads=16,
        num_key_value_heads=4, max_position_embeddings=65536, rope_theta=5e6, tie_word_embeddings=True, use_cache=False,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    torch.manual_seed(0)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = SmolLM3ForCausalLM(config)
        torch.set_default_dtype(torch.float32)
    return model


def make(folder: Path) -> Path:
    """The checkpoint on disk; made once."""
    if not (folder / "config.json").exists():
        smollm3().save_pretrained(folder, max_shard_size="5GB")
    return folder


def load(folder: Path, attention="sdpa"):
    from transformers import AutoModel

    return AutoModel.from_pretrained(folder, dtype=torch.bfloat16, attn_implementation=attention, device_map="cuda").eval()


def milliseconds(step, repeats: int) -> list[float]:
    """Of each call, by the GPU's own clock, after a warm-up."""
    step()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        step()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return times


class Floor:
    """Every matrix product and attention of the backbone; or, of the last layer, only what queries and keys need."""

    def __init__(self, model):
        self.config = model.config
        self.head = self.config.hidden_size // self.config.num_attention_heads
        self.layers = fused.layers(model)

    def step(self, tokens: int, needed=False):
        c, d = self.config, self.head
        x = torch.randn(tokens, c.hidden_size, device="cuda", dtype=torch.bfloat16)
        inner = torch.randn(tokens, c.intermediate_size, device="cuda", dtype=torch.bfloat16)
        nq, nk = c.num_attention_heads, c.num_key_value_heads

        def run():
            for i, (qkv, out, gate_up, down) in enumerate(self.layers):
                if needed and i + 1 == len(self.layers):
                    torch.nn.functional.linear(x, qkv[: (nq + nk) * d])
                    break
                heads = torch.nn.functional.linear(x, qkv).view(1, tokens, nq + 2 * nk, d).transpose(1, 2)
                q, k, v = heads.split([nq, nk, nk], dim=1)
                attended = torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, False, 0.0, True)[0]
                torch.nn.functional.linear(attended.transpose(1, 2).reshape(tokens, -1), out)
                torch.nn.functional.linear(x, gate_up)
                torch.nn.functional.linear(inner, down)

        return run


def capturing_attention(name: str, kept: list, positions):
    """transformers' sdpa that keeps queries and keys: those at `positions` in memory, or all (None) on the GPU."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    def attention(module, query, key, value, *arguments, **options):
        if positions is None:
            kept.append((query.clone(), key.clone()))
        else:
            kept.append((query[:, :, positions].float().cpu(), key[:, :, positions].float().cpu()))
        return sdpa_attention_forward(module, query, key, value, *arguments, **options)

    ALL_ATTENTION_FUNCTIONS.register(name, attention)


def summary(times: list[float]) -> dict:
    return {"median": statistics.median(times), "all": times}


def describe_gpu() -> dict:
    properties = torch.cuda.get_device_properties(0)
    return {"name": properties.name, "memory_bytes": properties.total_memory, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}


def write_corpus(path: Path, documents: int, tokens: int):
    """Documents of random tokens, the same every time."""
    generator = random.Random(1)
    with path.open("w") as corpus:
        for _ in range(documents):
            corpus.write(json.dumps({"tokens": [generator.randrange(128000) for _ in range(tokens)]}) + "\n")
