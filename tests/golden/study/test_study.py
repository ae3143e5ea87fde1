"""`ropewalk run`: results, resuming, what a change makes out of date, mistakes in experiment files."""

import hashlib
import json
import math
import re
import shutil

import numpy as np
import pandas
import pytest
import torch
from safetensors.torch import load_file

import engine
import tiny_models
from tiny_study import DOCUMENTS, LONG, SHORT, files, finished, study, write_checkpoint, written  # noqa: F401 (fixtures)


def test_equals_the_single_verbs(study, finished, tmp_path):
    table = pandas.read_csv(finished / "qk.csv")
    assert list(table.checkpoint.drop_duplicates()) == ["init", "A", "B", "C"]
    assert list(table.phase.drop_duplicates()) == ["One", "Two"]
    assert set(table.model) == {"Tiny"}
    numbers = ["layer", "q_head", "pc", "r_q", "r_k", "explained_variance", "r_q_se", "pc0_stability"]
    for label, context in (("A", SHORT), ("C", LONG)):
        done = engine.run("capture", study.root / label, "--corpus", study.root / "corpus.jsonl", "--context", context,
                          "--dtype", "float32", "--blocks", 8, "--out", tmp_path / label)  # fmt: skip
        assert done.code == 0, done.stderr
        done = engine.run("analyze", tmp_path / label, "--components", 4, "--out", tmp_path / f"{label}_tables")
        assert done.code == 0, done.stderr
        alone = pandas.read_csv(tmp_path / f"{label}_tables" / "qk.csv")[numbers]
        among = table[table.checkpoint == label][numbers].reset_index(drop=True)
        pandas.testing.assert_frame_equal(among, alone)


def test_result_on_the_terminal(study, finished):
    result = engine.run("run", study.root / "tiny.yaml", "--out", finished, "--format", "json")
    assert result.code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["checkpoint", "phase", "context", "R²cv", "of", "q", "R²cv", "of", "k", "mean", "|r_k|", "mean", "r_q", "mean", "r_k", "position-dominated"]
    assert [line.split()[:2] for line in lines[1:5]] == [["init", "baseline"], ["A", "One"], ["B", "One"], ["C", "Two"]]
    summary = json.loads((finished / "summary.json").read_text())
    shown = f"{summary['mean_r_q']['A']['value']:.3f} ± {summary['mean_r_q']['A']['se']:.3f}"
    assert shown in lines[2]
    assert lines[1][lines[0].index("mean r_q") :].startswith(f"{summary['mean_r_q']['init']['value']:.3f}"), "columns stand under their names"
    assert "± is one standard error over documents" in result.stdout and "on PC0" in result.stdout
    assert "measured already" in result.stderr and "up to date" in result.stderr


def test_again_changes_nothing(study, finished):
    before, times = files(finished), written(finished)
    assert study.run(study.write(), finished).code == 0
    assert files(finished) == before
    assert written(finished) == times


def test_two_runs_give_the_same_bytes(study, finished, tmp_path):
    assert study.run(study.write(), tmp_path / "again").code == 0
    assert files(tmp_path / "again") == files(finished)


def test_threads_hardly_matter(study, finished, tmp_path):
    """No r changes by more than 1e-5 where the variance of the component differs from its neighbours' by 1 %."""
    environment = {"OMP_NUM_THREADS": "3"}
    assert study.run(study.write(), tmp_path / "threads", "--threads", 3, environment=environment).code == 0
    one, three = (pandas.read_csv(out / "qk.csv") for out in (finished, tmp_path / "threads"))
    values = one.groupby(["checkpoint", "layer", "q_head"]).explained_variance
    apart = (values.shift(1) / one.explained_variance > 1.01) | (one.pc == 0)
    apart &= (one.explained_variance / values.shift(-1) > 1.01).fillna(False)
    for name in ("r_q", "r_k"):
        assert np.abs(one[name] - three[name])[apart].max() <= 1e-5
    assert apart.sum() > 100


