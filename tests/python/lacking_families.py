"""Tiny models of families that our own pass does not have: hybrids, latent attention, and newer ones."""

import torch

import tiny_models
from tiny_families import VOCAB

_SMALL = dict(vocab_size=VOCAB, hidden_size=48, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
              max_position_embeddings=128, pad_token_id=0, bos_token_id=1, eos_token_id=2, head_dim=16)  # fmt: skip
# Mamba layers with attention in between; convolutions with attention; gated linear attention, and experts; keys with a content part
# and a rotary part that all heads share; dense ones.
_OWN = dict(
    jamba=dict(attn_layer_period=2, attn_layer_offset=1, use_mamba_kernels=False, mamba_d_state=8, num_experts=4, num_experts_per_tok=2),
    lfm2=dict(layer_types=["conv", "full_attention", "conv", "full_attention"], conv_L_cache=3),
    deepseek_v3=dict(q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, head_dim=8, v_head_dim=12, num_key_value_heads=4,
                     n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, moe_intermediate_size=32, first_k_dense_replace=2),
    arcee=dict(),
    kolibri1=dict(),
)  # fmt: skip
MODELS = list(_OWN)
LAYERS = {name: [1, 3] if name in ("jamba", "lfm2") else [0, 1, 2, 3] for name in MODELS}


@torch.no_grad()
def write(name, folder):
    transformers = tiny_models.quiet_transformers()
    config = transformers.AutoConfig.for_model(name, **{**_SMALL, **_OWN[name]})
    network = transformers.AutoModelForCausalLM.from_config(config)
    generator = torch.Generator().manual_seed(len(name))
    for key, parameter in network.named_parameters():
        if any(word in key for word in ("A_log", "dt_proj", ".D")):
            continue  # as a state space model needs them
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.copy_(tiny_models.fresh_values(key, noise, about_zero=False))
    network.float().save_pretrained(folder)
    return folder
