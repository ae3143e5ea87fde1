"""A real model on real text: SmolLM2-135M, a Perl manual, 4,096 tokens, every layer and head."""

import json
import os
import runpy
import struct
import subprocess
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from tokenizers import Tokenizer

import analysis_reference
import engine
import reference

ROOT = Path(__file__).resolve().parents[3]
MODEL = ROOT / ".cache" / "smollm2-135m"
CONTEXT = 4096
LAYERS, HEADS, KV_HEADS = 30, 9, 3


@pytest.fixture(scope="module")
def model():
    runpy.run_path(str(ROOT / "tools" / "make_smollm2.py"))["main"]()
    return MODEL


@pytest.fixture(scope="module")
def manuals():
    """Long manuals of Debian's perl-doc, by name."""
    files = {file.stem: file for file in sorted(Path("/usr/share/perl").glob("*/pod/*.pod"))}
    assert files, "perl-doc is missing: run tools/setup.sh real"
    names = ("perlop", "perlfunc", "perlre", "perlunicode")
    return {name: files[name].read_bytes().decode("utf-8", "replace") for name in names}


def ropewalk_ids(model, text):
    """Token ids from the library itself; the tool's source describes what it reads and writes."""
    tool = Path(os.environ["ROPEWALK_BUILD"]) / "tests" / "tokenize_tool"
    encoded = text.encode()
    given = struct.pack("<I", len(encoded)) + encoded
    done = subprocess.run([tool, model / "tokenizer.json"], input=given, capture_output=True, check=True)
    counts = struct.unpack_from("<3I", done.stdout)
    return list(struct.unpack_from(f"<{sum(counts)}i", done.stdout, 12))


def test_token_ids(model, manuals):
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    for name, text in manuals.items():
        assert ropewalk_ids(model, text) == tokenizer.encode(text).ids, name


def test_queries_and_keys(model, manuals, tmp_path):
    """From text to vectors: largest difference at most 1e-3 of each stream's root mean square."""
    text = manuals["perlop"]
    tokens = Tokenizer.from_file(str(model / "tokenizer.json")).encode(text).ids
    assert len(tokens) >= CONTEXT
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps(dict(id=1, text=text)) + "\n")
    out = engine.capture(model, corpus, tmp_path / "out", context=CONTEXT)

    expected = reference.capture(model, {1: tokens}, CONTEXT)
    assert len(expected) == LAYERS * (HEADS + KV_HEADS)
    assert len(list((out / "vectors").iterdir())) == len(expected)
    errors = {}
    for stream, documents in expected.items():
        truth = documents[1]
        captured = engine.read_stream(out, *stream)[1]  # one at a time: together they are 400 MB
        assert captured.shape == truth.shape == (CONTEXT, 64)
        scale = np.sqrt(np.mean(np.square(truth, dtype=np.float64)))
        errors[stream] = np.abs(captured - truth).max() / scale
    worst = max(errors, key=errors.get)
    assert errors[worst] <= 1e-3, f"layer {worst[0]}, head {worst[1]}, {worst[2]}: {errors[worst]:.2e}"


def test_loss(model, manuals, tmp_path):
    """The loss of four manuals of 1,024 tokens to 1e-4 nats, by position too."""
    context = 1024
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    texts = {i: tokenizer.encode(text).ids[:context] for i, text in enumerate(manuals.values())}
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(dict(id=i, text=text)) + "\n" for i, text in enumerate(manuals.values())))
    out = tmp_path / "loss"
    done = engine.run("loss", model, "--corpus", corpus, "--out", out, "--context", context, "--dtype", "float32", "--quiet", timeout=900)
    assert done.code == 0, done.stderr
    network = reference.load(model)
    with torch.no_grad():
        ids = [torch.tensor([tokens]) for tokens in texts.values()]
        logits = [network(input_ids=one, use_cache=False).logits[0, :-1].double() for one in ids]
    losses = np.stack([torch.nn.functional.cross_entropy(of, one[0, 1:], reduction="none").numpy() for of, one in zip(logits, ids)])
    table = pandas.read_csv(out / "loss.csv")
    assert table.loss[0] == pytest.approx(losses.mean(), abs=1e-4)
    for row in table[1:].itertuples():
        assert row.loss == pytest.approx(losses[:, int(row.position) : int(row.position_end)].mean(), abs=1e-4)
    assert pandas.read_csv(out / "loss_documents.csv").loss.to_numpy() == pytest.approx(losses.mean(1), abs=1e-4)


def test_table(model, tmp_path):
    """qk.csv of 12 manuals of 4,096 tokens, all heads, against transformers and scikit-learn."""
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    texts = {}
    for file in sorted(Path("/usr/share/perl").glob("*/pod/perl*.pod")):
        ids = tokenizer.encode(file.read_bytes().decode("utf-8", "replace")).ids
        if len(ids) >= CONTEXT and file.stem not in texts and len(texts) < 12:
            texts[file.stem] = ids[:CONTEXT]
    assert len(texts) == 12
    documents = dict(enumerate(texts.values()))
    corpus = tmp_path / "tokens.jsonl"
    corpus.write_text("".join(json.dumps(dict(id=i, tokens=t)) + "\n" for i, t in documents.items()))
    out = tmp_path / "out"
    done = engine.run("capture", model, "--corpus", corpus, "--out", out, "--context", CONTEXT, "--dtype", "float32", "--quiet", timeout=900)
    assert done.code == 0, done.stderr
    done = engine.run("analyze", out, "--out", tmp_path / "tables", "--quiet")
    assert done.code == 0, done.stderr
    table = pandas.read_csv(tmp_path / "tables" / "qk.csv")
    assert (table.pc == 0).sum() == LAYERS * HEADS == 270

    streams = reference.capture(model, documents, CONTEXT, fresh=False)
    position = np.tile(np.arange(CONTEXT), len(documents))
    joined = lambda *stream: np.concatenate([streams[stream][i] for i in documents])
    heads = {
        (layer, head): analysis_reference.analyze_head(joined(layer, head, "q"), position, joined(layer, head // 3, "k"), position,
                                                       solver="covariance_eigh")
        for layer in range(LAYERS) for head in range(HEADS)
    }  # fmt: skip
    near = analysis_reference.compare_table(table, heads)
    print("near a decision:", near)
    summary = json.loads((tmp_path / "tables" / "summary.json").read_text())
    (label,) = summary["mean_r_q"]
    pc0 = {head: rows[0] for head, (rows, _) in heads.items()}
    _, r_q, r_k = np.array(list(pc0.values())).T
    for name, value in {"mean_r_q": r_q.mean(), "mean_r_k": r_k.mean(), "mean_abs_r_k": np.abs(r_k).mean(),
                        "sd_r_q": r_q.std(ddof=1), "sd_r_k": r_k.std(ddof=1)}.items():  # fmt: skip
        assert summary[name][label]["value"] == pytest.approx(value, abs=1e-4), name
    # Heads near a threshold may be in either class.
    undecided = sum(1 for layer, head, pc in near if pc == 0)
    classes = [analysis_reference.classify(q, k) for _, q, k in pc0.values()]
    for name in analysis_reference.CLASSES:
        share = summary["taxonomy"][label][name]["value"]
        assert abs(share * len(classes) - classes.count(name)) <= undecided + 1e-6, name
    bins = {head: analysis_reference.depth_bin(head[0], LAYERS - 1) for head in pc0}
    for index, cell in enumerate(summary["depth_r_q"][label]):
        assert cell["value"] == pytest.approx(np.mean([pc0[h][1] for h in pc0 if bins[h] == index]), abs=1e-4)
