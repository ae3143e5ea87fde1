"""Bands and curves of captures that lack something, or state impossible values."""

import json

import pandas
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import engine
import tiny_models
from bands_captures import analyze, without, write_corpus
from bands_reference import COLUMNS


def captured(root, *options, name="llama_gqa", sizes=(40,) * 8):
    folder = tiny_models.write(tiny_models.MODELS[name], root / "model")
    corpus = write_corpus(root / "tokens.jsonl", sizes)
    done = engine.run("capture", folder, "--corpus", corpus, "--out", root / "run", "--context", max(sizes), "--min-tokens", 1, "--dtype", "float32",
                      "--blocks", 4, "--label", "run", "--quiet", *options)  # fmt: skip
    assert done.code == 0, done.stderr
    return root / "run"


ENERGY = [f"{name}_{kind}" for name in ("band_centroid", "low_share") for kind in "qk"]


def test_what_was_not_kept_is_empty_and_flagged(tmp_path):
    capture = captured(tmp_path)
    whole = pandas.read_csv(analyze(capture, tmp_path / "whole") / "heads.csv")
    for prefixes, flags, there in [
        (("pre_rope",), {"no_pre_rope"}, ENERGY),
        (("lags",), {"no_lags"}, [key for key in COLUMNS if key not in ("dist_r", "dist_content")]),
        (("lags", "pre_rope", "document.tokens"), {"no_pre_rope", "no_lags"}, ENERGY),
        (("document.tokens",), set(), COLUMNS),  # all of one length, as the counts show
    ]:
        name = "-".join(prefixes)
        out = analyze(without(capture, tmp_path / f"run-{name}", prefixes), tmp_path / name)
        heads, bands, curves = (pandas.read_csv(out / f"{table}.csv") for table in ("heads", "bands", "curves"))
        for key in COLUMNS:
            assert (heads[key] == whole[key]).all() if key in there else heads[key].isna().all(), (name, key)
        known = {"no_pre_rope", "no_lags", "no_lengths"}
        assert all(known & set(flag.split(";")) == flags for flag in heads.flag.fillna(""))
        assert bands.energy_q.notna().all() and bands.mrl_k.isna().all() == ("pre_rope" in prefixes)
        assert set(curves.curve) - {"attended"} == {*(["dist_pred"] if "pre_rope" not in prefixes else []), *(["dist_actual"] if "lags" not in prefixes else [])}
        assert engine.run("figures", out / "qk.csv", "--out", out / "figures", "--format", "json").code == 0


def test_lengths_that_nothing_tells(tmp_path):
    capture = without(captured(tmp_path, sizes=(40, 30, 20, 40, 25, 35, 40, 31)), tmp_path / "old", ("document.tokens",))
    heads = pandas.read_csv(analyze(capture, tmp_path / "out") / "heads.csv")
    for kind in "qk":
        assert heads[f"drift_rope_cos_{kind}"].isna().all() and heads[f"drift_rope_share_{kind}"].isna().all()
        assert heads[f"rope_var_share_{kind}"].notna().all()
    assert heads.flag.str.contains("no_lengths").all() and heads.dist_near.notna().all()


@pytest.mark.parametrize("name", ["llama_dynamic", "phi3"])
def test_angles_that_hang_on_the_length(tmp_path, name):
    for sizes, flagged in [((100,) * 8, False), ((100, 80, 30, 100, 90, 100, 40, 100), True)]:
        root = tmp_path / str(flagged)
        root.mkdir()
        out = analyze(captured(root, name=name, sizes=sizes), root / "out")
        for table in ("heads", "bands", "curves"):
            flags = pandas.read_csv(out / f"{table}.csv").flag.fillna("")
            assert flags.str.contains("theta_by_length").all() == flagged and flags.str.contains("theta_by_length").any() == flagged


def test_vectors_alone_have_none_of_it(tmp_path):
    out = analyze(captured(tmp_path, "--vectors", "all"), tmp_path / "out", "--from", "vectors")
    heads = pandas.read_csv(out / "heads.csv")
    assert heads[COLUMNS].isna().all().all() and heads.flag.str.contains("no_pre_rope").all()
    assert len(pandas.read_csv(out / "bands.csv")) == len(pandas.read_csv(out / "curves.csv")) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert "bands" not in summary and "curves" not in summary


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda c: c.update(rope="all"), "key 'config.rope': found \"all\", expected a list"),
        (lambda c: c["rope"][0].update(rotary_dim=40), "rotary_dim of 40, expected at most 16"),
        (lambda c: c["rope"][0].update(type="spiral"), "'spiral'"),
        (lambda c: c["rope"][0].update(theta=-1), "key 'config.rope[0].theta': found -1"),
        (lambda c: c.update(rope_of_layer={"1": 7}), "key 'config.rope_of_layer.1': found 7"),
    ],
)
def test_settings_that_make_no_sense(tmp_path, change, says):
    capture = captured(tmp_path)
    with safe_open(capture / "moments.safetensors", "np") as file:
        info = json.loads(file.metadata()["ropewalk"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    change(info["config"])
    (capture / "capture.json").unlink()  # it has the file's hash
    save_file(tensors, capture / "moments.safetensors", {"ropewalk": json.dumps(info)})
    done = engine.run("analyze", capture, "--out", tmp_path / "tables")
    assert done.code == 3 and says in done.stderr, done.stderr
    assert not (tmp_path / "tables" / "bands.csv").exists()


def test_tables_of_others_are_left_out(tmp_path):
    """A bands.csv that does not belong to its qk.csv causes a warning, and figures are drawn without it."""
    out = analyze(captured(tmp_path), tmp_path / "out")
    for name, text, says in [
        ("bands.csv", "checkpoint,layer,q_head,pair\n", "column 'theta' is missing"),
        ("bands.csv", "checkpoint,layer,q_head,pair,theta,energy_q\nother,0,0,0,1,1\n", "it belongs to another table"),
        ("bands.csv", "checkpoint,layer,q_head,pair,theta,energy_q\nrun,0,0,1,1,1\n", "column pair: found '1'; expected pairs that follow each other"),
        ("curves.csv", "checkpoint,layer,q_head,curve,x,value\nrun,0,0,dist_pred,1,1\nrun,0,0,dist_pred,1,1\n", "column x: found '1'; expected more"),
        ("curves.csv", "", "is empty"),
    ]:
        kept = (out / name).read_text()
        (out / name).write_text(text)
        done = engine.run("figures", out / "qk.csv", "--out", out / "figures", "--format", "json")
        assert done.code == 0 and says in done.stderr and "continuing without it" in done.stderr, done.stderr
        (out / name).write_text(kept)


@pytest.mark.parametrize("name", ["bands.csv", "curves.csv"])
def test_tables_that_the_summary_does_not_state_are_said(tmp_path, name):
    """Missing rows, or numbers of another run under the same labels."""
    out = analyze(captured(tmp_path), tmp_path / "out")
    done = engine.run("figures", out / "qk.csv", "--out", out / "figures", "--format", "json")
    assert done.code == 0 and "warning" not in done.stderr, done.stderr
    lines = (out / name).read_text().splitlines(keepends=True)
    (out / name).write_text("".join(lines[: len(lines) // 2]))
    done = engine.run("figures", out / "qk.csv", "--out", out / "figures", "--format", "json")
    assert done.code == 0 and "one of these files is incomplete or belongs to another run" in done.stderr, done.stderr
