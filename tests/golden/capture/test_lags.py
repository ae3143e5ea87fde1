"""Logits by distance, summed in the pass, against the vectors of all tokens; and captures of earlier versions, which have them at single distances."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import bands_reference
import engine
import tiny_models
from tiny_models import CONTEXT, MODELS

BLOCKS = 3
FIRST = 4
SINGLE = [lag for lag in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128) if lag < CONTEXT - FIRST]


def logits_of(out, layer, head, texts):
    """[T, T] of each document, of late queries and keys, without the softmax scale."""
    vectors = engine.read_streams(out)
    heads = 1 + max(head for _, head, kind in vectors if kind == "q")
    group = heads // (1 + max(head for _, head, kind in vectors if kind == "k"))
    pair = lambda key: (vectors[layer, one, kind][key].astype(np.float64)[FIRST:] for kind, one in (("q", head), ("k", head // group)))
    return [np.matmul(q, k.T) for q, k in (pair(key) for key in texts)]


def in_window(matrix, begin, end):
    apart = np.subtract.outer(np.arange(len(matrix)), np.arange(len(matrix)))
    return matrix[(apart >= begin) & (apart < end)]


def captured(root, name):
    folder = tiny_models.write(MODELS[name], root / "model")
    texts = tiny_models.documents()
    corpus = tiny_models.write_corpus(root / "tokens.jsonl", texts)
    return folder, texts, engine.capture(folder, corpus, root / "out", "--sliding", "--blocks", BLOCKS, context=CONTEXT)


@pytest.mark.parametrize("name", ["llama_gqa", "llama_llama3_mha", "smollm3_list_sliding", "qwen3_yarn", "gemma3_text", "glm4_yarn", "ministral3", "bloom"])
def test_sums_are_those_of_all_pairs(tmp_path, name):
    folder, texts, out = captured(tmp_path, name)
    tensors = load_file(out / "moments.safetensors")
    layers = bands_reference.layers_of(folder, json.loads((out / "capture.json").read_text())["config"]["head_dim"], CONTEXT)
    assert not [key for key in tensors if key.startswith("lags.query.squares")]
    whole = bands_reference.distance_windows(CONTEXT)
    for i, (layer, head) in enumerate(zip(tensors["query.layer"], tensors["query.head"])):
        logits = logits_of(out, layer, head, texts)
        windows = bands_reference.distance_windows(CONTEXT, layers[layer].window)
        for block in (None, *range(BLOCKS)):
            chosen = logits if block is None else logits[block::BLOCKS]
            for index in range(len(whole)):

                def field(name):
                    stored = tensors[f"lags.query.{name if block is None else 'block_' + name}"][i]
                    assert stored.shape[-1] == len(whole)
                    return (stored if block is None else stored[block])[index]

                # Beyond the layer's own window there is nothing.
                values = np.concatenate([in_window(matrix, *windows[index]) if index < len(windows) else np.zeros(0) for matrix in chosen])
                assert field("count") == len(values)
                assert abs(field("sum") - values.sum()) <= 1e-6 * np.abs(values).sum()


def as_an_earlier_version(out, target, texts):
    """The capture as versions before windows had it: sums of single distances, and of squares."""
    shutil.copytree(out, target)
    with safe_open(out / "moments.safetensors", "np") as file:
        info, tensors = json.loads(file.metadata()["ropewalk"]), {name: file.get_tensor(name) for name in file.keys() if not name.startswith("lags.")}
    parts = {name: [] for name in ("sum", "squares", "count")}
    for layer, head in zip(tensors["query.layer"], tensors["query.head"]):
        logits = logits_of(out, layer, head, texts)
        rows = [[in_window(matrix, lag, lag + 1) for lag in SINGLE] for matrix in logits]
        for name, number in (("sum", np.sum), ("squares", lambda x: (x**2).sum()), ("count", len)):
            parts[name].append([[number(values) for values in row] for row in rows])
    for name, rows in parts.items():
        documents = np.array(rows, dtype=np.float64)
        blocks = np.stack([documents[:, block::BLOCKS].sum(1) for block in range(BLOCKS)], 1)
        tensors[f"lags.query.{name}"], tensors[f"lags.query.block_{name}"] = documents.sum(1), blocks.astype(np.float32)
    info["kept"]["lags"]["numerics"] = 7
    order = sorted(tensors, key=lambda name: -tensors[name].itemsize)
    save_file({name: tensors[name] for name in order}, target / "moments.safetensors", {"ropewalk": json.dumps(info)})
    (target / "capture.json").unlink()  # which has the hash of the file
    return target


def tables(out, *captures):
    done = engine.run("analyze", *captures, "--out", out)
    assert done.code == 0, done.stderr
    return {name: pandas.read_csv(out / f"{name}.csv") for name in ("heads", "curves")}, done.stderr


def test_captures_of_earlier_versions_keep_single_distances_and_say_so(tmp_path):
    folder, texts, out = captured(tmp_path, "llama_gqa")
    old = as_an_earlier_version(out, tmp_path / "old", texts)
    now, said = tables(tmp_path / "now", out)
    then, said_then = tables(tmp_path / "then", old)
    assert "single distances" not in said + said_then
    assert not now["heads"].flag.fillna("").str.contains("single_distances").any()
    assert then["heads"].flag.str.contains("single_distances").all()
    # Arithmetic on sums before RoPE is the same.
    for key in ("dist_argmax", "dist_range", "dist_near", "dist_reach", "dist_context"):
        pandas.testing.assert_series_equal(now["heads"][key], then["heads"][key])
    curve = then["curves"].query("layer == 1 and q_head == 2 and curve == 'dist_actual'")
    assert curve.x.tolist() == SINGLE and (curve.x_end == curve.x + 1).all() and (curve.x_mean == curve.x).all()
    scale = json.loads((out / "capture.json").read_text())["config"]["attention_scale"]
    expected = [scale * np.concatenate([in_window(matrix, lag, lag + 1) for matrix in logits_of(out, 1, 2, texts)]).mean() for lag in SINGLE]
    np.testing.assert_allclose(curve.value, expected, rtol=1e-5, atol=1e-7)
    assert then["heads"].dist_r.notna().all()


def test_a_study_never_mixes_windows_and_single_distances(tmp_path):
    folder, texts, out = captured(tmp_path, "llama_gqa")
    old = as_an_earlier_version(out, tmp_path / "old", texts)
    alone, _ = tables(tmp_path / "alone", out)
    both, said = tables(tmp_path / "both", f"now={out}", f"then={old}")
    assert "then: found logits at single distances, as an earlier version took them, beside others over windows" in said
    assert set(both["curves"].query("curve != 'attended'").checkpoint) == {"now"}
    heads = both["heads"].set_index("checkpoint")
    assert heads.loc["then"][["dist_r", "dist_content", "dist_r_se"]].isna().all().all()
    assert heads.loc["then"].dist_range.notna().all() and heads.loc["now"].dist_r.notna().all()
    assert (heads.loc["now"].dist_r.to_numpy() == alone["heads"].dist_r.to_numpy()).all()
    done = engine.run("merge", out, old, "--out", tmp_path / "sum")
    assert done.code != 0  # the same documents
    two = engine.run("figures", tmp_path / "both" / "qk.csv", "--out", tmp_path / "figures", "--format", "json")
    assert two.code == 0


def test_preferences_are_taken_over_the_smallest_context(tmp_path):
    folder = tiny_models.write(MODELS["smollm3_list_sliding"], tmp_path / "model")
    corpus = tiny_models.write_corpus(tmp_path / "tokens.jsonl", tiny_models.documents())
    long, short = (engine.capture(folder, corpus, tmp_path / f"at{context}", "--sliding", context=context) for context in (CONTEXT, 40))
    both, _ = tables(tmp_path / "both", f"long={long}", f"short={short}")
    alone, _ = tables(tmp_path / "alone", long)
    found = {label: rows.set_index(["layer", "q_head"]) for label, rows in both["heads"].groupby("checkpoint")}
    contexts = {label: set(rows.dist_context.dropna()) for label, rows in found.items()}
    assert contexts == {"long": {40}, "short": {40}}, "NoPE layers have none, the others do not slide"
    assert (alone["heads"].dist_context.dropna() == CONTEXT).all()


def test_preferences_need_no_sums_by_distance(tmp_path):
    """They are arithmetic on sums before RoPE: a capture without logits by distance has them, and the predicted curve."""
    folder, _, out = captured(tmp_path, "gemma3_text")
    less = engine.capture(folder, tmp_path / "tokens.jsonl", tmp_path / "less", "--sliding", "--blocks", BLOCKS, "--no-lags", context=CONTEXT)
    assert not [key for key in load_file(less / "moments.safetensors") if key.startswith("lags")]
    whole, _ = tables(tmp_path / "whole", out)
    found, _ = tables(tmp_path / "found", less)
    for key in ("dist_argmax", "dist_argmax_se", "dist_range", "dist_near", "dist_near_se", "dist_reach", "dist_context"):
        assert found["heads"][key].notna().all()
        pandas.testing.assert_series_equal(found["heads"][key], whole["heads"][key])
    assert found["heads"][["dist_r", "dist_content"]].isna().all().all()
    assert found["heads"].flag.str.contains("no_lags").all()
    predicted = whole["curves"].query("curve == 'dist_pred'").reset_index(drop=True)
    found_curve = found["curves"].query("curve == 'dist_pred'").reset_index(drop=True)
    pandas.testing.assert_frame_equal(found_curve[["layer", "q_head", "x", "x_end", "value"]], predicted[["layer", "q_head", "x", "x_end", "value"]])
