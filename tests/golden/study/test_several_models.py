"""Several models in one study: compared in tables and figures, each with its own shape, tokenizer and context."""

import csv
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import time

import pandas
import pytest

import drawn
import engine
import plain_models
import published_captures
import tiny_models
from trust_study import spoil_weights

VOCABULARY = tiny_models.VOCAB
SHAPES = {"small": ("llama_gqa", 3), "grouped": ("smollm3_interval", 5), "learned": ("gpt2", 4)}
CONTEXTS = {"small": 40, "grouped": 24, "learned": 40}
LABELS = list(SHAPES)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for label, (name, layers) in SHAPES.items():
        model = tiny_models.MODELS[name]
        key = "n_layer" if name == "gpt2" else "num_hidden_layers"
        plain_models.write(dataclasses.replace(model, config={**model.config, key: layers}, shard="5GB"), folder / label)
    rows = [{"tokens": [(i * i + 3 * j * (i + 1)) % VOCABULARY for j in range(48)]} for i in range(20)]
    (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def write(root, path, **keys):
    path.write_text(json.dumps({"name": "Three", "device": "cpu", "dtype": "float32", "corpus": {"path": str(root / "texts.jsonl")}, **keys}))
    return path


def models(root, **more):
    return [{"label": label, "path": str(root / label), "context": CONTEXTS[label], **more} for label in LABELS]


def run(file, out, *options):
    return engine.run("run", file, "--out", out, "--format", "json", *options)


def table(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def three(root, tmp_path_factory):
    out = tmp_path_factory.mktemp("three")
    done = run(write(root, out / "three.yaml", models=models(root)), out / "out")
    assert done.code == 0, done.stderr
    return done, out / "out"


def test_one_table_has_the_numbers_of_each_alone(root, three, tmp_path):
    _, out = three
    rows = table(out / "qk.csv")
    assert list(dict.fromkeys(row["checkpoint"] for row in rows)) == LABELS
    assert all(row["model"] == row["checkpoint"] and row["order"] == "0" and row["phase"] == "" for row in rows)
    for label in LABELS:
        phase = {"name": "P", "context": CONTEXTS[label], "checkpoints": [{"label": label, "path": str(root / label)}]}
        assert run(write(root, tmp_path / "alone.yaml", phases=[phase]), tmp_path / label).code == 0
        for name in ("qk.csv", "heads.csv", "bands.csv", "curves.csv"):
            named = ("model", "phase")
            mine = [{k: v for k, v in row.items() if k not in named} for row in table(out / name) if row["checkpoint"] == label]
            alone = [{k: v for k, v in row.items() if k not in named} for row in table(tmp_path / label / name)]
            if name == "heads.csv":  # which distances are preferred is asked below the smallest context of the study
                smallest = min(CONTEXTS.values())
                assert {row["dist_context"] for row in mine} <= {str(smallest), ""}
                if CONTEXTS[label] > smallest:
                    asked = ("dist_argmax", "dist_range", "dist_near", "dist_reach", "dist_context")
                    mine, alone = ([{k: v for k, v in row.items() if not k.startswith(asked)} for row in rows] for rows in (mine, alone))
            assert mine == alone and (mine or name in ("bands.csv", "curves.csv"))


def test_nothing_is_compared_across_models(three):
    _, out = three
    summary = json.loads((out / "summary.json").read_text())
    assert summary["differences"] == [] and len((out / "changes.csv").read_text().splitlines()) == 1
    heads = table(out / "heads.csv")
    assert all(row["pc0_overlap"] == "" and "axis_changed" not in row["flag"] for row in heads)


def test_the_table_of_models(three):
    done, out = three
    summary = json.loads((out / "summary.json").read_text())
    found = {model["label"]: model for model in summary["models"]}
    assert list(found) == LABELS
    assert [found[label]["layers"] for label in LABELS] == [3, 5, 4]
    assert [found[label]["context"] for label in LABELS] == [40, 24, 40]
    assert found["learned"]["architecture"] == "gpt2" and found["grouped"]["kv_heads"] < found["grouped"]["query_heads"]
    for label in LABELS:
        bias = [float(row["bias_strength"]) for row in table(out / "heads.csv") if row["checkpoint"] == label and row["bias_strength"]]
        assert found[label]["bias_strength_above_0"] == pytest.approx(sum(one > 0 for one in bias) / len(bias))
        for key in ("mean_abs_r_k_a", "mean_abs_r_q_a", "mean_plane_var_fraction", "mean_bias_strength", "mean_r2cv_q"):
            assert found[label][key] == summary[key][label]
        assert found[label]["position_dominated"] == summary["taxonomy"][label]["position-dominated"]
    lines = done.stdout.splitlines()
    assert lines[0].startswith("model ") and "phase" not in lines[0]
    assert "context" in lines[0] and [line.split()[:2] for line in lines[1:4]] == [[label, str(CONTEXTS[label])] for label in LABELS]


def test_models_of_several_contexts_get_a_warning(root, three, tmp_path):
    said = run(write(root, tmp_path / "three.yaml", models=models(root)), tmp_path / "three", "--dry-run").stderr
    assert "'small' is measured at 40 tokens and 'grouped' at 24: r, classes and slopes depend on the context" in said
    same = [{**one, "context": 24} for one in models(root)]
    assert "depend on the context" not in run(write(root, tmp_path / "same.yaml", models=same), tmp_path / "same", "--dry-run").stderr
    _, out = three
    specs = {name: json.loads((out / "figures" / f"{name}.vl.json").read_text()) for name in ("taxonomy", "depth_r_q", "phase_portraits")}
    for name, spec in specs.items():
        text = " ".join(spec["title"]["subtitle"])
        assert "Contexts differ" in text and "is the offset between queries and keys" in text, name
    assert [row["phase"] for row in specs["depth_r_q"]["datasets"]["phases"]] == ["@40", "@24", "@40"]
    assert [view["title"]["subtitle"].split(",")[0] for view in specs["phase_portraits"]["concat"]] == ["@40", "@24", "@40"]


def test_published_numbers_stand_beside_those_of_their_models(root, three, tmp_path):
    published = json.loads((engine.repository() / "data/reference/smollm3.json").read_text())["other_models"]
    listed = models(root)
    named = [{**listed[0], "label": "Qwen3-4B"}, listed[2]]
    done = run(write(root, tmp_path / "named.yaml", models=named), tmp_path / "out")
    assert done.code == 0, done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    mine, other = summary["models"]
    assert mine["published"] == {"context": 131072, **published["models"]["qwen3-4b"]} and "published" not in other
    assert set(mine["published"]) <= set(mine), "under the keys of the measured ones"
    total = {"all eleven": published["models"]["all eleven"]}
    assert summary["other_models"] == {"about": published["about"], "context": 131072, "models": total}
    shown = engine.run("compare", tmp_path / "out" / "qk.csv", "--reference", tmp_path / "out" / "summary.json")
    assert shown.code == 0 and "other models, at a context of 131072 tokens" in shown.stdout, shown.stderr
    nobody = json.loads((three[1] / "summary.json").read_text())
    assert "other_models" not in nobody and not any("published" in model for model in nobody["models"])


def test_figures_have_a_place_for_each_model_and_no_lines(three, tmp_path):
    _, out = three
    specs = {path.name.split(".")[0]: json.loads(path.read_text()) for path in (out / "figures").glob("*.vl.json")}
    titles = {name: spec["title"]["text"] for name, spec in specs.items()}
    assert titles["position_signal"] == "Three · Position correlation on PC0 by model"
    assert titles["depth_r_q"] == "Three · Query correlation by depth and model"
    assert not any("training" in title for title in titles.values())
    rows = [row for row in specs["position_signal"]["datasets"]["means"] if row["series"] == "mean r_q (queries)"]
    assert [(row["checkpoint"], row["segment"]) for row in rows] == [(label, i) for i, label in enumerate(LABELS)], "no line joins two"
    cells = specs["depth_r_q"]["datasets"]["cells"]
    assert list(dict.fromkeys(row["checkpoint"] for row in cells)) == LABELS and {row["bin"] for row in cells} == set(range(10))
    assert [view["title"]["text"] for view in specs["phase_portraits"]["concat"]] == LABELS
    # The same figures from the table without the study.
    again = engine.run("figures", out / "qk.csv", "--out", tmp_path, "--format", "json", "--title", "Three")
    assert again.code == 0, again.stderr
    for name, spec in specs.items():
        assert json.loads((tmp_path / f"{name}.vl.json").read_text()) == spec, name


def test_single_heads_of_several_models(three, tmp_path):
    _, out = three
    rope = {}
    for row in table(out / "heads.csv"):
        rope.setdefault((int(row["layer"]), int(row["q_head"])), []).append(row["rope"])
    shared = [head for head, all in rope.items() if len(all) == 3]
    assert any(len(set(rope[head])) > 1 for head in shared)
    heads = ",".join(f"L{layer}H{head}" for layer, head in shared)
    done = engine.run("figures", out / "qk.csv", "--out", tmp_path, "--format", "json", "--distance", heads)
    assert done.code == 0, done.stderr
    spec = json.loads((tmp_path / "distance_heads.vl.json").read_text())
    words = " ".join(spec["title"]["subtitle"])
    assert "Colours: models." in words and "checkpoint" not in words and "later" not in words
    for head, view in zip(shared, spec["concat"], strict=True):
        said = view["title"]["subtitle"]
        assert said.split(":")[0] == ({"1": "RoPE", "0": "no RoPE"}.get(rope[head][0], "") if len(set(rope[head])) == 1 else ""), head


def test_no_axis_of_time(three, tmp_path):
    done = engine.run("figures", three[1] / "qk.csv", "--out", tmp_path, "--format", "json", "--axis", "log-steps")
    said = "axis log-steps is for one run, but these are several models; use the axis labels"
    assert done.code == 3 and said in done.stderr and "experiment" not in done.stderr, done.stderr


def test_positions_of_different_contexts_have_labels_of_their_own(root, tmp_path):
    done = run(write(root, tmp_path / "three.yaml", models=models(root), plasticity=True), tmp_path / "out", "--format", "svg")
    assert done.code == 0, done.stderr
    labels = drawn.Drawing(tmp_path / "out" / "figures" / "plasticity.svg").texts("role-axis-label")
    assert " ".join(f"{i / 10:.1f}" for i in range(11)) in " ".join(labels), labels


def test_what_is_measured_is_kept(root, three, tmp_path):
    _, out = three
    before = (out / "qk.csv").read_bytes()
    file = write(root, out.parent / "three.yaml", models=models(root))
    again = run(file, out)
    assert again.code == 0 and again.stderr.count("measured already") == 3 and (out / "qk.csv").read_bytes() == before
    turned = run(write(root, tmp_path / "turned.yaml", models=models(root)[::-1]), tmp_path / "out", "--only", "small")
    assert turned.code == 0 and {row["checkpoint"] for row in table(tmp_path / "out" / "qk.csv")} == {"small"}
    rest = run(tmp_path / "turned.yaml", tmp_path / "out")
    assert rest.code == 0 and rest.stderr.count("measured already") == 1
    rows = {(r["checkpoint"], r["layer"], r["q_head"], r["pc"]): r for r in table(tmp_path / "out" / "qk.csv")}
    assert list(dict.fromkeys(key[0] for key in rows)) == LABELS[::-1]
    assert rows == {(r["checkpoint"], r["layer"], r["q_head"], r["pc"]): r for r in table(out / "qk.csv")}
    plan = run(file, out, "--dry-run")
    assert plan.stdout.startswith("Three: 3 models, 20 documents")


def test_captured_vectors_of_several_models(tmp_path):
    shapes = {"a": dict(queries=4, keys=2, d=8), "b": dict(queries=8, keys=2, d=16)}
    for seed, (label, shape) in enumerate(shapes.items()):
        files = published_captures.capture_files(seed, [(0, 0), (1, 3)], **shape)
        published_captures.write_folder(files, tmp_path / label)
    file = tmp_path / "vectors.yaml"
    file.write_text(json.dumps({"name": "V", "models": [{"label": label, "vectors": label, "context": 4096} for label in shapes]}))
    done = run(file, tmp_path / "out")
    assert done.code == 0, done.stderr
    rows = table(tmp_path / "out" / "qk.csv")
    assert {(row["model"], row["order"]) for row in rows} == {("a", "0"), ("b", "0")}
    assert engine.run("audit", file).code == 0


def test_one_line_says_what_is_wrong(root, tmp_path):
    listed = models(root)
    cases = [
        ([{**listed[0], "label": "b"}, {**listed[1], "label": "b"}], "label 'b' is already in line"),
        ([{"label": "gone", "path": str(root / "gone")}], "'gone': path "),
        ([{**listed[0], "context": [8, 16]}], "models that are compared have one context each"),
        ([{**listed[0], "tokenizer": "nowhere.json"}], "tokenizer 'nowhere.json' was not found"),
    ]  # fmt: skip
    for broken, said in cases:
        result = run(write(root, tmp_path / "e.yaml", models=broken), tmp_path / "out")
        assert result.code == 3 and said in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr
        assert not (tmp_path / "out" / "qk.csv").exists()


TABLES = ("qk.csv", "heads.csv", "bands.csv", "curves.csv", "changes.csv", "summary.json")


def same(one, two):
    return [name for name in TABLES if (one / name).read_bytes() != (two / name).read_bytes()] == []


def test_one_that_is_broken_does_not_stop_the_others(root, three, tmp_path):
    for label in LABELS:
        shutil.copytree(root / label, tmp_path / label)
    spoil_weights(tmp_path / "grouped", "nan")
    file = write(root, tmp_path / "three.yaml", models=[{**model, "path": model["label"]} for model in models(root)])
    done = run(file, tmp_path / "out", "--keep-going")
    last = done.stderr.strip().splitlines()[-1]
    assert done.code == 3 and last.startswith("error: 1 of 3 models were not measured: 'grouped': queries in"), done.stderr
    kept = [row for row in table(three[1] / "heads.csv") if row["checkpoint"] != "grouped"]
    assert table(tmp_path / "out" / "heads.csv") == kept
    shutil.rmtree(tmp_path / "grouped")
    shutil.copytree(root / "grouped", tmp_path / "grouped")
    mended = run(file, tmp_path / "out")
    assert mended.code == 0 and mended.stderr.count("measured already") == 2 and same(tmp_path / "out", three[1])


@pytest.mark.skipif(not os.environ.get("ROPEWALK_MPIRUN"), reason="built without MPI")
def test_several_processes_give_the_numbers_of_one(root, three, tmp_path):
    file = write(root, tmp_path / "three.yaml", models=models(root))
    allow = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    words = [os.environ["ROPEWALK_MPIRUN"], "-n", "2", engine.program(), "run", file, "--out", tmp_path / "out", "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env={**os.environ, **allow}, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    for name in ("qk.csv", "heads.csv", "bands.csv", "curves.csv"):
        mine, alone = (pandas.read_csv(out / name) for out in (tmp_path / "out", three[1]))
        pandas.testing.assert_frame_equal(mine, alone, rtol=1e-6, atol=1e-8)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["models"][1]["label"] == "grouped"


def test_an_interrupted_study_goes_on_with_the_model_it_was_at(root, tmp_path):
    rows = (root / "texts.jsonl").read_text() * 25
    (tmp_path / "texts.jsonl").write_text(rows)
    file = write(root, tmp_path / "three.yaml", models=models(root), corpus={"path": "texts.jsonl"})
    out = tmp_path / "out"
    process = subprocess.Popen([engine.program(), "run", file, "--out", out, "--format", "json"], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (out / "checkpoints" / ".grouped.state").exists():
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130 and "documents of 'grouped'; run the same command again to resume" in stderr, stderr
    again = run(file, out)
    assert again.code == 0 and again.stderr.count("measured already") == 1 and "grouped: resuming after" in again.stderr
    assert run(file, tmp_path / "fresh").code == 0 and same(out, tmp_path / "fresh")
