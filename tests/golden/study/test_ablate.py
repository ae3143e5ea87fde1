"""`ropewalk ablate`: how its edits are computed, what its tables contain, what it refuses, and that it resumes after an interruption."""

import dataclasses
import hashlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pandas
import pytest
import torch
from safetensors.torch import load_file, save_file

import edit_reference
import engine
import plain_models
import reference
import tiny_models
from tiny_models import MODELS

CONTEXT = 64
SETS = ["0.1,2.3", "top:dist_range:10%", "layer:2"]
TABLES = ("ablate.csv", "ablate_positions.csv", "ablate_documents.csv", "ablate_controls.csv")
# Five layers, of which 1 and 3 have no RoPE, with eight query heads: enough for twenty different control sets.
WIDE = dataclasses.replace(
    MODELS["smollm3_interval"], dtype="float32", config={**MODELS["smollm3_interval"].config, "hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 4}
)


def make_texts(seed, count, length=CONTEXT + 10):
    rng = np.random.default_rng(seed)
    return {i: rng.integers(0, tiny_models.VOCAB, length).tolist() for i in range(count)}


class Bench:
    def __init__(self, root):
        self.root = root
        self.model = plain_models.write(WIDE, root / "model")
        self.corpus = tiny_models.write_corpus(root / "read.jsonl", make_texts(1, 12))
        self.others = tiny_models.write_corpus(root / "others.jsonl", make_texts(2, 6))
        self.capture = self.captured(self.model, root / "capture")
        self.count = 0

    def captured(self, model, out, *options):
        done = engine.run("capture", model, "--corpus", self.corpus, "--out", out, "--context", CONTEXT, "--dtype", "float32", "--label", "tiny", "--quiet", *options)
        assert done.code == 0, done.stderr
        return out

    def command(self, out, sets, edits, *options, capture=None, corpus=None):
        heads = [word for one in ([sets] if isinstance(sets, str) else sets) for word in ("--heads", one)]
        return ["ablate", capture or self.capture, "--corpus", corpus or self.others, *heads, "--edit", edits,
                "--out", out, "--format", "json", "--quiet", *options]  # fmt: skip

    def run(self, sets, edits, *options, out=None, **files):
        self.count += 1
        out = out or self.root / f"out-{self.count}"
        done = engine.run(*self.command(out, sets, edits, *options, **files), timeout=600)
        assert done.code == 0, done.stderr
        return out

    def refused(self, sets, edits, *options, code, out=None, **files):
        """The one line of an error; nothing may have been written."""
        folder = out or self.root / "refused"
        done = engine.run(*self.command(folder, sets, edits, *options, **files), timeout=600)
        assert done.code == code, done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        assert out or not folder.exists()
        return done.stderr


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("ablate"))


@pytest.fixture(scope="module")
def whole(bench):
    """Two sets, of which one has all its controls, and several edits."""
    return bench.run(SETS, "distance,window:6,head:zero")


def finished(out):
    """{(edit, heads): (loss, kl)}, sums of [documents, bins]."""
    files = [json.loads(path.read_text()) for path in sorted((out / "edits").iterdir())]
    return {(file["edit"], file["heads"]): (np.array(file["loss"]), np.array(file.get("kl", 0.0))) for file in files}


