"""Tiny transformers models, training steps for them, and captures that a watch makes."""

import numpy as np
import ropewalk
import torch
import transformers

SIZES = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, vocab_size=64, max_position_embeddings=64)
FAMILIES = {
    "llama": lambda: transformers.LlamaConfig(**SIZES, num_key_value_heads=2),
    "qwen3": lambda: transformers.Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=8),
    "gpt_neox": lambda: transformers.GPTNeoXConfig(**SIZES, rotary_pct=0.25),
}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16}
TOKENS = 24
BATCHES = 4


def make_model(family="llama", attention="sdpa", seed=0, **settings):
    torch.manual_seed(seed)
    config = FAMILIES[family]()
    for name, value in settings.items():
        setattr(config, name, value)
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention).train()


def make_documents(count=12, seed=1):
    return torch.randint(3, 64, (count, TOKENS), generator=torch.Generator().manual_seed(seed))


def in_batches(documents, batches=4):
    """Document i is in batch i modulo `batches`, like in the blocks of `ropewalk capture --blocks`."""
    return [documents[batch::batches] for batch in range(batches)]


def train_step(model, optimizer, batches, **inputs):
    """One step of the optimizer with several batches. Returns the losses."""
    losses = []
    for batch in batches:
        loss = model(input_ids=batch, labels=batch, **inputs).loss
        loss.backward()
        losses.append(loss.detach())
    optimizer.step()
    optimizer.zero_grad()
    return torch.stack(losses)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def watched(model, documents, out, train=train_step, batches=None, **inputs):
    """One measured step; returns its capture."""
    with ropewalk.watch(model, every=1000, batches=BATCHES, out=out, errors="raise"):
        train(model, sgd(model), batches or in_batches(documents, BATCHES), **inputs)
    return ropewalk.open(out).capture("step-0")


def same(found, expected, tolerance=2e-6):
    """Differences of moments, relative to the largest of their kind."""
    names = {f"{kind}.{field}" for kind in ("query", "key") for field in ("mean", "position", "products", "block_mean", "block_position", "block_products", "layer")}
    for name in names | {"document.index", "block.tokens", "block.position_mean", "block.position_scatter"}:
        ours, theirs = np.asarray(found.tensors[name], float), np.asarray(expected.tensors[name], float)
        scale = max(np.abs(theirs).max(initial=0), 1e-300)
        np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0, atol=tolerance, err_msg=name)
