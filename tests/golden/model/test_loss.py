"""`ropewalk loss` compared with transformers' logits: every tiny model in float32 to 1e-4 nats, in bfloat16 to a hundredth.

Together they have tied and untied heads, heads with other names, soft caps and scales of logits, ALiBi, sinks and mixtures.
"""

import json
import math
import shutil

import numpy as np
import pandas
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import engine
import tiny_models
from loss_bench import bench, bins, expected, tensors  # noqa: F401 (fixtures)
from tiny_models import CONTEXT, MODELS

NAMES = list(MODELS)
FEW = ["llama_gqa", "gemma2", "gpt2", "bloom", "qwen3_moe", "gpt_oss"]


def assert_close(out, losses, tolerance):
    table = pandas.read_csv(out / "loss.csv")
    every = np.concatenate(losses)
    assert math.isnan(table.position[0]) and math.isnan(table.position_end[0])
    assert table.tokens[0] == len(every)
    assert abs(table.loss[0] - every.mean()) <= tolerance * every.mean()
    by_bin = bins(losses)
    assert table.position[1:].astype(int).tolist() == list(by_bin)
    for row in table[1:].itertuples():
        mean, tokens = by_bin[int(row.position)]
        assert row.tokens == tokens
        assert abs(row.loss - mean) <= tolerance * mean, row
    documents = pandas.read_csv(out / "loss_documents.csv")
    assert documents.tokens.tolist() == [len(loss) for loss in losses]
    for row, loss in zip(documents.itertuples(), losses):
        assert math.isnan(row.loss) if len(loss) == 0 else abs(row.loss - loss.mean()) <= tolerance * loss.mean()


@pytest.mark.parametrize("name", NAMES)
def test_equals_transformers(bench, name):
    folder = bench.folder(name)
    losses = expected(folder, bench.texts, fresh="dynamic" in name)
    assert np.concatenate(losses).std() > 0.05, "not the same for every word"
    assert_close(bench.loss(folder), losses, tolerance=2e-5)


@pytest.mark.parametrize("name", FEW)
def test_in_bfloat16(bench, name):
    assert_close(bench.loss(bench.folder(name), dtype="bfloat16"), expected(bench.folder(name), bench.texts), tolerance=1e-2)


def test_standard_errors(bench):
    """The error over documents of the ratio of two sums; for documents of one length it is the error of a mean."""
    rng = np.random.default_rng(0)
    texts = {i: rng.integers(0, tiny_models.VOCAB, length).tolist() for i, length in enumerate([40, 40, 90, 64, 33, 64, 80, 64, 64, 70])}
    corpus = tiny_models.write_corpus(bench.root / "ten.jsonl", texts)
    table = pandas.read_csv(bench.loss(bench.folder("llama_gqa"), corpus=corpus) / "loss.csv")
    losses = expected(bench.folder("llama_gqa"), texts)
    sums, counts = np.array([loss.sum() for loss in losses]), np.array([len(loss) for loss in losses])
    residual = sums - sums.sum() / counts.sum() * counts
    assert table.loss_se[0] == pytest.approx(math.sqrt(10 / 9 * (residual**2).sum()) / counts.sum(), rel=1e-4)
    first = np.array([loss[16:32].mean() for loss in losses])
    row = table[table.position == 16].iloc[0]
    assert row.loss_se == pytest.approx(first.std(ddof=1) / math.sqrt(10), rel=1e-4)
    assert table.flag.isna()[:5].all()
    assert table.flag.iloc[-1] == "few_documents", "few are as long"
    assert table.documents.iloc[-1] == 3


def test_pieces_of_a_text_are_one_group(bench):
    rng = np.random.default_rng(1)
    texts = {i: rng.integers(0, tiny_models.VOCAB, 128).tolist() for i in range(20)}
    corpus = tiny_models.write_corpus(bench.root / "texts.jsonl", texts)
    out = bench.loss(bench.folder("llama_gqa"), "--chunk", corpus=corpus, context=32)
    documents = pandas.read_csv(out / "loss_documents.csv").sort_values("document")
    assert len(documents) == 80
    with safe_open(out / "moments.safetensors", "numpy") as file:
        cluster = file.get_tensor("document.cluster")
    assert len(set(cluster)) == 20
    means = pandas.Series(documents.loss.to_numpy()).groupby(cluster).mean()
    table = pandas.read_csv(out / "loss.csv")
    assert table.loss_se[0] == pytest.approx(means.std() / math.sqrt(20), rel=1e-6)


def test_shards_merge_to_the_same_numbers(bench):
    whole = bench.loss(bench.folder("smollm3_interval"))
    parts = [bench.loss(bench.folder("smollm3_interval"), "--shard", f"{i}/3") for i in range(3)]
    merged = bench.root / "merged"
    done = engine.run("merge", parts[2], parts[0], parts[1], "--out", merged, "--quiet")
    assert done.code == 0, done.stderr
    for name in ("loss.csv", "loss_documents.csv", "moments.safetensors"):
        assert (merged / name).read_bytes() == (whole / name).read_bytes(), name