def test_tables_follow_from_what_was_measured(bench, whole):
    """Every number of ablate.csv, computed a second time with numpy from the sums of each document."""
    sums, tokens = finished(whole), CONTEXT - 1
    base = sums["unedited", ""][0].sum(1) / tokens
    table, controls = pandas.read_csv(whole / "ablate.csv"), pandas.read_csv(whole / "ablate_controls.csv")
    assert len(table) == 9
    changes = lambda edit, heads: sums[edit, heads][0].sum(1) / tokens - base  # noqa: E731
    for row in table.itertuples():
        mine = controls[(controls.set == row.set) & (controls.edit == row.edit)]
        heads = mine[mine.draw.isna()].members.item()
        assert row.heads == len(heads.split(","))
        change, removal = changes(row.edit, heads), changes("head", heads)
        assert row.loss == pytest.approx(base.mean(), rel=1e-8)
        assert row.dloss == pytest.approx(change.mean(), rel=1e-7, abs=1e-9)
        assert row.dloss_se == pytest.approx(change.std(ddof=1) / math.sqrt(6), rel=1e-6)
        assert row.kl == pytest.approx(sums[row.edit, heads][1].sum() / (6 * tokens), rel=1e-6)
        assert row.removal == pytest.approx(removal.mean(), rel=1e-7, abs=1e-9)
        drawn = mine[mine.draw.notna()].members.tolist()
        assert row.controls == len(drawn) == len(set(drawn))
        others = np.array([changes(row.edit, heads).mean() for heads in drawn])
        if row.set == "layer:2":
            assert row.controls == 0 and math.isnan(row.p) and math.isnan(row.real) and "controls_moved" in row.flag
            continue
        assert row.control == pytest.approx(others.mean(), rel=1e-7, abs=1e-9)
        if row.controls > 1:
            assert row.control_sd == pytest.approx(others.std(ddof=1), rel=1e-6)
        assert row.p == pytest.approx((1 + (others >= change.mean()).sum()) / (1 + len(others)))
        if "small_removal" not in row.flag:
            assert row.of_removal == pytest.approx(change.sum() / removal.sum(), rel=1e-6)
            without = [np.delete(change, i).sum() / np.delete(removal, i).sum() for i in range(6)]
            assert row.of_removal_se == pytest.approx(math.sqrt(5 / 6 * ((without - np.mean(without)) ** 2).sum()), rel=1e-6)
    assert (table.controls == 20).any()


def test_positions_and_documents(whole):
    sums = finished(whole)
    base = sums["unedited", ""][0]
    positions, documents = pandas.read_csv(whole / "ablate_positions.csv"), pandas.read_csv(whole / "ablate_documents.csv")
    controls = pandas.read_csv(whole / "ablate_controls.csv")
    heads = controls[(controls.set == "0.1,2.3") & controls.draw.isna()].members.iloc[0]
    mine = positions[(positions.set == "0.1,2.3") & (positions.edit == "window:6")]
    assert mine.position.tolist() == [0, 1, 2, 4, 8, 16, 32]
    assert mine.position_end.tolist() == [1, 2, 4, 8, 16, 32, 64]
    assert mine.tokens.tolist() == [6 * n for n in (1, 1, 2, 4, 8, 16, 31)]
    change = sums["window:6", heads][0] - base
    assert mine.dloss.tolist() == pytest.approx((change.sum(0) / (mine.tokens / 6).to_numpy() / 6).tolist(), rel=1e-7, abs=1e-9)
    assert mine.dloss.iloc[:4].tolist() == pytest.approx([0, 0, 0, 0], abs=1e-5), "nothing lies so far before the first tokens"
    assert abs(mine.dloss.iloc[-1]) > 1e-4
    mine = documents[(documents.set == "0.1,2.3") & (documents.edit == "window:6")]
    assert mine.dloss.tolist() == pytest.approx((change.sum(1) / (CONTEXT - 1)).tolist(), rel=1e-7, abs=1e-9)
    assert len(set(mine.digest)) == 6


def test_control_sets_match_layers(whole):
    controls = pandas.read_csv(whole / "ablate_controls.csv")
    for name in SETS[:2]:
        mine = controls[(controls.set == name) & (controls.edit == "distance")]
        chosen = mine[mine.draw.isna()].members.item().split(",")
        layers = sorted(head.split(".")[0] for head in chosen)
        for members in mine[mine.draw.notna()].members:
            assert not set(members.split(",")) & set(chosen)
            assert sorted(head.split(".")[0] for head in members.split(",")) == layers


HEADS = [(0, 1), (2, 0), (2, 3)]  # two of the four share a key


def rotation(network, config):
    """Pairs of dimensions, radians per token, the factor of the rotation, and the scale of queries at a position."""
    turns = network.model.rotary_emb
    angles, width = turns.inv_freq.double().numpy(), config["head_dim"]
    count = len(angles)
    pairs = [(2 * f, 2 * f + 1) if config["interleaved"] else (f, f + count) for f in range(count)]
    rest = [i for i in range(width) if i >= 2 * count]
    rope = config["rope_parameters"]
    beta, original = rope.get("llama_4_scaling_beta", 0), rope.get("original_max_position_embeddings", 1)
    return pairs, rest, angles, turns.attention_scaling, lambda t: 1 + beta * np.log(1 + np.floor(t / original))


