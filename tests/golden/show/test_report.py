"""`ropewalk report`: what the page contains, and what is refused. tests/report tests the page itself."""

import base64
import json
import re

import numpy as np
import pandas
import pytest

import engine
import synthetic_run as synthetic

MISSING, NO_ROW = -(2**31), -(2**31) + 1


def data_of(page):
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S)
    assert len(found) == 1 and "<" not in found[0]
    return json.loads(found[0])


def unpack(packed):
    digits = np.frombuffer(base64.b64decode(packed["digits"]), "<i4")
    decimals = np.frombuffer(base64.b64decode(packed["places"]), "i1")
    assert len(digits) == len(decimals)
    return [None if d in (MISSING, NO_ROW) else float(f"{d}e{-p}") for d, p in zip(digits.tolist(), decimals.tolist())]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("report")
    synthetic.write(synthetic.demo_like(), root)
    return root


def test_page_holds_table_summary_and_figures(folder, tmp_path):
    result = engine.run("report", folder, "--out", tmp_path / "page.html", "--quiet")
    assert result.code == 0 and result.stderr == "" and result.stdout == f"{tmp_path / 'page.html'}\n"
    data = data_of(tmp_path / "page.html")
    assert data["summary"] == json.loads((folder / "summary.json").read_text()) and data["manifest"] is None
    table = pandas.read_csv(folder / "qk.csv")
    labels = list(dict.fromkeys(table.checkpoint))
    assert [c["label"] for c in data["table"]["checkpoints"]] == labels
    assert [c["label"] for c in data["table"]["checkpoints"] if c["baseline"]] == ["init"]
    for name in ("r_q", "r_k", "explained_variance", "r_q_se", "r_k_se", "explained_variance_se"):
        assert unpack(data["table"]["columns"][name]) == table[name].tolist()
    drawn = engine.run("figures", folder / "qk.csv", "--out", tmp_path / "figures", "--format", "json", "--quiet")
    assert drawn.code == 0, drawn.stderr
    specs = {path.name.removesuffix(".vl.json"): json.loads(path.read_text()) for path in (tmp_path / "figures").iterdir()}
    assert data["figures"] == specs


def test_a_table_without_steps_has_those_that_its_labels_say(tmp_path):
    synthetic.write(synthetic.pythia_like(), tmp_path)
    assert engine.run("report", tmp_path, "--quiet").code == 0
    said = [(c["training_step"], c["tokens"]) for c in data_of(tmp_path / "report.html")["table"]["checkpoints"]]
    assert said[:4] == [(None, None), (0, None), (1, None), (2, None)] and said[-1] == (143000, None)


def test_default_place_and_policy(folder):
    assert engine.run("report", folder, "--quiet").stdout == f"{folder / 'report.html'}\n"
    page = (folder / "report.html").read_text()
    assert "default-src 'none'" in page


def test_a_summary_of_another_table_is_left_out(tmp_path):
    table = synthetic.demo_like()
    synthetic.write(table, tmp_path)
    table["r_q"] = table.r_q * 0.5
    table.to_csv(tmp_path / "qk.csv", index=False, float_format="%.9g")
    result = engine.run("report", tmp_path)
    assert result.code == 0 and "belongs to another table" in result.stderr
    assert data_of(tmp_path / "report.html")["summary"] is None


def test_a_summary_of_more_checkpoints_is_left_out(tmp_path):
    table = synthetic.demo_like()
    synthetic.write(table, tmp_path)
    table[table.checkpoint != "s10000"].to_csv(tmp_path / "qk.csv", index=False, float_format="%.9g")
    result = engine.run("report", tmp_path)
    assert result.code == 0 and "has the checkpoint 's10000', but the table does not" in result.stderr
    assert data_of(tmp_path / "report.html")["summary"] is None


@pytest.mark.parametrize("name, text, says", [
    ("summary.json", "{}", "key 'checkpoints' is missing"),
    ("summary.json", '{"checkpoints": 3}', "key 'checkpoints': found 3, expected a list"),
    ("manifest.json", "{}", "key 'format' is missing"),
    ("manifest.json", "[]", "is not a JSON object"),
])  # fmt: skip
def test_files_that_are_something_else(tmp_path, name, text, says):
    synthetic.write(synthetic.demo_like(), tmp_path)
    (tmp_path / name).write_text(text)
    result = engine.run("report", tmp_path)
    assert result.code == 3 and re.fullmatch(rf"error: .*/{name}: {says}.*\n", result.stderr), result.stderr
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("text, code, says", [
    (None, 4, "qk.csv"),
    ("checkpoint,layer,q_head,pc,r_q,r_k\n", 3, "no rows"),
    ("checkpoint,layer,q_head,pc,r_q,r_k,r_q_se\na,0,0,0,0.5,0.5,-1\n", 3, "r_q_se"),
    ("checkpoint,layer,q_head,pc,r_q,r_k,n_q\na,0,0,0,0.5,0.5,1.5\n", 3, "n_q"),
    ("checkpoint,layer,q_head,pc,r_q,r_k\na,0,0,1,0.5,0.5\n", 3, "has no row of PC0"),
    ("checkpoint,layer,q_head,pc,r_q,r_k\na,0,0,0,,0.5\n", 3, "has both r_q and r_k"),
])  # fmt: skip
def test_bad_folders(tmp_path, text, code, says):
    if text is not None:
        (tmp_path / "qk.csv").write_text(text)
    result = engine.run("report", tmp_path)
    assert result.code == code and says in result.stderr and result.stderr.startswith("error: ")
    assert not (tmp_path / "report.html").exists()