def test_report(study, finished):
    """The page is written once, and again where it was removed or its tables changed."""
    page = finished / "report.html"
    if not page.exists():
        pytest.skip("built without the report")
    stated = json.loads((finished / "manifest.json").read_text())["report"]
    assert stated["files"]["report.html"] == hashlib.sha256(page.read_bytes()).hexdigest()
    before, when = page.read_bytes(), page.stat().st_mtime_ns
    again = study.run(study.write(), finished)
    assert again.stdout.splitlines()[-1].split() == ["report", str(page)] and page.stat().st_mtime_ns == when
    page.unlink()
    assert study.run(study.write(), finished).code == 0
    assert page.read_bytes() == before


def test_manifest(study, finished):
    manifest = json.loads((finished / "manifest.json").read_text())
    assert manifest["name"] == "Tiny"
    assert manifest["experiment"]["text"] == (study.root / "tiny.yaml").read_text()
    assert manifest["corpus"]["documents"] == DOCUMENTS
    assert [checkpoint["label"] for checkpoint in manifest["checkpoints"]] == ["init", "A", "B", "C"]
    assert manifest["checkpoints"][0]["random"] == 0
    assert len({checkpoint["weights"] for checkpoint in manifest["checkpoints"]}) == 4
    assert manifest["checkpoints"][1]["tokens"] == DOCUMENTS * SHORT
    assert manifest["checkpoints"][3]["tokens"] == DOCUMENTS * LONG


def changed_phases(study, change):
    phases = json.loads(json.dumps(study.settings["phases"]))
    change(phases)
    return phases


@pytest.mark.parametrize(
    "changes, again",
    [
        (dict(components=3), set()),
        (dict(portraits=["A", "C"]), set()),
        (dict(blocks=6), {"init", "A", "B", "C"}),
        (dict(heads={"count": 6, "seed": 1}), {"init", "A", "B", "C"}),
        (dict(corpus={"path": "corpus.jsonl", "documents": 9}), {"init", "A", "B", "C"}),
        ("context of two", {"C"}),
        ("theta of one", {"init", "A", "B"}),
        ("other seed", {"init"}),
        ("name of one", set()),
    ],
)
def test_a_change_invalidates_what_depends_on_it(study, finished, tmp_path, changes, again):
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    if isinstance(changes, str):
        edit = {
            "context of two": lambda p: p[1].update(context=LONG - 7),
            "theta of one": lambda p: p[0].update(config={"rope_theta": 123.0}),
            "other seed": lambda p: p[0]["checkpoints"][0].update(random=5),
            "name of one": lambda p: p[0].update(name="First"),
        }[changes]
        changes = dict(phases=changed_phases(study, edit))
    times = written(out)
    result = study.run(study.write("changed.yaml", **changes), out)
    assert result.code == 0, result.stderr
    now = written(out)
    assert {label for label in now if now[label] != times[label]} == again
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["experiment"]["text"] == (study.root / "changed.yaml").read_text()
    fresh = tmp_path / "fresh"
    assert study.run(study.root / "changed.yaml", fresh).code == 0
    assert files(out) == files(fresh)


