"""Ablations that are interrupted, resumed elsewhere, or refused."""

import json
import math
import os
import shutil
import signal
import subprocess
import time

import numpy as np
import pandas
import pytest
import torch
from safetensors.torch import load_file, save_file

import engine
import plain_models
import tiny_models
from ablate_bench import CONTEXT, SETS, TABLES, WIDE, bench, make_texts, whole  # noqa: F401 (fixtures)
from tiny_models import MODELS


def test_goes_on_after_an_interruption(bench, whole, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    files = sorted(path for path in (out / "edits").iterdir() if not path.name.startswith("unedited"))
    for path in files[::3]:
        path.unlink()
    files[1].write_text(files[1].read_text()[:50])
    for name in TABLES:
        (out / name).unlink()
    kept = {path: path.stat().st_mtime_ns for path in files if path.exists() and path != files[1]}
    done = engine.run(*bench.command(out, SETS, "distance,window:6,head:zero")[:-1], timeout=600)
    assert done.code == 0 and "is damaged; its edit is measured again" in done.stderr
    for name in TABLES:
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name
    assert kept == {path: path.stat().st_mtime_ns for path in kept}
    bench.run("layer:2", "distance,axis", out=out)
    assert kept == {path: path.stat().st_mtime_ns for path in kept}, "another question takes what is there"
    assert pandas.read_csv(out / "ablate.csv").edit.tolist() == ["distance", "axis"]


def test_ctrl_c_keeps_what_is_done(bench, tmp_path):
    out = tmp_path / "out"
    sets, edits = ["0.1,2.3", "0.4,4.5"], "distance,window:6,axis,flatten"
    many = tiny_models.write_corpus(tmp_path / "many.jsonl", make_texts(3, 60))
    command = [engine.program(), *map(str, bench.command(out, sets, edits, "--memory", "2MB", corpus=many))]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < until and len(list(out.glob("edits/*.json"))) < 3:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    if process.returncode == 0:
        pytest.skip("it was done before it could be interrupted")
    assert process.returncode == 130, said
    assert not (out / "ablate.csv").exists() and not list(out.glob("**/.*tmp*"))
    done = {path: path.stat().st_mtime_ns for path in out.glob("edits/*.json") if not path.name.startswith("unedited")}
    bench.run(sets, edits, out=out, corpus=many)
    assert done == {path: path.stat().st_mtime_ns for path in done}
    straight = bench.run(sets, edits, corpus=many)
    for name in TABLES:
        assert (out / name).read_bytes() == (straight / name).read_bytes(), name


def test_a_kill_loses_a_round_at_most(bench, tmp_path):
    """Killed repeatedly without a chance to clean up: the numbers are those of an undisturbed run."""
    sets, edits, out = ["0.1,2.3", "top:r2cv_k:20%:kv"], "distance,still:40,head:zero", tmp_path / "out"
    options = ("--memory", "2MB", "--controls", 3)
    command = [engine.program(), *map(str, bench.command(out, sets, edits, *options))]
    kills = 0
    for files in (1, 7, 20):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 300
        while process.poll() is None and time.monotonic() < until and len(list(out.glob("edits/*.json"))) < files:
            time.sleep(0.002)
        process.kill()
        kills += process.wait() < 0
    assert kills > 0, "it was done before it could be killed"
    bench.run(sets, edits, *options, out=out)
    straight = bench.run(sets, edits, *options)
    for name in TABLES:
        assert (out / name).read_bytes() == (straight / name).read_bytes(), name


def test_an_edit_of_other_numbers_is_another(bench, whole, tmp_path):
    """The same name and heads, but made from sums that have changed."""
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    numbers = {}
    for path in (out / "edits").iterdir():
        file = json.loads(path.read_text())
        numbers.setdefault(file["edit"], set()).add(file["numbers"])
        if file["edit"] == "distance":
            path.write_text(json.dumps({**file, "numbers": "0" * 64, "loss": (np.array(file["loss"]) + 1).tolist()}))
    assert len(numbers["distance"]) > 20 and len(numbers["window:6"]) == 1 and numbers["unedited"] == {""}
    bench.run(SETS, "distance,window:6,head:zero", out=out)
    for name in TABLES:
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name


def test_dry_run(bench, whole):
    done = engine.run(*bench.command(bench.root / "dry", ["0.1,2.3", "layer:2"], "distance,window:6"), "--dry-run")
    assert done.code == 0, done.stderr
    assert not (bench.root / "dry").exists()
    assert "layer:2 " in done.stdout and "6 documents of 64 tokens" in done.stdout
    assert "0 of 66 edits of heads are finished" in done.stdout, "a set of 20 controls and one without, two edits and removal"
    hidden = 17 * CONTEXT * WIDE.config["hidden_size"] * 4
    assert "in 5 rounds" in done.stdout and f"({hidden / 1024:.1f} KiB of hidden states per document)" in done.stdout, "of sixteen edits and the pass without"
    again = engine.run(*bench.command(whole, ["0.1,2.3", "layer:2"], "distance,window:6"), "--dry-run")
    assert "66 of 66 edits of heads are finished; the others cost 0.0 unedited passes" in again.stdout


def test_documents_of_the_capture_are_refused(bench, tmp_path):
    mixed = tiny_models.write_corpus(tmp_path / "mixed.jsonl", {**make_texts(2, 3), **{i + 5: tokens for i, tokens in make_texts(1, 2).items()}})
    assert "2 of 5 documents were also read for" in bench.refused("layer:0", "head", corpus=mixed, code=3)


def test_a_model_that_moved(bench, tmp_path):
    model = tmp_path / "here"
    shutil.copytree(bench.model, model)
    capture = bench.captured(model, tmp_path / "capture")
    model.rename(tmp_path / "there")
    assert "its model is no longer at" in bench.refused("layer:0", "head", capture=capture, code=3)
    out = bench.run("layer:0", "window:6", "--model", tmp_path / "there", "--controls", 1, capture=capture)
    straight = bench.run("layer:0", "window:6", "--controls", 1)
    for name in TABLES:
        mine, theirs = (pandas.read_csv(folder / name).drop(columns="model") for folder in (out, straight))
        pandas.testing.assert_frame_equal(mine, theirs)
    tensors = load_file(tmp_path / "there" / "model.safetensors")
    tensors["model.layers.1.mlp.up_proj.weight"] = tensors["model.layers.1.mlp.up_proj.weight"] + 1
    save_file(tensors, tmp_path / "there" / "model.safetensors", metadata={"format": "pt"})
    refused = bench.refused("layer:0", "head", "--model", tmp_path / "there", capture=capture, code=3)
    assert "was made from other weights than these" in refused
    with_loss = bench.captured(bench.model, tmp_path / "with-loss", "--loss")
    shutil.copytree(bench.model, tmp_path / "normed")
    tensors = load_file(bench.model / "model.safetensors")
    tensors["model.norm.weight"] = tensors["model.norm.weight"] + 1
    save_file(tensors, tmp_path / "normed" / "model.safetensors", metadata={"format": "pt"})
    refused = bench.refused("layer:0", "head", "--model", tmp_path / "normed", capture=with_loss, code=3)
    assert "was made from other weights than these" in refused, "the capture knows the head too, by the loss"
    other = plain_models.write(MODELS["llama_gqa"], tmp_path / "other")
    assert "belongs to another model than" in bench.refused("layer:0", "head", "--model", other, capture=capture, code=3)


def test_the_folder_belongs_to_its_documents(bench, whole, tmp_path):
    others = tiny_models.write_corpus(tmp_path / "more.jsonl", make_texts(2, 7))
    assert "holds edits of another ablation (documents:" in bench.refused("layer:0", "window:6", corpus=others, out=whole, code=2)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    assert "is not empty" in bench.refused("layer:0", "window:6", out=tmp_path / "full", code=2)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["letter.txt"]


def test_bad_input(bench, tmp_path):
    refused = bench.refused
    assert "'5.0': the capture has no head 5.0; its layers go up to 4" in refused("5.0", "head", code=2)
    assert "'0.0,0.8': the capture has no head 0.8" in refused("0.0,0.8", "head", code=2)
    assert "'layer:9': the capture has no head of layer 9" in refused("layer:9", "head", code=2)
    assert "'class:q-positional': has no head" in refused("class:q-positional", "head", code=2)
    assert "did you mean dist_range?" in refused("top:dist_rang:10%", "head", code=2)
    assert "'top:ap_overall:10%': has no head: no head of the capture has a number 'ap_overall'" in refused("top:ap_overall:10%", "head", code=2)
    assert "--edit 'window:0': found '0', expected a whole number of tokens of at least 1" in refused("layer:0", "window:0", code=2)
    assert "--edit 'prune': is not an edit" in refused("layer:0", "distance,prune", code=2)
    assert "has no RoPE" in refused("layer:1", "still:40", code=2)
    short = tiny_models.write_corpus(tmp_path / "short.jsonl", {1: [5, 6, 7]})
    assert "no document has 64 tokens" in refused("layer:0", "head", corpus=short, code=3)
    one = tiny_models.write_corpus(tmp_path / "one.jsonl", make_texts(2, 1))
    assert "'head': needs the mean over other documents, but there is only one document" in refused("layer:0", "head", corpus=one, code=2)
    words = tiny_models.write_corpus(tmp_path / "words.jsonl", {1: [tiny_models.VOCAB + 3] * CONTEXT, 2: [5] * CONTEXT})
    assert "100" in refused("layer:0", "head", corpus=words, code=3)
    plain = bench.captured(bench.model, tmp_path / "plain", "--no-pre-rope")
    message = refused("layer:0", "window:6,distance", capture=plain, code=3)
    assert "has no sums before RoPE, which the edit 'distance' needs" in message
    assert bench.run("layer:0", "window:6", "--controls", 0, capture=plain), "others need none"
    loss = tmp_path / "loss"
    done = engine.run("loss", bench.model, "--corpus", bench.corpus, "--out", loss, "--context", CONTEXT, "--quiet")
    assert done.code == 0, done.stderr
    assert "holds the loss of documents but no moments" in refused("layer:0", "head", capture=loss, code=3)
    assert "cannot open" in refused("layer:0", "head", capture=tmp_path / "nowhere", code=4)
    one_only = bench.run("layer:0", "window:6", "--controls", 0, corpus=one)
    row = pandas.read_csv(one_only / "ablate.csv").iloc[0]
    assert math.isnan(row.removal) and math.isnan(row.dloss_se) and "no_se" in row.flag


def test_headless_weights_are_refused(bench, tmp_path):
    model = tmp_path / "headless"
    shutil.copytree(plain_models.write(MODELS["llama_gqa"], tmp_path / "llama"), model)
    tensors = load_file(model / "model.safetensors")
    del tensors["lm_head.weight"]
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})
    capture = bench.captured(model, tmp_path / "capture")
    assert "has no head, and config.json does not tie it to the embeddings" in bench.refused("layer:0", "head", capture=capture, code=3)
    tensors["lm_head.weight"] = torch.ones(tiny_models.VOCAB - 1, 48)
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})
    assert "'lm_head.weight' has shape [96, 48], expected [97, 48]" in bench.refused("layer:0", "head", capture=capture, code=3)


def test_captures_say_where_they_were_made(bench, tmp_path):
    described = json.loads((bench.capture / "capture.json").read_text())
    assert described["source"] == {"model": os.path.abspath(bench.model)}
    renamed = tiny_models.write_corpus(tmp_path / "renamed.jsonl", make_texts(1, 12))
    renamed.write_text(renamed.read_text().replace('"tokens"', '"ids"'))
    out = tmp_path / "capture"
    done = engine.run("capture", bench.model, "--corpus", renamed, "--field", "ids", "--out", out, "--context", CONTEXT, "--dtype", "float32", "--quiet")
    assert done.code == 0, done.stderr
    assert json.loads((out / "capture.json").read_text())["source"]["field"] == "ids"
    assert (out / "moments.safetensors").read_bytes()[:8] != b"", "and the moments are the same wherever the model lies"
    others = tiny_models.write_corpus(tmp_path / "others.jsonl", make_texts(2, 3))
    others.write_text(others.read_text().replace('"tokens"', '"ids"'))
    assert bench.run("layer:0", "window:6", "--controls", 0, capture=out, corpus=others)