def test_memory_changes_nothing(bench):
    for name in ("llama_llama3_mha", "mixtral"):
        plenty = bench.loss(bench.folder(name))
        inspected = json.loads(engine.run("inspect", bench.folder(name), "--json", "--context", CONTEXT, "--dtype", "float32").stdout)
        little = inspected["weights"]["needed_bytes"] * 2 // 3
        tight = bench.loss(bench.folder(name), "--memory", little)
        assert (tight / "loss.csv").read_bytes() == (plenty / "loss.csv").read_bytes()


def test_weights_belong_together(bench, tmp_path):
    """A loss and a capture of all heads state the same digest of weights; the head has a digest of its own."""
    folder = bench.folder("llama_gqa")
    described = json.loads((bench.loss(folder) / "capture.json").read_text())
    captured = engine.capture(folder, bench.corpus, tmp_path / "capture", context=CONTEXT)
    assert described["weights"] == json.loads((captured / "capture.json").read_text())["weights"]
    changed = tmp_path / "changed"
    shutil.copytree(folder, changed)
    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = tensors["lm_head.weight"] + 1
    save_file(tensors, changed / "model.safetensors", metadata={"format": "pt"})
    other = json.loads((bench.loss(changed) / "capture.json").read_text())
    assert other["weights"] == described["weights"]
    assert other["head_weights"] != described["head_weights"]
    shards = [bench.loss(model, "--shard", f"{i}/2") for i, model in enumerate([folder, changed])]
    done = engine.run("merge", *shards, "--out", tmp_path / "merged", "--quiet")
    assert done.code == 3 and "head_weights is" in done.stderr


def test_bad_input(bench, tmp_path):
    folder = bench.folder("llama_gqa")
    assert "found a context of 1, in which no token predicts another" in bench.refused(folder, "--context", 1, code=2)
    short = tiny_models.write_corpus(tmp_path / "short.jsonl", {1: [5, 6, 7]})
    assert "no document has 128 tokens" in bench.refused(folder, "--context", 128, corpus=short, code=3)
    assert "no document has a second token" in bench.refused(
        folder, "--context", 8, "--min-tokens", 1, corpus=tiny_models.write_corpus(tmp_path / "one.jsonl", {1: [5], 2: [6]}), code=3
    )
    headless = tmp_path / "headless"
    shutil.copytree(folder, headless)
    tensors = load_file(folder / "model.safetensors")
    del tensors["lm_head.weight"]
    save_file(tensors, headless / "model.safetensors", metadata={"format": "pt"})
    assert "has no head, and config.json does not tie it to the embeddings" in bench.refused(headless, "--context", 64, "--min-tokens", 1, code=3)
    assert engine.capture(headless, bench.corpus, tmp_path / "capture", context=64), "a capture needs none"
    tensors["lm_head.weight"] = torch.ones(tiny_models.VOCAB - 1, 48)
    save_file(tensors, headless / "model.safetensors", metadata={"format": "pt"})
    message = bench.refused(headless, "--context", 64, "--min-tokens", 1, code=3)
    assert "'lm_head.weight' has shape [96, 48], expected [97, 48]" in message
    tensors["lm_head.weight"] = torch.full((tiny_models.VOCAB, 48), 1e38)
    save_file(tensors, headless / "model.safetensors", metadata={"format": "pt"})
    assert "the loss of document 0 is not finite" in bench.refused(headless, "--context", 64, "--min-tokens", 1, code=3)
    # mllama has embeddings of words that its head cannot predict
    words = tiny_models.write_corpus(tmp_path / "words.jsonl", {1: [5, tiny_models.VOCAB + 1, 7]})
    assert "98" in bench.refused(bench.folder("mllama_text"), "--context", 8, "--min-tokens", 1, corpus=words, code=3)


def test_is_no_capture_of_moments(bench, tmp_path):
    out = bench.loss(bench.folder("llama_gqa"))
    done = engine.run("analyze", out, "--out", tmp_path / "tables", "--quiet")
    assert done.code == 3 and "holds the loss of documents but no moments" in done.stderr
    capture = engine.capture(bench.folder("llama_gqa"), bench.corpus, tmp_path / "capture", context=CONTEXT)
    done = engine.run("merge", out, capture, "--out", tmp_path / "merged", "--quiet")
    assert done.code == 3 and "cannot be merged" in done.stderr


def test_documents_that_begin_alike_have_no_error(bench):
    rng = np.random.default_rng(4)
    same = rng.integers(0, tiny_models.VOCAB, 8).tolist()
    texts = {i: same + rng.integers(0, tiny_models.VOCAB, 32).tolist() for i in range(12)}
    corpus = tiny_models.write_corpus(bench.root / "alike.jsonl", texts)
    table = pandas.read_csv(bench.loss(bench.folder("llama_gqa"), corpus=corpus, context=40) / "loss.csv").set_index("position")
    assert table.loss_se.isna()[[0, 1, 2]].all() and (table.flag[[0, 1, 2]] == "no_se").all()
    assert (table.loss_se[[8, 16]] > 1e-3).all() and table.flag[[8, 16]].isna().all()
