"""bands.csv, curves.csv and their columns of heads.csv, computed a second time with numpy in float64 from the vectors that attention sees."""

import dataclasses

import numpy as np
import torch
import transformers

import reference

FIRST = 4  # tokens that means and logits leave out
NEAR = 16
BANDS = [f"{name}_{kind}" for name in ("energy", "rope_var", "mrl") for kind in "qk"]
BOTH = [f"{name}_{kind}" for name in ("band_centroid", "low_share", "rope_var_share", "mrl", "drift_rope_cos", "drift_rope_share") for kind in "qk"]
DISTANCE = ["dist_argmax", "dist_range", "dist_near", "dist_reach", "dist_r", "dist_content"]
COLUMNS = [*BOTH, *DISTANCE]
CURVES = ["dist_pred", "dist_actual"]


def distance_windows(context, sliding=None):
    """[begin, end) of each: single distances to 3, then octaves half an octave apart, where a quarter of theirs is there."""
    end, last = min(context, sliding or context), context - FIRST
    begins = [0, 1, 2, 3] + sorted(begin for power in range(2, 40) for begin in (2**power, 3 * 2 ** (power - 1)))
    ends = [1, 2, 3, 4] + [2 * begin for begin in begins[4:]]
    return [(a, min(b, end)) for a, b in zip(begins, ends) if a < last and (a < end if a < 4 else 1.25 * a < end)]


@dataclasses.dataclass
class Layer:
    """How a layer rotates vectors of d dimensions, as in transformers."""

    theta: np.ndarray  # float32; zeros on NoPE layers
    factor: float
    first: np.ndarray  # dimensions of each pair
    second: np.ndarray
    turns: bool
    beta: float = 0.0  # scaling of queries by position
    original: int = 1
    window: int | None = None  # tokens that sliding attention sees

    def scale(self, t):
        return 1 + self.beta * np.log(1 + np.floor(t / self.original))

    def unturned(self, x, queries):
        """Vectors [T, d] before RoPE. Angles are float32, as in the model."""
        t = np.arange(len(x))
        x = x.astype(np.float64) / (self.scale(t)[:, None] if queries else 1.0)
        angle = (t.astype(np.float32)[:, None] * self.theta[None]).astype(np.float64)
        z = (x[:, self.first] + 1j * x[:, self.second]) * np.exp(-1j * angle) / self.factor
        before = x.copy()
        before[:, self.first], before[:, self.second] = z.real, z.imag
        return before


