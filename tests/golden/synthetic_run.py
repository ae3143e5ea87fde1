"""Made-up runs in the files' own formats: qk.csv and summary.json with known numbers, for figures and compare."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pandas

CLASSES = ["position-dominated", "q-positional", "k-positional", "content-focused", "mixed"]
REFERENCE_PATH = Path(__file__).resolve().parents[2] / "data/reference/smollm3.json"
REFERENCE = json.loads(REFERENCE_PATH.read_text())
COLUMNS = ["model", "checkpoint", "phase", "order", "layer", "q_head", "kv_head", "rope", "pc", "explained_variance",
           "r_q", "r_k", "r_q_se", "r_k_se", "explained_variance_se", "class", "pc0_stability", "n_q", "n_k",
           "n_blocks", "flag"]  # fmt: skip


def depth_bin(layer: int, last: int) -> int:
    return 0 if last <= 0 else max(-(-10 * layer // last) - 1, 0)


def classify(r_q: float, r_k: float) -> str:
    k = abs(r_k)
    if r_q > 0.7 and k > 0.7:
        return CLASSES[0]
    if r_q > 0.7 and k < 0.3:
        return CLASSES[1]
    if r_q < 0.3 and k > 0.7:
        return CLASSES[2]
    if r_q < 0.3 and k < 0.3:
        return CLASSES[3]
    return CLASSES[4]


def seed_0_heads(layers=36, heads=16, count=300) -> list[tuple[int, int]]:
    candidates = [(layer, head) for layer in range(layers) for head in range(heads)]
    return sorted(random.Random(0).sample(candidates, count))


def centred(values: np.ndarray, target: float, low: float, high: float) -> np.ndarray:
    """Shifted so that their mean is the target, within limits."""
    for _ in range(200):
        values = np.clip(values + target - values.mean(), low, high)
    return values


def smollm3_like() -> pandas.DataFrame:
    """300 heads whose means by depth are the published ones, with a realistic spread."""
    heads = seed_0_heads()
    rng = np.random.default_rng(1)
    # The character of a head: drawn once, so that heads keep it over the run.
    warmth, coupling, turn = (rng.random(len(heads)) for _ in range(3))
    bins = np.array([depth_bin(layer, 35) for layer, _ in heads])
    shares = [0.42, 0.62, 0.63, 0.62, 0.63, 0.64, 0.74, 0.75, 0.76, 0.76]
    rows = []
    for order, checkpoint in enumerate(REFERENCE["checkpoints"]):
        label = checkpoint["label"]
        jitter = lambda scale: rng.normal(0, scale, len(heads))
        r_q = 1 - (0.4 if order == 0 else 0.16) * rng.gamma(1.5, 0.6, len(heads)) * (0.4 + warmth)
        coupled = coupling < shares[order]
        r_k = np.where(coupled, 0.86 - 0.12 * (coupling / shares[order]) ** 3, 0.68 * warmth * coupling) + jitter(0.04)
        for b in range(10):
            inside = np.flatnonzero(bins == b)
            r_q[inside] = centred(r_q[inside], REFERENCE["depth_r_q"][label][b], -0.04, 0.985)
            # Heads become negative, always the same ones first, until the mean is about the published one.
            for i in inside[np.argsort(turn[inside])]:
                if r_k[inside].mean() - 2 * max(r_k[i], 0) / len(inside) < REFERENCE["depth_r_k"][label][b]:
                    continue
                r_k[i] = -r_k[i]
            r_k[inside] = centred(r_k[inside], REFERENCE["depth_r_k"][label][b], -0.97, 0.975)
        first = np.clip(0.19 + 0.15 * math.sqrt(order / 9) + rng.normal(0, 0.09, len(heads)), 0.06, 0.8)
        rows += table_rows("SmolLM3-3B", checkpoint, order, heads, r_q, r_k, first, rng, every_nope=4, group=4)
    return pandas.DataFrame(rows, columns=COLUMNS)


def demo_like(baseline=True) -> pandas.DataFrame:
    """12 layers of 8 heads, ten checkpoints of five phases, and freshly initialised weights."""
    heads = [(layer, head) for layer in range(12) for head in range(8)]
    rng = np.random.default_rng(2)
    rows = []
    phases = ["Stage 1"] * 4 + ["Stage 2", "Stage 3"] + ["LC 256→1K"] * 2 + ["LC 1K→2K"] * 2
    labels = [f"s{1000 * (i + 1)}" for i in range(10)]
    positions = [({"label": "init", "phase": ""}, -1)] if baseline else []
    positions += [({"label": label, "phase": phase}, i) for i, (label, phase) in enumerate(zip(labels, phases))]
    for checkpoint, step in positions:
        learnt = 0.0 if step < 0 else 1 - math.exp(-(step + 0.6) / 2)
        r_q = np.clip(rng.beta(1.5, 3, len(heads)) * (1 - learnt) + learnt * rng.beta(7, 1.6, len(heads)), 0, 0.99)
        r_k = np.clip(rng.normal(0.15 + 0.35 * learnt, 0.3 + 0.15 * learnt, len(heads)), -0.97, 0.97)
        first = np.clip(0.12 + 0.2 * learnt + rng.normal(0, 0.06, len(heads)), 0.04, 0.8)
        added = table_rows("demo", checkpoint, step + baseline, heads, r_q, r_k, first, rng, every_nope=4, group=4)
        rows += [row | {"flag": "few_blocks;random_weights"} for row in added] if step < 0 else added
    return pandas.DataFrame(rows, columns=COLUMNS)


def pythia_like(baseline=True) -> pandas.DataFrame:
    """4 layers of 4 heads at Pythia's 154 steps, which its labels state, and freshly initialised weights."""
    heads = [(layer, head) for layer in range(4) for head in range(4)]
    rng = np.random.default_rng(4)
    steps = [0, *(2**i for i in range(10)), *range(1000, 144000, 1000)]
    positions = [({"label": "init", "phase": ""}, None)] if baseline else []
    positions += [({"label": f"step{step}", "phase": "Warm-up" if step < 1430 else "Training"}, step) for step in steps]
    character = rng.normal(0, 0.12, len(heads))
    rows = []
    for order, (checkpoint, step) in enumerate(positions):
        learnt = 1 / (1 + math.exp(-2.2 * (math.log10(max(step or 0, 1)) - 3)))
        r_q = np.clip(0.35 + 0.5 * learnt + character + rng.normal(0, 0.02, len(heads)), -0.04, 0.99)
        r_k = np.clip(0.1 + 0.6 * learnt + 2 * character + rng.normal(0, 0.03, len(heads)), -0.97, 0.97)
        first = np.clip(0.12 + 0.3 * learnt + character / 3, 0.04, 0.8)
        added = table_rows("pythia", checkpoint, order, heads, r_q, r_k, first, rng, every_nope=5, group=1, components=4)
        rows += [row | {"flag": "random_weights"} for row in added] if step is None else added
    return pandas.DataFrame(rows, columns=COLUMNS)


