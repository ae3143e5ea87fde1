"""Loss and position statistics of the demo's model, by torch alone, for a look while it trains."""

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from transformers import SmolLM3ForCausalLM
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

CLASSES = ["position-dominated", "q-positional", "k-positional", "content-focused", "mixed"]


def loss_of(model, tokens):
    """Mean next-token loss; tokens [documents, positions]. The last position is read too, for its q and k."""
    # Given as a dict, the mask is taken as it is; None leaves causal masking to the attention kernel.
    logits = model(input_ids=tokens, attention_mask={"full_attention": None}, use_cache=False).logits
    return F.cross_entropy(logits[:, :-1].float().flatten(0, 1), tokens[:, 1:].flatten())


class Moments:
    """Sums of z·zᵀ, z = (x, t, 1), for every head of one layer's queries or keys: all that PCA and r need."""

    def __init__(self):
        self.sums = 0

    def add(self, x):  # [documents, heads, positions, d]
        t = torch.arange(x.shape[2], device=x.device) - x.shape[2] / 2
        z = torch.cat([x.double(), torch.stack([t, torch.ones_like(t)], -1).double().expand(*x.shape[:2], -1, -1)], -1)
        self.sums = self.sums + torch.einsum("bhti,bhtj->hij", z, z).cpu()


def covariance(sums):
    """[heads, d+1, d+1] covariance of (x, t) from sums of z·zᵀ."""
    n, total = sums[:, -1:, -1:], sums[:, :-1, -1]
    return (sums[:, :-1, :-1] - total[:, :, None] * total[:, None, :] / n) / (n - 1)


def correlations(q_sums, k_sums):
    """r_q, r_k and explained variance of the first component of pooled q and k, for every query head."""
    k_sums = k_sums.repeat_interleave(len(q_sums) // len(k_sums), 0)
    pooled = covariance(q_sums + k_sums)[:, :-1, :-1]
    values, vectors = torch.linalg.eigh(pooled)
    v = vectors[:, :, -1]

    def r(sums):
        c = covariance(sums)
        along, variance = torch.einsum("hi,hi->h", v, c[:, :-1, -1]), torch.einsum("hi,hij,hj->h", v, c[:, :-1, :-1], v)
        return along / torch.sqrt(variance * c[:, -1, -1])

    r_q, r_k = r(q_sums), r(k_sums)
    sign = torch.sign(torch.where(r_q.abs() < 0.05, r_k, r_q))
    return sign * r_q, sign * r_k, values[:, -1] / values.sum(-1)


def class_fractions(r_q, r_k, high=0.7, low=0.3):
    k = r_k.abs()
    found = [(r_q > high) & (k > high), (r_q > high) & (k < low), (r_q < low) & (k > high), (r_q < low) & (k < low)]
    fractions = [mask.double().mean().item() for mask in found]
    return dict(zip(CLASSES, [*fractions, 1 - sum(fractions)]))


@torch.no_grad()
def measure(model, tokens) -> dict:
    """Loss and position statistics over every token of the evaluation rows."""
    moments = [(Moments(), Moments()) for _ in model.model.layers]

    def attention(module, query, key, value, *rest, **options):
        for sums, x in zip(moments[module.layer_idx], (query, key)):
            sums.add(x)
        return sdpa_attention_forward(module, query, key, value, *rest, **options)

    ALL_ATTENTION_FUNCTIONS.register("measured", attention)
    model.config._attn_implementation = "measured"
    loss = torch.stack([loss_of(model, part) for part in tokens.split(4)]).mean().item()
    r_q, r_k, explained = map(torch.cat, zip(*(correlations(q.sums, k.sums) for q, k in moments)))
    rope = torch.tensor(model.config.no_rope_layers).repeat_interleave(len(r_q) // len(moments)).bool()
    return {
        "eval_loss": loss, "mean_r_q": r_q.mean().item(), "mean_r_k": r_k.mean().item(),
        "mean_abs_r_k": r_k.abs().mean().item(), "mean_r_q_rope": r_q[rope].mean().item(),
        "mean_r_q_nope": r_q[~rope].mean().item(), "explained_variance": explained.mean().item(),
        "taxonomy": class_fractions(r_q, r_k),
        "layer_r_q": [round(x, 3) for x in r_q.view(len(moments), -1).mean(1).tolist()],
    }  # fmt: skip


def load(folder: Path, device: str):
    return SmolLM3ForCausalLM.from_pretrained(folder, dtype=torch.float32).to(device)


def print_row(row, header=False):
    if header:
        print(f"{'checkpoint':10} train  eval    r_q    r_k  |r_k| rope   nope     ev  posdom q-pos k-pos content mixed  s")
    shares = " ".join(f"{row['taxonomy'][name]:6.2f}" for name in CLASSES)
    names = ("train_loss", "eval_loss", "mean_r_q", "mean_r_k", "mean_abs_r_k", "mean_r_q_rope", "mean_r_q_nope")
    numbers = " ".join(f"{row.get(name, math.nan):6.3f}" for name in (*names, "explained_variance"))
    print(f"{row['label']:10}{numbers} {shares}  {row.get('seconds', 0):.0f}  {row['layer_r_q']}", flush=True)
