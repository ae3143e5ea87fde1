"""changes.csv compared with heads.csv, with scipy, and with a jackknife of the difference on the vectors."""

import dataclasses
import json

import numpy as np
import pandas
import pytest
from scipy import stats

import engine
import heads_reference
import plain_models
import tiny_models
from test_heads import capture, streams_of

MODEL = tiny_models.MODELS["smollm3_interval"]
STATISTICS = ["r2cv_k", "logit_pos_share", "pc0_offset", "rank90_q"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three checkpoints, the last one with other documents."""
    root = tmp_path_factory.mktemp("changes")
    first = plain_models.write(MODEL, root / "first")
    second = plain_models.write(dataclasses.replace(MODEL, seed=MODEL.seed + 100), root / "second")
    capture(first, root, "step-1")
    capture(second, root, "step-2")
    capture(first, root, "step-3", "--documents", "20")
    done = engine.run("analyze", *(root / f"step-{i}" for i in (1, 2, 3)), "--out", root / "tables", "--between", "step-1,step-3", "--quiet")
    assert done.code == 0, done.stderr
    for table in (root / "tables").iterdir():
        table.rename(root / table.name)
    return root


def test_changes_are_differences_and_their_errors_are_paired(run):
    heads = pandas.read_csv(run / "heads.csv")
    changes = pandas.read_csv(run / "changes.csv")
    assert set(zip(changes["from"], changes.to, changes.kind)) == {
        ("step-1", "step-2", "step"), ("step-2", "step-3", "step"), ("step-1", "step-3", "whole"), ("step-1", "step-3", "between")}  # fmt: skip
    assert set(changes[changes.to == "step-2"].paired) == {1} and set(changes[changes.to == "step-3"].paired) == {0}
    keyed = {name: heads[heads.checkpoint == name].set_index(["layer", "q_head"]) for name in heads.checkpoint.unique()}
    blocks = json.loads((run / "step-1" / "capture.json").read_text())["blocks"]
    for (first, second, statistic), rows in changes[changes.statistic.isin(STATISTICS)].groupby(["from", "to", "statistic"]):
        rows = rows.set_index(["layer", "q_head"])
        delta = keyed[second][statistic] - keyed[first][statistic]
        assert np.allclose(rows.change, delta.loc[rows.index], rtol=1e-6, atol=1e-7)
        if second == "step-3":
            errors = np.hypot(keyed[first][f"{statistic}_se"], keyed[second][f"{statistic}_se"])
            assert np.allclose(rows.change_se, errors.loc[rows.index], rtol=1e-6)
        p = 2 * stats.t.sf(np.abs(rows.change) / rows.change_se, blocks - 1)
        assert np.allclose(rows.p, p, rtol=1e-4, atol=1e-12)
        assert np.allclose(rows.q, stats.false_discovery_control(rows.p), rtol=1e-6)
        before, after = (SCALES[statistic](keyed[name][statistic].loc[rows.index]) for name in (first, second))
        spread = (robust_spread(before) + robust_spread(after)) / 2
        assert np.allclose(rows.effect, (after - before) / spread, rtol=1e-5, atol=1e-6)
        large = (after - before).abs() >= max(0.5 * spread, 0.1 if statistic == "rank90_q" else 0.05)
        assert (rows.changed == ((rows.q <= 0.05) & large).astype(int)).all()


def robust_spread(values):
    return np.subtract(*np.percentile(values, [75, 25])) / 1.349


SCALES = {
    "r2cv_k": lambda x: np.arctanh(np.sqrt(x.clip(lower=0))),
    "logit_pos_share": lambda x: np.arcsin(np.sqrt(x)),
    "pc0_offset": lambda x: np.arcsin(np.sqrt(x)),
    "rank90_q": np.log2,
}


def test_the_error_of_an_effect_is_the_jackknife_on_its_scale(run):
    """For r_k on the drift axis, from the replicates of a jackknife on the vectors."""
    changes = pandas.read_csv(run / "changes.csv")
    rows = changes[(changes.to == "step-2") & (changes.statistic == "logit_pos_share")].set_index(["layer", "q_head"])
    scale = SCALES["logit_pos_share"]
    errors = paired_errors([run / "step-1", run / "step-2"], 1, 1, {"logit_pos_share": lambda value: scale(np.array(value))})
    row = rows.loc[(1, 1)]
    heads = pandas.read_csv(run / "heads.csv").set_index(["checkpoint", "layer", "q_head"]).logit_pos_share
    spread = np.mean([robust_spread(scale(heads[name])) for name in ("step-1", "step-2")])
    assert row.effect_se * spread == pytest.approx(errors["logit_pos_share"], rel=2e-4)


def paired_errors(folders, layer, q_head, scales=None):
    """For the difference of a head between two captures with vectors: a separate jackknife."""
    replicates, full = [], []
    for folder in folders:
        info, streams = streams_of(folder)
        group, blocks = info["config"]["n_q_heads"] // info["config"]["n_kv_heads"], info["blocks"]
        (q, q_t, q_id), (k, k_t, k_id) = streams[layer, q_head, "q"], streams[layer, q_head // group, "k"]
        units = (info["config"]["attention_scale"], info["context"])
        q_g, k_g = q_id % blocks, k_id % blocks
        whole, axes = heads_reference.head(q, q_t, q_g, k, k_t, k_g, *units)
        full.append(whole)
        parts, sizes = [], []
        for b in range(blocks):
            i, j = q_g != b, k_g != b
            parts.append(heads_reference.head(q[i], q_t[i], q_g[i], k[j], k_t[j], k_g[j], *units, like=axes)[0])
            sizes.append((~i).sum() + (~j).sum())
        replicates.append(parts)
    scales = scales or {key: lambda value: value for key in STATISTICS}
    difference = [{key: of(after[key]) - of(before[key]) for key, of in scales.items()} for before, after in zip(*replicates)]
    return heads_reference.jackknife({key: of(full[1][key]) - of(full[0][key]) for key, of in scales.items()}, difference, np.array(sizes, float))


def test_the_paired_error_is_the_jackknife_of_the_difference(run):
    changes = pandas.read_csv(run / "changes.csv")
    layer = q_head = 1
    errors = paired_errors([run / "step-1", run / "step-2"], layer, q_head)
    rows = changes[(changes.to == "step-2") & (changes.layer == layer) & (changes.q_head == q_head)].set_index("statistic")
    for key in STATISTICS:
        assert rows.change_se[key] == pytest.approx(errors[key], rel=2e-4), key


def test_axes_that_changed_are_named(run):
    """Other weights have other axes, which is not a change of r."""
    changes = pandas.read_csv(run / "changes.csv")
    heads = pandas.read_csv(run / "heads.csv")
    flagged = heads[(heads.checkpoint == "step-2") & heads.flag.fillna("").str.contains("axis_changed")]
    assert len(flagged) > 0
    rows = changes[(changes.to == "step-2") & (changes.statistic == "r_k_run")].set_index(["layer", "q_head"])
    for head in zip(flagged.layer, flagged.q_head):
        row = rows.loc[head]
        assert row.flag == "axis_changed" and row.changed == 0 and np.isnan(row.p) and np.isnan(row.q)
    summary = json.loads((run / "summary.json").read_text())
    assert {(one["layer"], one["q_head"]) for one in summary["differences"][0]["axes"]} == set(zip(flagged.layer, flagged.q_head))


def test_a_share_without_spread_has_an_interval_of_its_own(run):
    summary = json.loads((run / "summary.json").read_text())
    shares = [leaf for classes in summary["taxonomy"].values() for leaf in classes.values()]
    assert all(leaf["se"] is None or leaf["se"] > 0 for leaf in shares)
    still = [leaf for leaf in shares if "low" in leaf]
    assert still
    for leaf in still:
        heads = summary["heads"]["step-1"]["measured"]
        low, high = stats.binomtest(round(leaf["value"] * heads), heads).proportion_ci(method="wilson")
        assert leaf["low"] == pytest.approx(low, abs=1e-9) and leaf["high"] == pytest.approx(high, abs=1e-9)


def test_what_cannot_be_compared_is_said(run, tmp_path):
    folders = [run / "step-1", run / "step-2"]
    done = engine.run("analyze", *folders, "--out", tmp_path / "tables", "--between", "step-1,step-9")
    assert done.code == 3 and "'step-9'" in done.stderr and "step-1, step-2" in done.stderr
    assert not (tmp_path / "tables" / "qk.csv").exists()
    summary = json.loads((run / "summary.json").read_text())
    assert summary["changed"] == {"min_change": 0.5, "max_q": 0.05}
    done = engine.run("analyze", *folders, "--out", tmp_path / "tables", "--min-change", "1", "--quiet")
    assert done.code == 0 and pandas.read_csv(tmp_path / "tables" / "changes.csv").query("statistic == 'abs_r_k'").changed.sum() == 0
    assert json.loads((tmp_path / "tables" / "summary.json").read_text())["changed"]["min_change"] == 1


WRONG = {
    "one label": (["--between", "step-1"], "'step-1': expected two labels"),
    "the same label": (["--between", "step-1,step-1"], "'step-1,step-1': found one label twice"),
    "a comma": (["--between", ","], "',': expected two labels"),
    "half a pair": (["--between", "step-1,"], "'step-1,': expected two labels"),
    "nothing": (["--between", ""], "expected two labels"),
    "a pair twice": (["--between", "a,b", "--between", "a,b"], "'a,b': given twice"),
    "not a number": (["--min-change", "nan"], "found 'nan'; expected a number from 0 to 1"),
    "below zero": (["--min-change=-0.1"], "found '-0.1'; expected a number from 0 to 1"),
    "infinite": (["--min-change", "inf"], "found 'inf'; expected a number from 0 to 1"),
    "no size": (["--min-change", ""], "expected a number from 0 to 1"),
    "no folder": (["--out", ""], "--out: is empty; name a folder"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_options_are_refused_before_anything_is_read(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, says = WRONG[name]
    done = engine.run("analyze", "none", *options)
    assert done.code == 2 and says in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, "one line"
    assert not list(tmp_path.iterdir())


def test_numbers_per_token_are_compared_at_one_context_alone(run, tmp_path):
    shorter = capture(run / "first", tmp_path, "step-0", context=80)
    done = engine.run("analyze", shorter, run / "step-1", run / "step-2", "--out", tmp_path / "tables", "--quiet")
    assert done.code == 0, done.stderr
    changes = pandas.read_csv(tmp_path / "tables" / "changes.csv", keep_default_na=False)
    changes = changes[changes.kind == "step"]
    of_rows = {"sink", "first4", "self", "previous", "entropy", "reach", "echo", "echo_lift", "after_copy", "after_copy_lift", "positional", "symbolic", "pairing", "logit_max",
               "far64", "far256", "far1024", "far4096", "sink_learned"}  # fmt: skip
    assert set(changes[changes.flag == "other_context"].statistic) & of_rows, "context alone moves them"
    per_token = {"alpha_q", "abs_alpha_q", "alpha_k", "abs_alpha_k", "bias_strength", "bias_off"}
    flagged = changes[(changes.flag == "other_context") & ~changes.statistic.isin(of_rows)]
    assert set(flagged.statistic) == per_token and set(flagged.to) == {"step-1"}
    rows = changes[changes.statistic.isin(per_token) & (changes.to == "step-1")]
    assert len(rows) == len(flagged) and set(rows.p) == set(rows.q) == {""} and set(rows.changed) == {0} and "" not in set(rows.change)
    first, second = json.loads((tmp_path / "tables" / "summary.json").read_text())["differences"]
    for statistic in per_token:
        assert first[f"mean_{statistic}"]["flag"] == "other_context" and first[f"mean_{statistic}"]["real"] is None
        assert "flag" not in second[f"mean_{statistic}"] and second[f"mean_{statistic}"]["real"] in (True, False)
    assert "flag" not in first["mean_bias_context"]


def test_a_change_has_a_size_on_its_scale(run, tmp_path):
    """For a bias per token, the change that adds up to this many logits over the context."""
    done = engine.run("analyze", run / "step-1", run / "step-2", "--out", tmp_path / "tables", "--min-change", "0.2", "--quiet")
    assert done.code == 0, done.stderr
    heads = pandas.read_csv(run / "heads.csv").set_index(["checkpoint", "layer", "q_head"])
    info = json.loads((run / "step-1" / "capture.json").read_text())
    context = info["context"] - 1
    units = {"bias_off": info["config"]["attention_scale"] * context, "alpha_k": context, "bias_context": 1, "logit_const": 1}
    changes = pandas.read_csv(tmp_path / "tables" / "changes.csv")
    small = 0
    for statistic, unit in units.items():
        before, after = (heads[statistic][name] * unit for name in ("step-1", "step-2"))
        spread = (robust_spread(before) + robust_spread(after)) / 2
        rows = changes[(changes.statistic == statistic) & (changes.kind == "step")].set_index(["layer", "q_head"])
        size = (after - before).abs().loc[rows.index]
        assert (rows.changed == ((rows.q <= 0.05) & (size >= max(0.2 * spread, 0.1))).astype(int)).all(), statistic
        small += ((rows.q <= 0.05) & (rows.changed == 0)).sum()
    assert small > 0, "some are beyond chance, and too small"


def test_a_signed_mean_changes_in_two_ways(run):
    """All heads, in the signs of the table; and heads whose axis stayed, with signs carried."""
    summary = json.loads((run / "summary.json").read_text())
    qk = pandas.read_csv(run / "qk.csv").query("pc == 0").set_index(["checkpoint", "layer", "q_head"])
    changes = pandas.read_csv(run / "changes.csv")
    for one in summary["differences"]:
        for key in ("r_q", "r_k"):
            found = one[f"mean_{key}"]
            published = qk[key][one["to"]].mean() - qk[key][one["from"]].mean()
            assert found["value"] == pytest.approx(published, abs=1e-7) and found["heads"] == len(qk[key][one["to"]])
            rows = changes[(changes["from"] == one["from"]) & (changes.to == one["to"]) & (changes.kind == "step") & (changes.statistic == f"{key}_run")]
            stayed = rows[rows.flag != "axis_changed"]
            assert found["stayed"]["heads"] == len(stayed)
            if len(stayed):
                assert found["stayed"]["value"] == pytest.approx(stayed.change.mean(), abs=1e-7)
            agree = len(stayed) > 0 and published * found["stayed"]["value"] > 0
            t95 = stats.t.ppf(0.975, json.loads((run / "step-1" / "capture.json").read_text())["blocks"] - 1)
            for row in (found, found["stayed"]):
                assert row["real"] == (agree and abs(row["value"]) > t95 * row["se"])
