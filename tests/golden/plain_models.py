"""Tiny checkpoints of tiny_models, written without transformers, whose import takes longer than most tests.

For tests that do not compare with transformers. Llama and SmolLM3 in one file are written here, the same files that
transformers writes (test_models.py holds them together); it is asked for everything else.
"""

import torch
from safetensors.torch import save_file

import tiny_models

# What transformers adds to config.json where a tiny model does not state it.
_DEFAULTS = dict(
    attention_bias=False, attention_dropout=0.0, hidden_act="silu", initializer_range=0.02, mlp_bias=False,
    use_cache=True,
)  # fmt: skip
_OF_FAMILY = dict(
    llama=dict(tie_word_embeddings=False, pretraining_tp=1),
    smollm3=dict(tie_word_embeddings=True, use_sliding_window=False, sliding_window=None, no_rope_layer_interval=4),
)


def can_write(model: tiny_models.TinyModel) -> bool:
    return model.model_type in _OF_FAMILY and model.shard == "5GB"


def make_config(model: tiny_models.TinyModel) -> dict:
    config = {**_DEFAULTS, **_OF_FAMILY[model.model_type], **model.config, "architectures": [model.architecture],
              "dtype": model.dtype, "model_type": model.model_type}  # fmt: skip
    if config["rope_parameters"]["rope_type"] == "yarn":
        longest = dict(original_max_position_embeddings=config["max_position_embeddings"])
        config["rope_parameters"] = {**longest, **config["rope_parameters"]}
    layers = config["num_hidden_layers"]
    if model.model_type == "llama":
        config.setdefault("head_dim", config["hidden_size"] // config["num_attention_heads"])
    else:
        interval = config["no_rope_layer_interval"]
        config.setdefault("no_rope_layers", [int((layer + 1) % interval != 0) for layer in range(layers)])
        slides = config["use_sliding_window"] and config["sliding_window"] is not None
        config["layer_types"] = ["sliding_attention" if slides and not rope else "full_attention" for rope in config["no_rope_layers"]]
    return config


def _shapes(config):
    """Parameters in the order of transformers."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    width = config.get("head_dim") or hidden // config["num_attention_heads"]
    queries, keys = config["num_attention_heads"] * width, config["num_key_value_heads"] * width
    yield "model.embed_tokens.weight", (config["vocab_size"], hidden)
    for layer in range(config["num_hidden_layers"]):
        for part, out, into, bias in (
            ("self_attn.q_proj", queries, hidden, config["attention_bias"]),
            ("self_attn.k_proj", keys, hidden, config["attention_bias"]),
            ("self_attn.v_proj", keys, hidden, config["attention_bias"]),
            ("self_attn.o_proj", hidden, queries, config["attention_bias"]),
            ("mlp.gate_proj", inner, hidden, config["mlp_bias"]),
            ("mlp.up_proj", inner, hidden, config["mlp_bias"]),
            ("mlp.down_proj", hidden, inner, config["mlp_bias"]),
        ):
            yield f"model.layers.{layer}.{part}.weight", (out, into)
            if bias:
                yield f"model.layers.{layer}.{part}.bias", (out,)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield f"model.layers.{layer}.{norm}.weight", (hidden,)
    yield "model.norm.weight", (hidden,)
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", (config["vocab_size"], hidden)


def write(model: tiny_models.TinyModel, folder):
    """Writes the checkpoint; returns the folder."""
    if not can_write(model):
        return tiny_models.write(model, folder)
    config = make_config(model)
    generator = torch.Generator().manual_seed(1000 + model.seed)
    tensors = {}
    for name, shape in _shapes(config):
        value = tiny_models.fresh_values(name, torch.randn(shape, generator=generator), about_zero=False)
        tensors[name] = value.to(getattr(torch, model.dtype))
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    tiny_models.write_config(folder, config)
    return folder
