"""Captures that earlier editions of the program wrote are read, and give the numbers that these editions gave.

older/EDITION has a capture of a tiny Llama (8 documents of 40 tokens, 4 blocks, 3 heads) and the qk.csv of the program that made
it: `first` as the first edition wrote it, `second` before captures kept sums before RoPE, `second_pre_rope` with --pre-rope.
"""

import json
import shutil
from pathlib import Path

import engine
import numpy as np
import pandas
import pytest

OLDER = Path(__file__).resolve().parent / "older"
EDITIONS = sorted(path.name for path in OLDER.iterdir())
NUMBERS = {"r_q": 1e-8, "r_k": 1e-8, "explained_variance": 1e-8, "r_q_se": 1e-6, "r_k_se": 1e-6}


def test_none_is_left_out():
    assert EDITIONS == ["first", "second", "second_pre_rope"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_is_read(edition, tmp_path):
    done = engine.run("analyze", OLDER / edition, "--out", tmp_path / "tables")
    assert done.code == 0, done.stderr
    before, now = (pandas.read_csv(folder / "qk.csv") for folder in (OLDER / edition, tmp_path))
    assert len(now) == len(before) == 30
    for key in ("layer", "q_head", "kv_head", "pc", "n_q", "n_k", "n_blocks"):
        assert (now[key] == before[key]).all(), key
    for column, tolerance in NUMBERS.items():
        assert np.abs(now[column] - before[column]).max() <= tolerance, column
    heads = pandas.read_csv(tmp_path / "tables" / "heads.csv")
    assert heads.r2cv_q.notna().all() and heads.flag.str.contains("no_pre_rope").all() and heads.mrl_q.isna().all()
    assert (tmp_path / "tables" / "curves.csv").read_text().count("\n") == 1  # a header
    if edition != "second_pre_rope":  # turning keeps energy, so it is known; what these files do not hold is not made up
        bands = pandas.read_csv(tmp_path / "tables" / "bands.csv")
        assert (bands.energy_q > 0).all() and bands.mrl_q.isna().all() and bands.rope_var_q.isna().all()


def test_editions_are_not_mixed(tmp_path):
    """Their numbers differ in the last digits."""
    done = engine.run("merge", OLDER / "first", OLDER / "second", "--out", tmp_path / "both")
    assert done.code == 3 and "cannot be merged: numerics is 1 and 3" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "both").exists()


def test_a_format_of_the_future_is_refused(tmp_path):
    shutil.copytree(OLDER / "second", tmp_path / "future")
    file = tmp_path / "future" / "moments.safetensors"
    file.write_bytes(file.read_bytes().replace(rb"\"format\":1,", rb"\"format\":2,"))
    done = engine.run("analyze", tmp_path / "future", "--out", tmp_path / "tables")
    assert done.code == 3 and "moments format 2, expected 1" in done.stderr, done.stderr
    assert json.loads((OLDER / "second" / "capture.json").read_text())["format"] == 1
