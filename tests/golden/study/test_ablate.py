"""`ropewalk ablate`: how its edits are computed, what its tables contain, what it refuses, and that it resumes after an interruption."""

import json
import math

import numpy as np
import pandas
import pytest

import edit_reference
import engine
import reference
import tiny_models
from ablate_bench import CONTEXT, SETS, bench, finished, make_texts, whole  # noqa: F401 (fixtures)
from tiny_models import MODELS


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
    ranked = heads.sort_values("dist_range", ascending=False)[: round(heads.dist_range.notna().sum() / 10)]
    out = bench.run(["top:dist_range:10%", "bottom:r2cv_k:50%:kv"], "window:6", "--controls", 0)
    members = pandas.read_csv(out / "ablate_controls.csv").set_index("set").members
    assert set(members["top:dist_range:10%"].split(",")) == {f"{row.layer}.{row.q_head}" for row in ranked.itertuples()}
    groups = heads.assign(kv=heads.q_head // 2).groupby(["layer", "kv"]).r2cv_k.max().sort_values()[:10].index
    expected = {f"{layer}.{2 * kv + i}" for layer, kv in groups for i in (0, 1)}
    assert set(members["bottom:r2cv_k:50%:kv"].split(",")) == expected
    table = pandas.read_csv(out / "ablate.csv").set_index("set")
    assert (table.overlap <= 1).all() and (table.overlap > table.overlap_chance).all()
    assert table.overlap_chance["bottom:r2cv_k:50%:kv"] == pytest.approx(10 / 30)


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


def test_memory_changes_nothing(bench, whole):
    tight = bench.run(["0.1,2.3", "layer:2"], "distance,head:zero", "--memory", "3MB")
    mine, theirs = finished(tight), finished(whole)
    shared = mine.keys() & theirs.keys()
    assert len(shared) > 40
    for key in shared:
        assert all((a == b).all() for a, b in zip(mine[key], theirs[key])), key