def test_figures_of_an_experiment(study, finished, tmp_path):
    """Drawn with the others, also on the page; changing them measures nothing and makes no table."""
    out = shutil.copytree(finished, tmp_path / "out")

    def run(**changes):
        return engine.run("run", study.write("asked.yaml", **changes), "--out", out, "--format", "json")

    before, times = files(out), written(out)
    # A run draws the same from its own numbers as `figures` does from the files.
    read = engine.run("figures", out / "qk.csv", "--experiment", study.write("asked.yaml"), "--out", tmp_path / "read", "--format", "json")
    drawn = lambda folder: {path.name: path.read_bytes() for path in folder.glob("*.vl.json")}
    assert read.code == 0 and {"bands.vl.json", "distance.vl.json"} < set(drawn(tmp_path / "read")), read.stderr
    assert drawn(tmp_path / "read") == drawn(finished / "figures")
    asked = {"statistics": ["bias_context", "abs_r_k"], "portraits": [["r2cv_q", "logit_pos_share"]], "distance": ["L1H0", "L0H1"]}
    result = run(figures=asked)
    assert result.code == 0 and "tables: up to date" in result.stderr and written(out) == times, result.stderr
    names = ["over_training_bias_context", "by_depth_bias_context", "over_training_abs_r_k", "by_depth_abs_r_k",
             "portrait_r2cv_q_logit_pos_share", "distance_heads"]  # fmt: skip
    assert {f"{name}.vl.json" for name in names} <= set(drawn(out / "figures"))
    assert json.loads((out / "manifest.json").read_text())["settings"]["figures"] == asked
    alone = engine.run("figures", out / "qk.csv", "--experiment", study.root / "asked.yaml", "--out", tmp_path / "alone", "--format", "json")
    assert alone.code == 0 and drawn(tmp_path / "alone") == drawn(out / "figures")
    # Options replace them, as for portraits.
    options = engine.run("figures", out / "qk.csv", "--experiment", study.root / "asked.yaml", "--statistic", "r_q", "--out", tmp_path / "one", "--format", "json")
    assert options.code == 0 and {p.name for p in (tmp_path / "one").glob("over_training_*")} == {"over_training_r_q.vl.json"}
    # Other ones instead: new ones are drawn, and the former ones removed.
    result = run(figures={"statistics": ["r_q"]})
    assert result.code == 0 and "tables: up to date" in result.stderr and "figures: up to date" not in result.stderr
    assert "by_depth_r_q.vl.json" in drawn(out / "figures") and not set(drawn(out / "figures")) & {f"{name}.vl.json" for name in names}
    again = run(figures={"statistics": ["r_q"]})
    assert again.code == 0 and "figures: up to date" in again.stderr
    assert run().code == 0 and files(out) == before and written(out) == times
    for wrong, said in [
        ({"statistics": ["bias_contexts"]}, "figures.statistics: no statistic is named 'bias_contexts'; did you mean bias_context or dist_context?"),
        ({"statistic": ["r_q"]}, "figures: key 'statistic' is unknown; did you mean 'statistics'?"),
        ({"distance": ["H1"]}, "figures.distance: 'H1' is not a head; expected for example L3H2"),
        ({"distance": ["L77H0"]}, "figures: distance: head L77H0 does not exist; the model has layers 0 to "),
        ({"portraits": [["r_q", "r_k", "r_q"]]}, "figures.portraits: found a list of 3, expected two statistics"),
    ]:
        refused = run(figures=wrong)
        assert refused.code == 3 and said in refused.stderr and refused.stderr.count("\n") == 1, refused.stderr


def test_config_override_equals_an_edited_config(study, finished, tmp_path):
    edited = tmp_path / "edited"
    shutil.copytree(study.root / "A", edited)
    config = json.loads((edited / "config.json").read_text())
    config["rope_parameters"]["rope_theta"] = 77.0
    (edited / "config.json").write_text(json.dumps(config))
    one = [{"name": "One", "context": SHORT, "config": {"rope_theta": 77},
            "checkpoints": [{"label": "A", "path": "A"}]}]  # fmt: skip
    two = [{"name": "One", "context": SHORT, "checkpoints": [{"label": "A", "path": str(edited)}]}]
    tables = []
    for i, phases in enumerate((one, two)):
        assert study.run(study.write(f"override{i}.yaml", phases=phases), tmp_path / f"out{i}").code == 0
        tables.append((tmp_path / f"out{i}" / "qk.csv").read_bytes())
    assert tables[0] == tables[1]
    assert tables[0] != (finished / "qk.csv").read_bytes()


def test_only(study, finished, tmp_path):
    out = tmp_path / "out"
    assert study.run(study.write(), out, "--only", "B").code == 0
    assert set(written(out)) == {"B"}
    assert study.run(study.write(), out, "--only", "A", "--only", "C").code == 0
    table = pandas.read_csv(out / "qk.csv")
    assert list(table.checkpoint.drop_duplicates()) == ["A", "B", "C"]
    assert study.run(study.write(), out).code == 0
    assert files(out) == files(finished)
    wrong = study.run(study.write(), out, "--only", "b")
    assert wrong.code == 2 and "did you mean 'B'?" in wrong.stderr


