"""Logits by distance, summed during the pass, compared with the vectors of all tokens."""

import numpy as np
import pytest
from safetensors.numpy import load_file

import engine
import tiny_models
from tiny_models import CONTEXT, MODELS

BLOCKS = 3
FIRST = 4
LAGS = [lag for lag in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128) if lag < CONTEXT - FIRST]


@pytest.mark.parametrize("name", ["llama_gqa", "llama_llama3_mha", "smollm3_list_sliding", "qwen3_yarn", "glm4_yarn", "ministral3"])
def test_sums_are_those_of_all_pairs(tmp_path, name):
    folder = tiny_models.write(MODELS[name], tmp_path / "model")
    texts = tiny_models.documents()
    corpus = tiny_models.write_corpus(tmp_path / "tokens.jsonl", texts)
    out = engine.capture(folder, corpus, tmp_path / "out", "--sliding", "--blocks", BLOCKS, context=CONTEXT)
    tensors, vectors = load_file(out / "moments.safetensors"), engine.read_streams(out)
    heads = 1 + max(head for _, head, kind in vectors if kind == "q")
    group = heads // (1 + max(head for _, head, kind in vectors if kind == "k"))
    for i, (layer, head) in enumerate(zip(tensors["query.layer"], tensors["query.head"])):
        logits = []  # one per document, [T, T]
        for key in texts:
            q = vectors[layer, head, "q"][key].astype(np.float64)[FIRST:]
            k = vectors[layer, head // group, "k"][key].astype(np.float64)[FIRST:]
            logits.append(q @ k.T)
        for block in (None, *range(BLOCKS)):
            chosen = logits if block is None else logits[block::BLOCKS]
            for index, lag in enumerate(LAGS):
                values = np.concatenate([np.diagonal(matrix, -lag) for matrix in chosen])

                def field(name):
                    stored = tensors[f"lags.query.{name if block is None else 'block_' + name}"][i]
                    assert stored.shape[-1] == len(LAGS)
                    return (stored if block is None else stored[block])[index]

                assert field("count") == len(values)
                assert abs(field("sum") - values.sum()) <= 1e-6 * np.abs(values).sum()
                assert abs(field("squares") - (values**2).sum()) <= 1e-6 * (values**2).sum()
