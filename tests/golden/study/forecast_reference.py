"""What RoPE settings do to a capture's heads, computed a second time: with numpy from the sums of the moments file, and with transformers' angles."""

import copy
import math

import numpy as np
import torch
from safetensors.numpy import load_file
from transformers import AutoConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS


def angles(config, rope, context):
    """Radians per token of every pair, and the factor of queries and of keys, as transformers computes them."""
    config = copy.deepcopy(config)
    share = rope.get("partial_rotary_factor", 1.0)
    config.rope_parameters, config.partial_rotary_factor = rope, share
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    kind = rope.get("rope_type", "default")
    if kind == "default":
        count = int(width * share)
        return (1.0 / rope["rope_theta"] ** (torch.arange(0, count, 2).float() / count)).double().numpy(), 1.0
    config.standardize_rope_params = lambda: None
    found, factor = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=context)
    return found.double().numpy(), factor


def varied(own, setting, trained, context, factors=None):
    """The parameters of a setting, and the longest wavelength that turns; None: nothing turns."""
    kind, _, value = setting.partition(":")
    plain = {key: own[key] for key in ("rope_theta", "partial_rotary_factor") if key in own}
    if kind == "none":
        return own, math.inf
    if kind == "nope":
        return None, 0
    if kind == "theta":
        return dict(own, rope_theta=own["rope_theta"] * float(value[1:]) if value[0] == "x" else float(value)), math.inf
    if kind == "still":
        return own, float(value)
    if kind == "longrope":
        return dict(plain, rope_type=kind, original_max_position_embeddings=trained, factor=context / trained, **factors), math.inf
    scaling = dict(plain, rope_type=kind, factor=float(value))
    if kind == "yarn":
        scaling |= dict(original_max_position_embeddings=trained)
    if kind == "llama3":
        scaling |= dict(original_max_position_embeddings=trained, low_freq_factor=1.0, high_freq_factor=4.0)
    return scaling, math.inf


class Centres:
    """Mean queries and keys of a capture before RoPE: of all documents, then without each block."""

    def __init__(self, capture):
        tensors = load_file(capture / "moments.safetensors")
        self.sizes = tensors["block.tokens"].astype(float)
        self.means = {}
        for kind in ("query", "key"):
            field = lambda name: tensors[f"pre_rope.{kind}.{name}"]  # noqa: B023, E731
            for i, (layer, head) in enumerate(zip(tensors[f"{kind}.layer"], tensors[f"{kind}.head"])):
                total, late = field("sum")[i], self.sizes.sum() - field("first_tokens")[i]
                without = total - field("block_sum")[i].astype(float)
                left = late - (self.sizes[:, None] - field("block_first_tokens")[i])
                self.means[kind[0], int(layer), int(head)] = np.vstack([total / late, without / left])


def jackknife(values, sizes):
    """Standard error of values[0] from the values without each block (delete-m_j: Busing, Meijer & van der Leeden 1999)."""
    n, g = sizes.sum(), len(sizes)
    h = n / sizes
    pseudo = h * values[0] - (h - 1) * values[1:]
    centre = g * values[0] - ((1 - sizes / n) * values[1:]).sum()
    return math.sqrt(((pseudo - centre) ** 2 / (h - 1)).sum() / g)


class Model:
    """A checkpoint's own setting, and the logits by distance under others."""

    def __init__(self, folder, capture, trained, context, factors=None):
        whole = AutoConfig.from_pretrained(folder)
        self.config = whole.get_text_config()
        self.centres = Centres(capture)
        self.trained, self.context, self.factors = trained, context, factors
        self.group = self.config.num_attention_heads // (getattr(self.config, "num_key_value_heads", None) or self.config.num_attention_heads)
        self.interleaved = self.config.model_type.startswith("glm")
        kinds = getattr(self.config, "layer_types", None) or ["full_attention"] * self.config.num_hidden_layers
        self.slides = ["sliding" in kind for kind in kinds]
        turns = getattr(self.config, "no_rope_layers", None) or [1] * self.config.num_hidden_layers
        self.layers = [layer for layer, turn in enumerate(turns) if turn]
        self.width = getattr(self.config, "head_dim", None) or self.config.hidden_size // self.config.num_attention_heads

    def scale(self):
        return (getattr(self.config, "query_pre_attn_scalar", None) or self.width) ** -0.5

    def own(self, layer):
        rope = self.config.rope_parameters
        return rope["sliding_attention" if self.slides[layer] else "full_attention"] if "full_attention" in rope else rope

    def turned(self, layer, setting):
        """Angles and factor of a layer under a setting."""
        own = self.own(layer)
        two_sets = "full_attention" in self.config.rope_parameters
        if two_sets and self.slides[layer] and not all(self.slides):
            setting = "none"  # as an override of config.json changes full attention alone
        rope, longest = varied(own, setting, self.trained, self.context, self.factors)
        if rope is None:
            return np.zeros(len(angles(self.config, own, self.context)[0])), 1.0
        theta, factor = angles(self.config, rope, self.context)
        return np.where(2 * np.pi / theta > longest, 0, theta), factor

    def query_scaling(self, distances):
        """What scales queries by their position, as mean over documents of the trained length, and beyond it of the context's (Ministral 3)."""
        rope = self.own(0)
        beta, original = rope.get("llama_4_scaling_beta", 0), rope.get("original_max_position_embeddings", 1)
        scale = lambda t: 1 + beta * np.log(1 + np.floor(t / original))  # noqa: E731
        ends = [self.trained if d < self.trained else self.context for d in range(distances)]
        return np.array([scale(np.arange(4 + d, end)).mean() if 4 + d < end else 1 for d, end in enumerate(ends)])

    def logits(self, layer, head, setting):
        """[1 + blocks, distances]"""
        theta, factor = self.turned(layer, setting)
        q, k = self.centres.means["q", layer, head], self.centres.means["k", layer, head // self.group]
        f = np.arange(len(theta))
        first, second = (2 * f, 2 * f + 1) if self.interleaved else (f, f + len(f))
        rest = np.setdiff1d(np.arange(q.shape[1]), np.concatenate([first, second]))
        z = (q[:, first] + 1j * q[:, second]) * np.conj(k[:, first] + 1j * k[:, second])
        seen = min(self.context, self.config.sliding_window) if self.slides[layer] else self.context
        turning = (z[:, :, None] * np.exp(1j * theta[:, None] * np.arange(seen))).sum(1).real
        return self.query_scaling(seen) * self.scale() * (factor**2 * turning + (q[:, rest] * k[:, rest]).sum(1)[:, None])

    def forecast(self, layer, head, setting):
        """Score, disturbance, excursion and shift: the whole sample and without each block. Then both curves of the whole sample."""
        own, then = self.logits(layer, head, "none"), self.logits(layer, head, setting)
        trained = min(self.trained, own.shape[1])
        weights = 1 / (1 + np.arange(trained))
        change = (then - own)[:, :trained]
        disturbance = np.sqrt((change**2 * weights).sum(1) / weights.sum())
        beyond = then[:, trained:]
        shift = (change * weights).sum(1) / weights.sum()
        uneven = np.sqrt(((change - shift[:, None]) ** 2 * weights).sum(1) / weights.sum())
        above = np.full(len(own), -np.inf) if beyond.shape[1] == 0 else beyond.max(1) - own[:, :trained].max(1)
        numbers = dict(score=np.maximum(uneven, above - shift), disturbance=disturbance, excursion=np.maximum(above, 0), shift=shift)
        return numbers, own[0, :trained], then[0]
