"""What kvpress does with exported files, with the packages of .venv-kvpress. Usage: kvpress_tool.py MODEL TEXTS EXPORTED OUT.

MODEL has a tokenizer of one token per character; TEXTS is a folder of .jsonl with `text`; EXPORTED holds `kvpress` and
`q-filters`. Writes OUT/collected.safetensors (its own collector's means and covariances), OUT/loaded.safetensors (what it
reads from EXPORTED) and OUT/presses.json (the keys that each press kept).
"""

import json
import sys
from pathlib import Path

import torch
from kvpress import ExpectedAttentionStatsPress, QFilterPress
from kvpress.presses.expected_attention_with_stats import ExpectedAttentionStats, collect_queries
from kvpress.presses.qfilter_press import QFilters
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, DynamicCache

RATIO = 0.5  # share of the keys that a press removes


def kept_keys(press, model, tokens):
    """Keys of each layer after a press, [heads, kept, d] as lists."""
    cache = DynamicCache()
    with torch.inference_mode(), press(model):
        model(tokens, past_key_values=cache)
    return [layer.keys[0].tolist() for layer in cache.layers]


def main(folder: Path, texts: Path, exported: Path, out: Path):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    stats = ExpectedAttentionStats.from_pretrained(exported / "kvpress")
    filters = QFilters.from_pretrained(exported / "q-filters")
    _, mean, cov = collect_queries(model, str(texts), stats.num_samples, stats.sample_seq_len, stats.n_sink, "text")
    out.mkdir()
    save_file(dict(query_mean=mean.contiguous(), query_cov=cov.contiguous()), out / "collected.safetensors")
    save_file({**stats.state_dict(), **filters.state_dict()}, out / "loaded.safetensors")

    tokens = torch.arange(64).reshape(1, -1)
    ours = ExpectedAttentionStatsPress(RATIO, stats_folder=str(exported / "kvpress"))
    own = ExpectedAttentionStatsPress(RATIO)
    own.mu, own.cov = mean, cov
    QFilterPress.load_q_filters = staticmethod(lambda name: filters.q_filters)  # otherwise it asks the Hub
    presses = dict(ours=ours, own=own, q_filters=QFilterPress(RATIO))
    (out / "presses.json").write_text(json.dumps({name: kept_keys(press, model, tokens) for name, press in presses.items()}))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
