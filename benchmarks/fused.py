"""A model's weights as one would multiply by them: those with one input side by side. For the floors of cpu.py and gpu.py."""

import torch


def layers(model) -> list[tuple]:
    """(queries, keys and values; output; gate and up; down) of every layer."""
    fused = []
    for layer in model.layers:
        a, m = layer.self_attn, layer.mlp
        qkv = torch.cat([a.q_proj.weight, a.k_proj.weight, a.v_proj.weight])
        fused.append((qkv, a.o_proj.weight, torch.cat([m.gate_proj.weight, m.up_proj.weight]), m.down_proj.weight))
    return fused