def test_dry_run(study, finished, tmp_path):
    out = tmp_path / "out"
    result = engine.run("run", study.write(), "--out", out, "--dry-run", "--only", "A", "--quiet")
    assert result.code == 0, result.stderr
    assert not out.exists()
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line}
    assert rows["A"].endswith("measure") and rows["B"].endswith("not requested")
    assert "random" in rows["init"] and "of computing" in result.stdout
    again = engine.run("run", study.write(), "--out", finished, "--dry-run", "--quiet")
    assert again.stdout.count("measured already") == 4


def test_the_end_says_how_many_documents_a_precision_takes(study, tmp_path):
    experiment = study.write("precision.yaml")
    text = study.run(experiment, tmp_path / "out").stdout
    found = re.search(r"The largest standard error of mean r_q and mean r_k is ([\d.]+), for '(\w+)' with (\d+) documents; ± 0.005 needs about (\d+)\.\n"
                      r"To reach it, write documents: N under corpus; the additional documents are read and added\.\n", text)  # fmt: skip
    assert found, text
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    errors = {one["label"]: max(summary[key][one["label"]]["se"] for key in ("mean_r_q", "mean_r_k")) for one in summary["checkpoints"] if not one["random"]}
    label = max(errors, key=errors.get)
    read = next(one["documents"] for one in summary["checkpoints"] if one["label"] == label)
    assert found.groups() == (f"{errors[label]:.4f}", label, str(read), str(math.ceil(read * (errors[label] / 0.005) ** 2)))


# Random baselines


def test_random_weights_are_initialised_as_transformers_does(study, tmp_path):
    """Root mean square of queries and keys of fresh weights, layer by layer, compared with transformers."""
    wide = dict(hidden_size=256, intermediate_size=512, head_dim=32, num_attention_heads=8, num_key_value_heads=2)
    write_checkpoint(tmp_path / "trained", 0, **wide)
    phases = [{"name": "P", "context": SHORT, "checkpoints": [
        {"label": "init", "random": 3}, {"label": "T", "path": str(tmp_path / "trained")}]}]  # fmt: skip
    experiment = study.write("random.yaml", phases=phases, vectors="all")
    assert study.run(experiment, tmp_path / "out").code == 0
    ours = engine.read_streams(tmp_path / "out" / "checkpoints" / "init")

    transformers = tiny_models.quiet_transformers()
    config = transformers.AutoConfig.from_pretrained(tmp_path / "trained")
    torch.manual_seed(0)
    fresh = transformers.AutoModelForCausalLM.from_config(config)
    fresh.save_pretrained(tmp_path / "fresh")
    assert load_file(tmp_path / "fresh" / "model.safetensors")  # one file
    capture = engine.capture(tmp_path / "fresh", study.root / "corpus.jsonl", tmp_path / "theirs", context=SHORT)
    theirs = engine.read_streams(capture)
    assert ours.keys() == theirs.keys()

    def size(streams, layer, kind):
        picked = [x for (l, _, k), documents in streams.items() if (l, k) == (layer, kind) for x in documents.values()]
        return np.sqrt(np.mean(np.square(np.concatenate(picked), dtype=np.float64)))

    for layer in range(config.num_hidden_layers):
        for kind in "qk":
            assert size(ours, layer, kind) == pytest.approx(size(theirs, layer, kind), rel=0.12), (layer, kind)


def test_the_baseline_is_flagged(finished):
    table = pandas.read_csv(finished / "qk.csv").fillna({"flag": ""})
    marked = table.flag.str.split(";").map(lambda names: "random_weights" in names)
    assert (marked == (table.checkpoint == "init")).all()
    summary = json.loads((finished / "summary.json").read_text())
    assert [c["random"] for c in summary["checkpoints"]] == [True, False, False, False]
    assert [(d["from"], d["to"]) for d in summary["differences"]] == [("A", "B"), ("B", "C")]
    whole, r_q = summary["whole_run"], summary["mean_r_q"]
    assert (whole["from"], whole["to"]) == ("A", "C") and whole["mean_r_q"]["value"] == pytest.approx(r_q["C"]["value"] - r_q["A"]["value"], abs=1e-8)
