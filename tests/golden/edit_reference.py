"""Edits of attention heads in transformers, through our own attention function, number by number in float64.

An edit is a dictionary in the format of `edit_tool`. Everything else in the model's attention (masks, scales, caps, sinks) is computed here too,
for edited heads and for the others.
"""

import contextlib
import math

import numpy as np
import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

import reference

_NAME = "ropewalk_edited"
FIRST = 4  # tokens before this one are not edited
_now = {}  # the edit, outputs of heads, the rotation that transformers uses


def _key(layer, head):
    return f"{layer}.{head}"


def _slow_dimensions(cut, interleaved, width):
    """The dimensions of every pair that needs more than `cut` tokens for one turn."""
    angles = _now["angles"]
    slow = [f for f in range(len(angles)) if 2 * math.pi / angles[f] > cut]
    return [(2 * f, 2 * f + 1) if interleaved else (f, f + len(angles)) for f in slow]


def _unturn(x, before, pairs):
    """Pairs with the direction that they had before RoPE and the length that they have after it."""
    for i, j in pairs:
        after_length = np.hypot(x[FIRST:, i], x[FIRST:, j])
        scale = after_length / np.hypot(before[FIRST:, i], before[FIRST:, j])
        x[FIRST:, i], x[FIRST:, j] = before[FIRST:, i] * scale, before[FIRST:, j] * scale


def _change_vectors(edit, layer, head, kv_head, q, k, before):
    time = np.arange(len(q))[FIRST:, None]
    if edit["kind"] in ("still", "zero-band"):
        pairs = _slow_dimensions(edit["cut"], edit["interleaved"], q.shape[1])
        if edit["kind"] == "zero-band":
            for pair in pairs:
                q[FIRST:, list(pair)] = 0
        else:
            _unturn(q, before[0][head], pairs)
            _unturn(k, before[1][kv_head], pairs)
    if edit["kind"] == "flatten":
        for x, slopes, name in ((q, edit["q"], _key(layer, head)), (k, edit["k"], _key(layer, kv_head))):
            if name in slopes:
                x[FIRST:] -= np.array(slopes[name]) * (time - edit["mean_position"])
    if edit["kind"] == "axis":
        one = edit["axes"][_key(layer, head)]
        axis = np.array(one["axis"])
        for x, mean in ((q, one["mean_q"]), (k, one["mean_k"])):
            x[FIRST:] -= np.outer((x[FIRST:] - np.array(mean)) @ axis, axis)


def _log_sum(x):
    return x.max() + np.log(np.exp(x - x.max()).sum())


def _change_scores(edit, layer, head, scores, seen):
    tokens = len(scores)
    for m in range(FIRST, tokens):
        keys = np.array([n for n in range(FIRST, m + 1) if seen[m, n]])
        if edit["kind"] == "window":
            seen[m, keys[m - keys > edit["tokens"]]] = False
        if edit["kind"] == "distance":
            s = np.array(edit["logits"][_key(layer, head)])[m - keys]
            before = scores[m, keys]
            after = before - (s - s.mean())
            scores[m, keys] = after + (_log_sum(before) - _log_sum(after) if edit["keep_mass"] else 0)


def _one_head(layer, head, kv_head, q, k, v, before, seen, options):
    edit = _now["edit"]
    edited = edit is not None and [layer, head] in edit["heads"]
    if edited:
        _change_vectors(edit, layer, head, kv_head, q, k, before)
    scores = q @ k.T * options["scaling"]
    seen = seen.copy()
    if edited:
        _change_scores(edit, layer, head, scores, seen)
    if options.get("softcap") is not None:
        scores = np.tanh(scores / options["softcap"]) * options["softcap"]
    scores = np.where(seen, scores, -np.inf)
    if options.get("s_aux") is not None:
        sink = options["s_aux"][head].double().item()
        scores = np.concatenate([scores, np.full((len(scores), 1), sink)], 1)
    shares = np.exp(scores - scores.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    out = shares[:, : len(v)] @ v
    _now["outputs"][layer, head] = out.copy()
    if edited and edit["kind"] == "head":
        out[FIRST:] = _now["means"][layer, head]
    if edited and edit["kind"] == "head:zero":
        out[FIRST:] = 0
    return out


def _attend(module, query, key, value, attention_mask, **options):
    layer = module.layer_idx
    q, k, v = (x[0].double().numpy() for x in (query, key, value))
    before = [x[0].double().numpy() for x in reference._before_rope.pop()] if reference._before_rope else None
    seen = (attention_mask[0, 0, : q.shape[1], : q.shape[1]] == 0).numpy()
    group = len(q) // len(k)
    outs = [
        _one_head(layer, head, head // group, q[head].copy(), k[head // group].copy(), v[head // group], before, seen, options)
        for head in range(len(q))
    ]
    return torch.from_numpy(np.stack(outs, 1)).to(query.dtype)[None], None


AttentionInterface.register(_NAME, _attend)
AttentionMaskInterface.register(_NAME, ALL_MASK_ATTENTION_FUNCTIONS["eager"])


@contextlib.contextmanager
def _editing(edit, means):
    _now.update(edit=edit, means=means, outputs={})
    yield
    _now.update(edit=None, means=None)


class Edited:
    """A checkpoint whose passes over some documents are edited."""

    def __init__(self, folder, texts):
        self.network = reference.load(folder, attention=_NAME)
        self.texts = texts
        self.angles = self.network.model.rotary_emb.inv_freq.double().numpy()
        self.plain, self.outputs = zip(*(self._run(tokens, None, None) for tokens in texts))

    @torch.no_grad()
    def _run(self, tokens, edit, means):
        _now["angles"] = self.angles
        reference._before_rope.clear()
        with _editing(edit, means), reference._watch_rotation(self.network):
            logits = self.network(input_ids=torch.tensor([tokens]), use_cache=False).logits[0]
        return torch.log_softmax(logits.double(), 1), _now["outputs"]

    def _means(self, document):
        """The mean output of each head at late tokens of the other documents."""
        others = [outputs for i, outputs in enumerate(self.outputs) if i != document]
        return {key: np.concatenate([other[key][FIRST:] for other in others]).mean(0) for key in others[0]}

    def measure(self, edit):
        """Per document: the loss in nats, and the KL divergence from the unedited pass, for every token that predicts another."""
        losses, divergences = [], []
        for i, tokens in enumerate(self.texts):
            edited = self.plain[i] if edit is None else self._run(tokens, edit, self._means(i))[0]
            following = torch.tensor(tokens[1:])
            losses.append(-edited[:-1].gather(1, following[:, None])[:, 0].numpy())
            divergences.append((self.plain[i].exp() * (self.plain[i] - edited)).sum(1)[:-1].numpy())
        return losses, divergences