def expected_edits(name, folder, texts):
    """Preferences of distance, slopes and axes of heads, from what transformers computes for the capture's documents."""
    network = reference.load(folder)
    config = dict(MODELS[name].config, interleaved=name == "glm")
    pairs, rest, angles, factor, scaling = rotation(network, config)
    before, after = (reference.capture(folder, texts, CONTEXT, pre_rope=early) for early in (True, False))
    scale, t = network.model.layers[0].self_attn.scaling, np.arange(CONTEXT)
    centre = lambda key: np.concatenate([x.astype(float)[4:] for x in before[key].values()]).mean(0)  # noqa: E731
    drift = lambda key: np.mean([(x.astype(float) * (t - t.mean())[:, None]).mean(0) for x in after[key].values()], 0)  # noqa: E731
    mean = lambda key: np.mean([x.astype(float).mean(0) for x in after[key].values()], 0)  # noqa: E731
    logits, slopes, axes = {}, dict(q={}, k={}), {}
    for layer, head in HEADS:
        q, k = (layer, head, "q"), (layer, head // 2, "k")
        zq, zk = ([complex(centre(key)[i], centre(key)[j]) for i, j in pairs] for key in (q, k))
        mean_scale = np.array([scaling(np.arange(4 + d, CONTEXT)).mean() if d < CONTEXT - 4 else 1 for d in t])
        turning = sum(factor**2 * (a * b.conjugate() * np.exp(1j * theta * t)).real for a, b, theta in zip(zq, zk, angles))
        logits[f"{layer}.{head}"] = (scale * mean_scale * (turning + centre(q)[rest] @ centre(k)[rest])).tolist()
        slopes["q"][f"{layer}.{head}"] = (drift(q) / t.var()).tolist()
        slopes["k"][f"{layer}.{head // 2}"] = (drift(k) / t.var()).tolist()
        both = drift(q) + drift(k)
        axes[f"{layer}.{head}"] = dict(axis=(both / np.linalg.norm(both)).tolist(), mean_q=mean(q).tolist(), mean_k=mean(k).tolist())
    flat = dict(kind="flatten", mean_position=t.mean())
    return {
        "distance": dict(kind="distance", logits=logits, keep_mass=True), "distance:mean": dict(kind="distance", logits=logits, keep_mass=False),
        "flatten": dict(flat, **slopes), "flatten:k": dict(flat, q={}, k=slopes["k"]), "axis": dict(kind="axis", axes=axes),
        "window:5": dict(kind="window", tokens=5), "head": dict(kind="head"), "head:zero": dict(kind="head:zero"),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["llama_gqa", "gemma2", "glm", "ministral3"])
def test_edits_are_made_of_what_the_capture_measured(bench, name, tmp_path):
    """Every edit compared with transformers with our own attention function, with numbers computed here."""
    folder = tiny_models.write(MODELS[name], tmp_path / "model")
    capture = bench.captured(folder, tmp_path / "capture", "--sliding")
    edits = expected_edits(name, folder, make_texts(1, 12))
    out = bench.run(",".join(f"{layer}.{head}" for layer, head in HEADS), ",".join(edits), "--controls", 0, "--documents", 3, capture=capture)
    found = pandas.read_csv(out / "ablate_documents.csv")
    truth = edit_reference.Edited(folder, [tokens[:CONTEXT] for tokens in make_texts(2, 3).values()])
    plain = np.array([loss.mean() for loss in truth.measure(None)[0]])
    for edit, numbers in edits.items():
        losses, divergences = truth.measure(dict(numbers, heads=[list(head) for head in HEADS]))
        mine = found[found.edit == edit]
        assert mine.loss.to_numpy() == pytest.approx(plain, abs=1e-4)
        change = np.array([loss.mean() for loss in losses]) - plain
        assert np.abs(change).max() > 2e-4, f"{edit} changes something that is seen"
        assert mine.dloss.to_numpy() == pytest.approx(change, abs=1e-5), edit
        assert mine.kl.to_numpy() == pytest.approx([kl.mean() for kl in divergences], abs=1e-5), edit


def test_a_models_own_bias_of_distance_counts(bench, tmp_path):
    """ALiBi prefers near tokens like a rotating mean could; the edit removes this too."""
    capture = bench.captured(tiny_models.write(MODELS["bloom"], tmp_path / "model"), tmp_path / "capture")
    table = pandas.read_csv(bench.run("layer:1", "distance", "--controls", 0, capture=capture) / "ablate.csv")
    assert table.kl[0] > 1e-6


def test_edits_that_change_nothing(bench):
    """The loss is equal bit for bit, also for heads whose logits do not depend on distance."""
    out = bench.run("0.0,2.1", f"window:{CONTEXT},still:inf,zero-band:inf", "--controls", 0)
    nope = bench.run("1.0,3.2", "distance", "--controls", 0)
    for folder in (out, nope):
        sums = finished(folder)
        base = sums["unedited", ""][0]
        for (edit, _), (loss, kl) in sums.items():
            if edit in ("unedited", "head"):
                continue
            assert (loss == base).all() and (kl == 0).all(), edit
    assert (pandas.read_csv(nope / "ablate.csv").dloss == 0).all()


def test_sets_are_those_of_heads_csv(bench, tmp_path):
    done = engine.run("analyze", bench.capture, "--out", tmp_path / "tables", "--quiet")
    assert done.code == 0, done.stderr
    heads = pandas.read_csv(tmp_path / "tables" / "heads.csv")
    ranked = heads.sort_values("dist_range", ascending=False)[:4]
    out = bench.run(["top:dist_range:10%", "bottom:r2cv_k:50%:kv"], "window:6", "--controls", 0)
    members = pandas.read_csv(out / "ablate_controls.csv").set_index("set").members
    assert set(members["top:dist_range:10%"].split(",")) == {f"{row.layer}.{row.q_head}" for row in ranked.itertuples()}
    groups = heads.assign(kv=heads.q_head // 2).groupby(["layer", "kv"]).r2cv_k.max().sort_values()[:10].index
    expected = {f"{layer}.{2 * kv + i}" for layer, kv in groups for i in (0, 1)}
    assert set(members["bottom:r2cv_k:50%:kv"].split(",")) == expected
    table = pandas.read_csv(out / "ablate.csv").set_index("set")
    assert (table.overlap <= 1).all() and (table.overlap > table.overlap_chance).all()
    assert table.overlap_chance["bottom:r2cv_k:50%:kv"] == pytest.approx(10 / 30)


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


def test_pieces_of_a_text_are_one_group(bench, tmp_path):
    texts = tiny_models.write_corpus(tmp_path / "texts.jsonl", make_texts(4, 20, length=2 * CONTEXT))
    out = bench.run("layer:0", "window:6", "--chunk", "--controls", 0, corpus=texts)
    documents = pandas.read_csv(out / "ablate_documents.csv")
    assert len(documents) == 40
    table = pandas.read_csv(out / "ablate.csv")
    texts = documents.groupby("group").dloss.mean()
    assert len(texts) == 20
    assert table.dloss_se[0] == pytest.approx(texts.std() / math.sqrt(20), rel=1e-6)


def test_the_figure_draws_the_table(whole):
    spec = json.loads((whole / "figures" / "ablate.vl.json").read_text())
    table = pandas.read_csv(whole / "ablate.csv")
    assert len(spec["vconcat"]) == 3
    for number, edit in enumerate(["distance", "window:6", "head:zero"]):
        rows = spec["datasets"][f"edit {number}"]
        mine = table[table.edit == edit]
        drawn = [row["value"] for row in rows if row["kind"].startswith("the set")]
        assert drawn == pytest.approx(mine.dloss.tolist(), rel=1e-6)
        assert sum(row["kind"].startswith("random") for row in rows) == mine.controls.sum()


def test_bad_input(bench, tmp_path):
    refused = bench.refused
    assert "'5.0': the capture has no head 5.0; its layers go up to 4" in refused("5.0", "head", code=2)
    assert "'0.0,0.8': the capture has no head 0.8" in refused("0.0,0.8", "head", code=2)
    assert "'layer:9': the capture has no head of layer 9" in refused("layer:9", "head", code=2)
    assert "'class:q-positional': holds no head" in refused("class:q-positional", "head", code=2)
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


def test_memory_changes_nothing(bench, whole):
    tight = bench.run(["0.1,2.3", "layer:2"], "distance,head:zero", "--memory", "3MB")
    mine, theirs = finished(tight), finished(whole)
    shared = mine.keys() & theirs.keys()
    assert len(shared) > 40
    for key in shared:
        assert all((a == b).all() for a, b in zip(mine[key], theirs[key])), key


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


class Study:
    """Two checkpoints and fresh weights of the same shape, on documents of tokens."""

    def __init__(self, root):
        self.root = root
        for label in ("a", "b"):
            plain_models.write(dataclasses.replace(WIDE, seed=ord(label)), root / label)
        self.texts = make_texts(7, 16)
        tiny_models.write_corpus(root / "tokens.jsonl", self.texts)

    def write(self, name, ablate, documents=12, corpus=(), checkpoints=("a", "b"), **settings):
        checkpoints = [dict(label="init", random=1), *(dict(label=label, path=label) for label in checkpoints)]
        phases = [dict(name="P", context=CONTEXT, checkpoints=checkpoints)]
        corpus = {"path": "tokens.jsonl", **({} if documents is None else dict(documents=documents)), **dict(corpus)}
        experiment = dict(name="Needs", corpus=corpus, dtype="float32", phases=phases, ablate=ablate, **settings)
        (self.root / f"{name}.yaml").write_text(json.dumps({key: value for key, value in experiment.items() if value is not None}))
        return self.root / f"{name}.yaml"

    def run(self, experiment, out, *options):
        return engine.run("run", experiment, "--out", out, "--format", "json", *options, timeout=600)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("study"))


ABLATE = dict(sets=["top:dist_range:10%", "0.0,2.1"], edits=["distance", "window:6"], documents=4, controls=2)


def test_in_an_experiment(study, bench, tmp_path):
    """Every checkpoint's own heads, on the entries after the study's documents; the verb gives the same numbers."""
    experiment = study.write("study", ABLATE)
    dry = study.run(experiment, tmp_path / "dry", "--dry-run")
    assert dry.code == 0 and "2 edits of 2 sets in each checkpoint, compared with 2 random sets, on 4 documents more: up to 18 edited passes" in " ".join(dry.stdout.split())
    out = tmp_path / "out"
    done = study.run(experiment, out)
    assert done.code == 0, done.stderr
    table = pandas.read_csv(out / "ablate.csv")
    assert list(dict.fromkeys(table.checkpoint)) == ["init", "a", "b"]
    assert len(table) == 12 and (table.documents == 4).all() and (table.model == "Needs").all()
    assert table.flag[table.checkpoint == "init"].str.contains("random_weights").all()
    rest = tiny_models.write_corpus(tmp_path / "rest.jsonl", {i: study.texts[i] for i in range(12, 16)})
    alone = bench.run(ABLATE["sets"], "distance,window:6", "--controls", 2, capture=out / "checkpoints" / "b", corpus=rest)
    mine = table[table.checkpoint == "b"].reset_index(drop=True)
    numbers = [column for column in table.select_dtypes("number") if column != "order"]
    pandas.testing.assert_frame_equal(mine[numbers], pandas.read_csv(alone / "ablate.csv")[numbers], check_dtype=False)
    assert (out / "figures" / "ablate.vl.json").exists() and (out / "figures" / "ablate_training.vl.json").exists()
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["settings"]["ablate"]["sets"] == ABLATE["sets"] and "ablate.csv" in manifest["ablate"]["files"]
    if manifest.get("report"):  # a program may be built without the page
        drawn = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', (out / "report.html").read_text(), re.S)[1])
        assert {"ablate", "ablate_training"} <= set(drawn["figure_names"]) and "edit 1" in drawn["figures"]["ablate"]["datasets"]
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and "ablate" in str(path.relative_to(out))}
    again = study.run(experiment, out)
    assert again.code == 0 and "ablate: up to date" in again.stderr
    assert before == {path: path.stat().st_mtime_ns for path in before}
    more = study.run(study.write("study", {**ABLATE, "edits": ["distance", "axis"]}), out)
    assert more.code == 0, more.stderr
    kept = [path for path in before if path.parent.name in ("init", "a", "b") and path.name.startswith("distance")]
    assert kept and all(path.stat().st_mtime_ns == before[path] for path in kept), "an edit that is done is not done again"
    assert set(pandas.read_csv(out / "ablate.csv").edit) == {"distance", "axis"}
    without = study.run(study.write("study", None), out)
    assert without.code == 0, without.stderr
    assert not (out / "ablate.csv").exists() and not (out / "figures" / "ablate.vl.json").exists()
    assert "ablate" not in json.loads((out / "manifest.json").read_text())


