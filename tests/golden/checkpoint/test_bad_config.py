"""Configs with missing keys or impossible values: one line that names the file and the key."""

import pytest

from breakable import INPUT, fails, setup


@pytest.mark.parametrize("key", ["model_type", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"])
def test_missing_key(setup, key):
    setup.without(key)
    fails(setup, INPUT, rf"config\.json.*{key}")


def test_missing_theta(setup):
    """The default 10000 is never used silently: the message says what to write."""
    setup.without("rope_theta")
    fails(setup, INPUT, r"config\.json.*rope_theta")


def test_missing_theta_in_rope_parameters(setup):
    setup.without("rope_theta")
    setup.write_config(rope_parameters=dict(rope_type="linear", factor=2.0))
    fails(setup, INPUT, r"config\.json.*rope_theta")


LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
CONFIGS = {
    "unknown architecture": (dict(model_type="quillama"), "quillama"),
    "architecture is a number": (dict(model_type=7), "model_type"),
    "unknown activation": (dict(hidden_act="wobble"), "hidden_act.*wobble|wobble.*hidden_act"),
    "unknown RoPE type": (dict(rope_scaling=dict(rope_type="spiral", factor=2.0)), "spiral"),
    "unknown RoPE type, older key": (dict(rope_scaling=dict(type="spiral", factor=2.0)), "spiral"),
    "RoPE is a list": (dict(rope_scaling=[2.0]), "rope_scaling"),
    "RoPE type is a number": (dict(rope_scaling=dict(rope_type=2)), "rope_type"),
    "linear without factor": (dict(rope_scaling=dict(rope_type="linear")), "factor"),
    "factor 0": (dict(rope_scaling=dict(rope_type="linear", factor=0)), "factor"),
    "factor negative": (dict(rope_scaling=dict(rope_type="dynamic", factor=-2.0)), "factor"),
    "factor is text": (dict(rope_scaling=dict(rope_type="linear", factor="two")), "factor"),
    "llama3 without low_freq_factor": (
        dict(rope_scaling={key: LLAMA3[key] for key in LLAMA3 if key != "low_freq_factor"}), "low_freq_factor"),
    "llama3 with equal factors": (dict(rope_scaling=dict(LLAMA3, low_freq_factor=4.0)), "(low|high)_freq_factor"),
    "theta 0": (dict(rope_theta=0), "rope_theta"),
    "theta negative": (dict(rope_theta=-1e4), "rope_theta"),
    "theta is text": (dict(rope_theta="10000"), "rope_theta"),
    "no layers": (dict(num_hidden_layers=0), "num_hidden_layers"),
    "negative layers": (dict(num_hidden_layers=-2), "num_hidden_layers"),
    "fractional layers": (dict(num_hidden_layers=1.5), "num_hidden_layers"),
    "layers beyond all bounds": (dict(num_hidden_layers=10**15), "num_hidden_layers|layers"),
    "layers beyond 64 bits": (dict(num_hidden_layers=10**30), "num_hidden_layers"),
    "more layers than stored": (dict(num_hidden_layers=3), r"layers\.2\."),
    "no heads": (dict(num_attention_heads=0), "num_attention_heads"),
    "no KV heads": (dict(num_key_value_heads=0), "num_key_value_heads"),
    "KV heads do not divide": (dict(num_key_value_heads=3), "num_key_value_heads"),
    "heads do not divide": (dict(num_attention_heads=6), "num_attention_heads|head_dim"),
    "head_dim odd": (dict(head_dim=5), "head_dim"),
    "head_dim 0": (dict(head_dim=0), "head_dim"),
    "hidden size 0": (dict(hidden_size=0), "hidden_size"),
    "hidden size negative": (dict(hidden_size=-16), "hidden_size"),
    "hidden size of 2^62": (dict(hidden_size=1 << 62), "hidden_size|embed_tokens|q_proj"),
    "heads beyond reason": (dict(num_attention_heads=1 << 32), "num_attention_heads"),
    "vocabulary beyond 32 bits": (dict(vocab_size=1 << 32), "vocab_size"),
    "positions beyond 32 bits": (dict(max_position_embeddings=1 << 32), "max_position_embeddings"),
    "activation with weights of its own": (dict(hidden_act="xielu"), "hidden_act"),
    "hidden size is text": (dict(hidden_size="16"), "hidden_size"),
    "inner size negative": (dict(intermediate_size=-1), "intermediate_size"),
    "epsilon is text": (dict(rms_norm_eps="small"), "rms_norm_eps"),
    "epsilon negative": (dict(rms_norm_eps=-1.0), "rms_norm_eps"),
    "max positions 0": (dict(max_position_embeddings=0), "max_position_embeddings"),
    "bias is text": (dict(attention_bias="yes"), "attention_bias"),
    "NoPE list too short": (dict(model_type="smollm3", no_rope_layers=[1]), "no_rope_layers"),
    "NoPE interval 0": (dict(model_type="smollm3", no_rope_layer_interval=0), "no_rope_layer_interval"),
    "window 0": (dict(model_type="mistral", sliding_window=0), "sliding_window"),
    "window negative": (dict(model_type="mistral", sliding_window=-4), "sliding_window"),
    "layer types too short": (dict(model_type="smollm3", layer_types=["full_attention"]), "layer_types"),
    "unknown layer type": (dict(model_type="smollm3", layer_types=["full_attention", "zigzag"]), "zigzag"),
}  # fmt: skip


@pytest.mark.parametrize("case", CONFIGS)
def test_config(setup, case):
    changes, pattern = CONFIGS[case]
    setup.write_config(**changes)
    fails(setup, INPUT, pattern)


CONFIG_FILES = {
    "empty": b"",
    "cut": b"{",
    "a list": b"[]",
    "a number": b"3",
    "not UTF-8": b'{"model_type": "llama\xff"}',
    "NaN": b'{"model_type": "llama", "rope_theta": NaN}',
    "deeply nested": b'{"a":' * 100_000,
    "duplicate key": b'{"model_type": "llama", "model_type": "qwen2"}',
}


@pytest.mark.parametrize("case", CONFIG_FILES)
def test_config_file(setup, case):
    (setup.model / "config.json").write_bytes(CONFIG_FILES[case])
    fails(setup, INPUT, r"config\.json")