def table_rows(model, checkpoint, order, heads, r_q, r_k, first, rng, every_nope, group, components=10):
    rows = []
    for i, (layer, head) in enumerate(heads):
        rest = (1 - first[i]) * 0.72 ** np.arange(1, components) * 0.3
        for pc in range(components):
            q, k = (r_q[i], r_k[i]) if pc == 0 else (abs(rng.normal(0, 0.2)), rng.normal(0, 0.2))
            rows.append({
                "model": model, "checkpoint": checkpoint["label"], "phase": checkpoint["phase"], "order": order,
                "layer": layer, "q_head": head, "kv_head": head // group, "rope": int(layer % every_nope != every_nope - 1),
                "pc": pc, "explained_variance": first[i] if pc == 0 else min(rest[pc - 1], first[i]),
                "r_q": np.clip(q, -1, 1), "r_k": np.clip(k, -1, 1), "r_q_se": 0.01, "r_k_se": 0.02,
                "explained_variance_se": 0.004, "class": classify(r_q[i], r_k[i]), "pc0_stability": 0.99,
                "n_q": 65536, "n_k": 65536, "n_blocks": 16, "flag": "",
            })  # fmt: skip
    return rows


def summary_of(table: pandas.DataFrame, seed=3) -> dict:
    """summary.json of a table, as analyze writes it; the standard errors are invented."""
    rng = np.random.default_rng(seed)
    leaf = lambda value, scale: {"value": float(value), "se": float(scale * rng.uniform(0.5, 1.5))}
    out = {"format": 1, "thresholds": {"high": 0.7, "low": 0.3}, "checkpoints": [], "differences": []}
    for key in ("mean_r_q", "mean_r_k", "mean_abs_r_k", "sd_r_q", "sd_r_k", "pc0_explained_variance", "taxonomy",
                "depth_r_q", "depth_r_k", "depth_abs_r_k", "heads"):  # fmt: skip
        out[key] = {}
    last = int(table.layer.max())
    for label, rows in table[table.pc == 0].groupby("checkpoint", sort=False):
        rows = rows.dropna(subset=["r_q", "r_k"])
        out["checkpoints"].append({"label": label, "phase": rows.phase.iloc[0], "order": int(rows.order.iloc[0]),
                                   "documents": 100, "heads": len(rows), "blocks": 16, "few_blocks": False,
                                   "last_layer": last, "t95": 2.131})  # fmt: skip
        out["mean_r_q"][label] = leaf(rows.r_q.mean(), 0.008)
        out["mean_r_k"][label] = leaf(rows.r_k.mean(), 0.012)
        out["mean_abs_r_k"][label] = leaf(rows.r_k.abs().mean(), 0.01)
        out["sd_r_q"][label] = leaf(rows.r_q.std(), 0.005)
        out["sd_r_k"][label] = leaf(rows.r_k.std(), 0.005)
        out["pc0_explained_variance"][label] = leaf(rows.explained_variance.mean(), 0.006)
        found = [classify(q, k) for q, k in zip(rows.r_q, rows.r_k)]
        out["taxonomy"][label] = {name: leaf(found.count(name) / len(found), 0.015) for name in CLASSES}
        bins = rows.layer.map(lambda layer: depth_bin(layer, last))
        for key, column in [("depth_r_q", rows.r_q), ("depth_r_k", rows.r_k), ("depth_abs_r_k", rows.r_k.abs())]:
            cells = [column[bins == b] for b in range(10)]
            out[key][label] = [leaf(c.mean(), 0.02) | {"heads": len(c)} if len(c) else None for c in cells]
        out["heads"][label] = {"measured": len(rows), "undefined": 0}
    return out


def write(table: pandas.DataFrame, folder: Path, summary=True) -> Path:
    """Writes qk.csv with 9 significant digits, and summary.json, to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "qk.csv"
    table.to_csv(path, index=False, float_format="%.9g")
    if summary:
        (folder / "summary.json").write_text(json.dumps(summary_of(pandas.read_csv(path, keep_default_na=False, na_values={"r_q": "", "r_k": ""})), indent=1))
    return path


if __name__ == "__main__":
    import sys

    for name, make in [("smollm3", smollm3_like), ("demo", demo_like)]:
        print(write(make(), Path(sys.argv[1]) / name))