def test_in_an_experiment_that_cannot_be(study, tmp_path):
    def refused(ablate, code=3, **settings):
        done = study.run(study.write("bad", ablate, **settings), tmp_path / "out")
        assert done.code == code and done.stderr.count("\n") >= 1, done.stderr
        return done.stderr

    assert "ablate.sets: " in refused({**ABLATE, "sets": ["top:dist_rang:10%"]}) and not (tmp_path / "out").exists()
    assert "did you mean dist_range?" in refused({**ABLATE, "sets": ["top:dist_rang:10%"]})
    assert "ablate.edits: 'prune': is not an edit" in refused({**ABLATE, "edits": "prune"})
    assert "edits" in refused({"sets": "layer:0"}), "a key is missing"
    assert "say how many are measured with corpus: {documents: N}" in refused(ABLATE, documents=None)
    assert "the edit 'distance' needs pre_rope: true" in refused(ABLATE, pre_rope=False)
    assert "expected documents: 2 or more" in refused({**ABLATE, "edits": "head", "documents": 1})
    message = refused(ABLATE, documents=16)
    assert "ablate: needs documents after the measured ones: " in message and "has 16 documents that are long enough, expected more than 16" in message
    repeated = {**study.texts, 14: study.texts[3]}
    tiny_models.write_corpus(study.root / "repeated.jsonl", repeated)
    message = refused(ABLATE, corpus=dict(path="repeated.jsonl"))
    assert "the corpus: 1 of 4 documents were also read for the study" in message
    assert not (tmp_path / "out").exists(), "all of it before anything is computed"
    message = refused({**ABLATE, "sets": "layer:1", "edits": "still:40"}, checkpoints=["a"])
    assert "'init': " in message and "has no RoPE" in message
    assert (tmp_path / "out" / "report.html").exists() or (tmp_path / "out" / "qk.csv").exists(), "what does not hang on it is there"
    table = tmp_path / "words"
    shutil.copytree(tiny_models.write(MODELS["mllama_text"], tmp_path / "mllama"), study.root / "mllama")
    words = {i: [tiny_models.VOCAB + i % 2, *tokens[1:]] for i, tokens in study.texts.items()}
    tiny_models.write_corpus(study.root / "words.jsonl", words)
    message = refused({**ABLATE, "edits": "window:6"}, corpus=dict(path="words.jsonl"), checkpoints=["mllama"])
    assert f"expected an id from 0 to {tiny_models.VOCAB - 1}" in message and not table.exists(), "what the head cannot predict"


def test_pieces_in_an_experiment(study, tmp_path):
    """Where texts are cut, the pieces after the measured ones."""
    long = np.random.default_rng(9).integers(0, tiny_models.VOCAB, 40 * CONTEXT).tolist()
    tiny_models.write_corpus(study.root / "long.jsonl", {1: long})
    out = tmp_path / "out"
    done = study.run(study.write("pieces", ABLATE, corpus=dict(path="long.jsonl", chunk=True), checkpoints=["a"]), out)
    assert done.code == 0, done.stderr
    digests = set(pandas.read_csv(out / "ablate_documents.csv").digest)
    pieces = [long[i * CONTEXT : (i + 1) * CONTEXT] for i in range(16)]
    first = [hashlib.sha256(np.array(piece, "<i4").tobytes()).hexdigest()[:16] for piece in pieces]
    assert digests == set(first[12:])