def layers_of(folder, d, tokens):
    """One Layer for each layer of the model, for documents with at most this many tokens."""
    network = reference.load(folder)
    config = network.config.get_text_config()
    rotary = next((m for m in network.modules() if type(m).__name__.endswith("RotaryEmbedding")), None)
    parameters = getattr(config, "rope_parameters", None) or {}
    if rotary is not None and hasattr(rotary, "inv_freq"):  # some kinds of RoPE have other angles beyond a number of tokens
        rotary(torch.zeros(1), torch.arange(tokens)[None])
    interleaved = config.model_type.startswith("glm")
    found = []
    for layer in range(config.num_hidden_layers):
        prefix = ""
        if rotary is not None and not hasattr(rotary, "inv_freq"):
            prefix = config.layer_types[layer] + "_"
        if rotary is None:
            theta, factor, turns = np.zeros(d // 2, np.float32), 1.0, False
        else:
            theta = getattr(rotary, prefix + "inv_freq").numpy().astype(np.float32)
            factor = float(getattr(rotary, prefix + "attention_scaling"))
            turns = bool(getattr(config, "no_rope_layers", [1] * 99)[layer]) if config.model_type == "smollm3" else True
        f = np.arange(len(theta))
        first, second = (2 * f, 2 * f + 1) if interleaved else (f, f + len(theta))
        if not turns:
            theta, factor = np.zeros_like(theta), 1.0
        beta = parameters.get("llama_4_scaling_beta") or 0.0
        original = parameters.get("original_max_position_embeddings") or 1
        sliding = (getattr(config, "layer_types", None) or [""] * 99)[layer] == "sliding_attention"
        found.append(Layer(theta, factor, first, second, turns, beta, original, config.sliding_window if sliding else None))
    return found


def alibi_slopes(folder):
    """What each head's logits lose per token of distance; of other families 0."""
    config = reference.load(folder).config
    if config.model_type != "bloom":
        return np.zeros(999)
    biases = transformers.models.bloom.modeling_bloom.build_alibi_tensor(torch.ones(1, 2), config.n_head, torch.float32)
    return (biases[:, 0, 1] - biases[:, 0, 0]).double().numpy()


def stream(layer, documents, befores, context, queries):
    """Numbers of bands and of the head, for queries or for keys: from documents as attention sees them, and before RoPE."""
    x, t = np.concatenate(documents).astype(np.float64), np.concatenate([np.arange(len(one)) for one in documents])
    before, late = np.concatenate(befores), np.concatenate([one[FIRST:] for one in befores])
    theta = layer.theta.astype(np.float64)
    z = x[:, layer.first] + 1j * x[:, layer.second]
    still = layer.factor * (before[:, layer.first] + 1j * before[:, layer.second])
    calm = late[:, layer.first] + 1j * late[:, layer.second]
    energy = (abs(z) ** 2).mean(0)
    variance, own = (abs(z - z.mean(0)) ** 2).mean(0), (abs(still - still.mean(0)) ** 2).mean(0)
    mrl = abs(calm.mean(0)) / abs(calm).mean(0)
    bands = {"energy": energy, "rope_var": 1 - own / variance if layer.turns else 0 * energy, "mrl": mrl}
    n = {"rope_var_share": 1 - own.sum() / variance.sum() if layer.turns else 0.0, "mrl": energy @ mrl / energy.sum()}
    n["band_centroid"] = energy @ np.log2(2 * np.pi / theta) / energy.sum() if layer.turns else np.nan
    n["low_share"] = energy[theta * context < 2 * np.pi].sum() / energy.sum() if layer.turns else np.nan
    times = (t - t.mean()) * (layer.scale(t) if queries else 1.0)
    c = ((x - x.mean(0)) * (t - t.mean())[:, None]).mean(0)
    turned = still.mean(0) * (times[:, None] * np.exp(1j * theta * t[:, None])).mean(0)
    predicted = before.mean(0) * times.mean() if queries and layer.beta else np.zeros(x.shape[1])
    predicted[layer.first], predicted[layer.second] = turned.real, turned.imag
    size = np.linalg.norm(predicted) * np.linalg.norm(c)
    n["drift_rope_cos"] = predicted @ c / size if layer.turns else np.nan
    n["drift_rope_share"] = predicted @ c / (c @ c)
    return bands, n


def mean_scale(layer, lengths, lag):
    """The mean logit over pairs of tokens at each lag."""
    t = np.concatenate([np.arange(FIRST + lag, length) for length in lengths])
    return layer.scale(t).mean() if layer.beta and len(t) else 1.0


def predicted_logits(layer, q, k, lags, lengths):
    """The logit of the mean query and key before RoPE, rotated apart by each lag; without the softmax scale."""
    zq, zk = (layer.factor * (x[layer.first] + 1j * x[layer.second]) for x in (q, k))
    rest = np.setdiff1d(np.arange(len(q)), [*layer.first, *layer.second])
    turned = (zq * zk.conj() * np.exp(1j * layer.theta.astype(np.float64) * lags[:, None])).sum(1).real
    scale = np.array([mean_scale(layer, lengths, lag) for lag in lags])
    return scale * (turned + q[rest] @ k[rest])


def head(layer, q, k, q_before, k_before, scale, context, lengths, slope=0.0):
    """All numbers of a head of these documents; `lengths` are those of all documents, `slope` is ALiBi's. Bands, columns, curves."""
    bands, n, curves = {}, {}, {}
    for kind, documents, befores in (("q", q, q_before), ("k", k, k_before)):
        own_bands, own = stream(layer, documents, befores, context, kind == "q")
        bands |= {f"{key}_{kind}": value for key, value in own_bands.items()}
        n |= {f"{key}_{kind}": value for key, value in own.items()}
    windows = distance_windows(context, layer.window)
    centres = [np.concatenate([one[FIRST:] for one in befores]).mean(0) for befores in (q_before, k_before)]
    every = scale * predicted_logits(layer, *centres, np.arange(context), lengths) - slope * np.arange(context)
    pred, actual, mean, pairs = (np.full(len(windows), np.nan) for _ in range(4))
    apart = [np.subtract.outer(np.arange(len(a) - FIRST), np.arange(len(a) - FIRST)) if len(a) > FIRST else np.zeros((0, 0), int) for a in q]
    logits = [scale * (a[FIRST:].astype(np.float64) @ b[FIRST:].astype(np.float64).T) for a, b in zip(q, k)]
    for i, (begin, end) in enumerate(windows):
        inside = [(one >= begin) & (one < end) for one in apart]
        distances = np.concatenate([one[mask] for one, mask in zip(apart, inside)])
        pairs[i] = len(distances)
        if len(distances):
            actual[i] = np.concatenate([one[mask] for one, mask in zip(logits, inside)]).mean() - slope * distances.mean()
            pred[i], mean[i] = every[distances].mean(), distances.mean()
        else:
            pred[i], mean[i] = every[begin:end].mean(), (begin + end - 1) / 2
    curves = {"dist_pred": pred, "dist_actual": actual, "mean": mean}
    n |= dict.fromkeys(DISTANCE, np.nan)
    if not layer.turns and not slope and not layer.beta:
        return bands, n, curves
    span = min(context, layer.window or context)
    chosen, distance = every[:span], np.arange(span)
    n["dist_argmax"] = chosen.argmax()
    n["dist_range"] = np.ptp(chosen)
    n["dist_near"] = chosen[distance <= NEAR].mean() - chosen[distance >= span / 4].mean()
    n["dist_reach"] = np.exp(chosen - chosen.max()) @ np.log2(1 + distance) / np.exp(chosen - chosen.max()).sum()
    use = (pairs > 0) & (np.arange(len(windows)) > 0)
    covariance = np.cov(pred[use], actual[use], aweights=pairs[use]) if use.sum() >= 3 else np.full((2, 2), np.nan)
    n["dist_r"] = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    known = pairs > 0
    n["dist_content"] = np.sqrt(((actual - pred)[known] ** 2) @ pairs[known] / pairs.sum())
    return bands, n, curves


def jackknife(full, replicates, sizes):
    """Works for a number or a list of numbers."""
    values, h = np.array(replicates, dtype=float), sizes.sum() / sizes
    h = h.reshape(-1, *[1] * (values.ndim - 1))
    pseudo = h * full - (h - 1) * values
    centre = len(h) * np.asarray(full) - ((1 - 1 / h) * values).sum(0)
    return np.sqrt(((pseudo - centre) ** 2 / (h - 1)).mean(0))
