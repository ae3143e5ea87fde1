"""The queries and keys that transformers itself gives to its attention: the expected values for the program."""

import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import AttentionInterface, AttentionMaskInterface, AutoConfig
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

_NAME = "ropewalk_recorder"
_records: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
_before_rope: list[tuple[torch.Tensor, torch.Tensor]] = []
_want_before_rope = False


def _record(module, query, key, value, attention_mask, **options):
    """Records q [Hq, T, d] and k [Hkv, T, d], then computes attention as usual, so that the next layer is right."""
    rotated = _before_rope.pop() if _before_rope else (query, key)  # NoPE layers skip the rotation
    taken = rotated if _want_before_rope else (query, key)
    _records[module.layer_idx] = tuple(tensor[0].detach().clone() for tensor in taken)
    if options.get("softcap") is not None or options.get("s_aux") is not None:  # which sdpa does not support
        eager = sys.modules[type(module).__module__].eager_attention_forward
        return eager(module, query, key, value, attention_mask, **options)
    return ALL_ATTENTION_FUNCTIONS["sdpa"](module, query, key, value, attention_mask, **options)


AttentionInterface.register(_NAME, _record)
# A name without a mask function gets no mask at all, and sliding layers would see every key. Additive masks work with every kind of attention.
AttentionMaskInterface.register(_NAME, ALL_MASK_ATTENTION_FUNCTIONS["eager"])


def load(folder: Path, dtype=torch.float32, attention=_NAME):
    config = AutoConfig.from_pretrained(folder)
    network = getattr(transformers, config.architectures[0])
    # Experts one by one, because grouped products need sizes that are multiples of 16 bytes.
    experts = dict(experts_implementation="eager") if hasattr(config, "num_experts_per_tok") else {}
    model = network.from_pretrained(folder, dtype=dtype, attn_implementation=attention, **experts).eval()
    # transformers 5.17 ignores the config's limits of the gate in gpt_oss.
    for module in model.modules() if hasattr(config, "swiglu_limit") else ():
        if hasattr(module, "limit"):
            module.limit, module.alpha = config.swiglu_limit, config.swiglu_alpha
    return model


@contextmanager
def _watch_bloom():
    """BLOOM does not use the attention interface: queries, keys and values are recorded where it splits them."""
    attention = transformers.models.bloom.modeling_bloom.BloomAttention
    original = attention._reshape

    def _reshape(self, fused):
        query, key, value = original(self, fused)
        _records[self.layer_idx] = tuple(tensor[0].detach().clone() for tensor in (query, key))
        return query, key, value

    attention._reshape = _reshape
    try:
        yield
    finally:
        attention._reshape = original


def _note_before_rope(original, q, k, rest, options):
    _before_rope.append((q, k))


@contextmanager
def _watch_rotation(network, note=_note_before_rope):
    """Calls `note` with each rotation of the architecture's own: the function, q and k before it, and its other arguments."""
    modules = {sys.modules[type(part).__module__] for part in network.modules()}
    watched = {module: module.apply_rotary_pos_emb for module in modules if hasattr(module, "apply_rotary_pos_emb")}

    def watch(original):
        def apply_rotary_pos_emb(q, k, *rest, **options):
            note(original, q, k, rest, options)
            return original(q, k, *rest, **options)

        return apply_rotary_pos_emb

    for module, original in watched.items():
        module.apply_rotary_pos_emb = watch(original)
    try:
        yield
    finally:
        for module, original in watched.items():
            module.apply_rotary_pos_emb = original


@torch.no_grad()
def hidden_states(network, tokens) -> torch.Tensor:
    """Output of each layer, [layers + 1, T, hidden]."""
    output = network(input_ids=torch.tensor([tokens]), use_cache=False, output_hidden_states=True)
    return torch.cat([state.float() for state in output.hidden_states])


@torch.no_grad()
def capture(folder: Path, texts: dict[int, list[int]], context: int, dtype=torch.float32, pre_rope=False, fresh=True):
    """{(layer, head, kind): {document id: array [T, d]}}, kind 'q' or 'k', heads of k being KV heads.

    `fresh`: a new model for each text, because dynamic RoPE remembers the longest sequence it has met.
    """
    global _want_before_rope
    _want_before_rope = pre_rope
    streams: dict[tuple[int, int, str], dict[int, np.ndarray]] = {}
    network = load(folder, dtype)
    for key, tokens in texts.items():
        if fresh and streams:
            network = load(folder, dtype)
        _records.clear()
        with _watch_rotation(network), _watch_bloom():
            network(input_ids=torch.tensor([tokens[:context]]), use_cache=False)
        for layer, taken in _records.items():
            for kind, heads in zip("qk", taken):
                for head, vectors in enumerate(heads.float().numpy()):
                    streams.setdefault((layer, head, kind), {})[key] = vectors
    return streams


@torch.no_grad()
def attention(folder: Path, texts: dict[int, list[int]], dtype=torch.float32):
    """What eager attention gives for each document: of each layer that attends [heads, T, T], and functions that turn keys as each layer with RoPE does.

    Such a function takes keys before RoPE [KV heads, T, d], the one at each place, and gives those after it.
    """
    network = load(folder, dtype, "eager")
    turns = []

    def note(original, q, k, rest, options):
        turns.append(lambda keys: original(q, keys[None].to(k), *rest, **options)[1][0])

    found = {}
    with _watch_rotation(network, note):
        for key, tokens in texts.items():
            turns.clear()
            if found:  # dynamic RoPE remembers
                network = load(folder, dtype, "eager")
            output = network(input_ids=torch.tensor([tokens]), use_cache=False, output_attentions=True)
            found[key] = [weights[0].double().numpy() for weights in output.attentions if weights is not None], list(turns)
    return found
