"""Tables as inputs of `figures`, `report` and `compare`: folders, files of other programs, and files that are not tables."""

import json
import re
import shutil

import engine
import synthetic_run as synthetic


def test_report_and_figures_take_a_folder_or_a_table(tmp_path):
    table = synthetic.write(synthetic.demo_like(), tmp_path / "results")
    other = tmp_path / "results" / "other.csv"
    shutil.copy(table, other)
    drawn = []
    for number, given in enumerate([table, table.parent]):
        out = tmp_path / f"figures{number}"
        result = engine.run("figures", given, "--out", out, "--format", "json")
        assert result.code == 0, result.stderr
        drawn.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert drawn[0] == drawn[1] and "taxonomy.vl.json" in drawn[0]
    result = engine.run("report", table)
    if "built without the report" not in result.stderr:
        assert (result.code, result.stdout) == (0, f"{table.parent / 'report.html'}\n"), result.stderr
        page = (table.parent / "report.html").read_bytes()
        assert engine.run("report", table.parent).code == 0 and (table.parent / "report.html").read_bytes() == page
        result = engine.run("report", other)
        assert (result.code, result.stdout) == (0, f"{table.parent / 'other.report.html'}\n"), result.stderr
        (tmp_path / "empty").mkdir()
        result = engine.run("report", tmp_path / "empty")
        assert result.code == 4 and "without qk.csv" in result.stderr


def test_figures_are_listed(tmp_path):
    table = synthetic.write(synthetic.demo_like(), tmp_path)
    result = engine.run("figures", table, "--list", "--statistic", "abs_r_k")
    assert result.code == 0, result.stderr
    *figures, empty, keys = result.stdout.splitlines()
    drawn = engine.run("figures", table, "--out", tmp_path / "out", "--statistic", "abs_r_k", "--format", "json")
    assert drawn.code == 0, drawn.stderr
    assert sorted(line.split()[0] for line in figures) == sorted(path.name.removesuffix(".vl.json") for path in (tmp_path / "out").iterdir())
    assert re.search(r"^taxonomy +Classes of heads", result.stdout, re.M) and empty == ""
    names = keys.removeprefix("--statistic, --portrait: ").split(", ")
    assert {"r_q", "abs_r_k", "explained_variance"} <= set(names) and "r2cv_q" not in names, "what the table has"
    missing = engine.run("figures", table)
    assert missing.code == 2 and missing.stderr == "error: --out: is missing; name a folder, or give --list\n"


def test_what_is_no_table(tmp_path):
    """One line that says what to do: for a folder, an empty one, a missing one; a heads.csv that is a folder is left out."""
    table = synthetic.write(synthetic.demo_like(), tmp_path / "results")
    (tmp_path / "empty").mkdir()
    reference = tmp_path / "reference.json"
    reference.write_text(json.dumps({"mean_r_q": {"s3000": 0.5}}))
    for given, says in [
        (tmp_path / "empty", "is a folder without qk.csv; ropewalk run and ropewalk analyze write one"),
        (tmp_path / "empty" / "qk.csv", "this table does not exist; ropewalk run and ropewalk analyze write one"),
    ]:
        for verb in (["figures", given, "--out", tmp_path / "out"], ["compare", given, "--reference", reference]):
            result = engine.run(*verb)
            assert (result.code, result.stderr) == (4, f"error: {given}: {says}\n") and not (tmp_path / "out").exists()
    (tmp_path / "results" / "heads.csv").mkdir()
    result = engine.run("figures", table, "--out", tmp_path / "out", "--format", "json")
    assert result.code == 0 and f"warning: {table.parent / 'heads.csv'}: is a folder, not a table; continuing without it\n" in result.stderr


def test_limits_that_a_number_passes(tmp_path):
    """A limit is only stated on a side where the statistic has one."""
    table = synthetic.write(synthetic.demo_like(), tmp_path)
    for column, value, expected in [("r2cv_q", "1.5", "a number of at most 1, or nothing"), ("logit_sd", "-2", "a number of at least 0, or nothing"),
                                    ("pc0_offset", "2", "a number from 0 to 1, or nothing")]:  # fmt: skip
        (tmp_path / "heads.csv").write_text(f"checkpoint,layer,q_head,{column}\ns3000,0,0,{value}\n")
        result = engine.run("figures", table, "--out", tmp_path / "out", "--format", "json")
        assert f"line 2, column {column}: found '{value}'; expected {expected}; continuing without it" in result.stderr


def test_a_mistyped_key_of_a_reference(tmp_path):
    table = synthetic.write(synthetic.demo_like(), tmp_path)
    reference = tmp_path / "reference.json"
    reference.write_text(json.dumps({"mean_rq": {"s3000": 0.5}}))
    result = engine.run("compare", table, "--reference", reference)
    assert result.code == 3 and "unknown key 'mean_rq'; did you mean mean_r_q?" in result.stderr and result.stdout == ""


def test_a_summary_of_another_kind(tmp_path):
    table = synthetic.write(synthetic.demo_like(), tmp_path)
    summary = tmp_path / "wrong.json"
    for wrong, says in [({"checkpoints": 5}, "key 'checkpoints': found 5"), ({"checkpoints": [], "mean_r_q": {"s3000": "x"}}, "key 'mean_r_q.s3000'")]:  # fmt: skip
        summary.write_text(json.dumps(wrong))
        for verb in (["figures", table, "--out", tmp_path / "out", "--format", "json"], ["compare", table, "--reference", tmp_path / "summary.json"]):
            result = engine.run(*verb, "--summary", summary)
            assert result.code == 3 and says in result.stderr and "wrong.json" in result.stderr, result.stderr
