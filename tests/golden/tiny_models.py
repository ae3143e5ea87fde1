"""Tiny random checkpoints of the architectures in tiny_families.py, written on the spot in the Hugging Face layout.

Every parameter is perturbed: default initialisation leaves biases at zero and norms at one, which would hide an engine that
skips them.
"""

import copy
import json
import math
import re
import shutil
from pathlib import Path

import torch

from tiny_families import CONTEXT, DOCUMENTS, MODELS, VOCAB, TinyModel, big_llama, big_mixture  # noqa: F401 (for those who use both)

_VISION = dict(
    gemma3=dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14),
    mllama=dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_global_layers=1, attention_heads=2,
                image_size=28, patch_size=14, vision_output_dim=32, intermediate_layers_indices=[0]),
    mistral3=dict(model_type="pixtral", hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, head_dim=8,
                  image_size=28, patch_size=14),
)  # fmt: skip


def is_mixture(model: TinyModel):
    return "num_experts_per_tok" in model.config or model.model_type == "mixtral"


def quiet_transformers():
    """transformers, imported when it is first needed: that takes seconds."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def make_config(model: TinyModel):
    AutoConfig = quiet_transformers().AutoConfig
    config = copy.deepcopy(model.config)
    if model.model_type in _VISION:
        extra = dict(mm_tokens_per_image=4) if model.model_type == "gemma3" else {}
        if model.model_type == "mistral3":
            config["model_type"] = "ministral3"
        return AutoConfig.for_model(model.model_type, text_config=config, vision_config=_VISION[model.model_type], **extra)
    return AutoConfig.for_model(model.model_type, **config)


def fresh_values(name, noise, about_zero):
    """A parameter's values made of noise: activations of order one in every layer, attention neither flat nor one-hot."""
    if "norm" in name and name.endswith("weight"):
        return 0.3 * noise if about_zero else 1 + 0.3 * noise
    if "embed" in name:
        return noise / math.sqrt(noise.shape[-1]) if about_zero else noise
    if noise.ndim >= 2:
        return noise / math.sqrt(noise.shape[-1])
    return 0.3 * noise  # biases, gates, xIELU's alphas


@torch.no_grad()
def _perturb(network, seed):
    """Fresh weights instead of those that transformers initialised."""
    generator = torch.Generator().manual_seed(1000 + seed)
    about_zero = "gemma" in network.config.model_type
    for name, parameter in network.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.copy_(fresh_values(name, noise, about_zero))
    for name, buffer in network.named_buffers():
        if name.endswith("act_fn.beta"):
            buffer.copy_(0.4 + 0.3 * torch.rand((), generator=generator))


@torch.no_grad()
def _decide_experts(network, tied, seed):
    """Lets a token's embedding decide which experts it goes to, by a margin that rounding does not bridge.

    The first numbers of the hidden state, one per expert, are high for the chosen ones and low for the others; layers hardly
    change them, and the router looks at little else. With `tied` a number stands for two experts, in odd layers: nothing but
    that number times one enters either score, so that both are the same bits whatever computes them. In even layers all
    experts then tie.
    """
    config = network.config
    generator = torch.Generator().manual_seed(2000 + seed)
    share = 2 if tied else 1
    numbers = next(getattr(config, key) for key in ("num_experts", "num_local_experts") if hasattr(config, key)) // share
    high = -(-config.num_experts_per_tok // share)
    levels = torch.cat([torch.linspace(2.5, 1.5, high), torch.linspace(-0.5, -1.5, numbers - high)])
    for row in network.get_input_embeddings().weight:
        row[:numbers] = levels[torch.randperm(numbers, generator=generator)]
    scale = torch.ones(config.hidden_size)
    scale[:numbers] = 0.02
    for index, layer in enumerate(network.model.layers):
        layer.post_attention_layernorm.weight[:numbers] = 1
        for name, parameter in layer.named_parameters():
            if re.search("o_proj|down_proj", name):  # what is added to the hidden state
                is_last = parameter.ndim == 1 or "bias" in name or (config.model_type == "gpt_oss" and "experts" in name)
                parameter.mul_(scale if is_last else scale[:, None])
        router = getattr(layer.mlp, "router", None) or getattr(layer.mlp, "gate", None)
        if router is None:  # an MLP
            continue
        for parameter in router.parameters():
            parameter.mul_(0 if tied else 0.05)
        if not tied or index % 2 == 1:
            router.weight[:, :numbers] += torch.eye(numbers).repeat_interleave(share, 0)


def write(model: TinyModel, folder: Path) -> Path:
    """Writes the checkpoint as transformers saves it; returns the folder."""
    config = make_config(model)
    network = getattr(quiet_transformers(), model.architecture)(config)
    _perturb(network, model.seed)
    if is_mixture(model):
        _decide_experts(network, model.tied_experts, model.seed)
    network.to(getattr(torch, model.dtype)).save_pretrained(folder, max_shard_size=model.shard)
    return folder


def read_config(folder: Path) -> dict:
    return json.loads((folder / "config.json").read_text())


def write_config(folder: Path, config: dict):
    (folder / "config.json").write_text(json.dumps(config, indent=2))


def write_old_spelling(model: TinyModel, folder: Path, twin: Path) -> Path:
    """Copies `folder` to `twin` with config.json in the spelling before transformers 5."""
    shutil.copytree(folder, twin)
    config = read_config(twin)
    config["torch_dtype"] = config.pop("dtype")
    text = config.get("text_config", config)
    rope = text.pop("rope_parameters")
    if "full_attention" in rope:  # the full layers' RoPE was the top-level one
        if text["model_type"] == "gemma3_text":
            text["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
    neox = model.model_type == "gpt_neox"
    text["rotary_emb_base" if neox else "rope_theta"] = rope.pop("rope_theta")
    if "partial_rotary_factor" in rope:
        text["rotary_pct" if neox else "partial_rotary_factor"] = rope.pop("partial_rotary_factor")
    rope_type = rope.pop("rope_type")
    text["rope_scaling"] = None if rope_type == "default" else {model.old: rope_type, **rope}
    if model.name.endswith("no_original") or "original_max_position_embeddings" in text:
        del text["rope_scaling"]["original_max_position_embeddings"]
    for key in model.old_drops:
        del text[key]
    text.update(model.old_adds)
    write_config(twin, config)
    return twin


def documents(seed=0) -> dict[int, list[int]]:
    """Random tokens: id → ids of the vocabulary, longer than the context in one case."""
    generator = torch.Generator().manual_seed(seed)
    return {key: torch.randint(VOCAB, (length,), generator=generator).tolist() for key, length in DOCUMENTS.items()}


def write_corpus(path: Path, texts: dict[int, list[int]]) -> Path:
    path.write_text("".join(json.dumps(dict(id=key, tokens=tokens)) + "\n" for key, tokens in texts.items()))
    return path
