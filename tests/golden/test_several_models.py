"""Several models in one study: side by side in tables and figures, each with a shape, a tokenizer and a context of its own."""

import csv
import dataclasses
import json

import pytest

import engine
import plain_models
import published_captures
import tiny_models

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
    assert done.stdout.startswith("model ") and "phase" not in done.stdout.splitlines()[0]


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
    # The same from the table alone.
    again = engine.run("figures", out / "qk.csv", "--out", tmp_path, "--format", "json", "--title", "Three")
    assert again.code == 0, again.stderr
    for name, spec in specs.items():
        assert json.loads((tmp_path / f"{name}.vl.json").read_text()) == spec, name


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
    places = {"a": dict(queries=4, keys=2, d=8), "b": dict(queries=8, keys=2, d=16)}
    for seed, (label, shape) in enumerate(places.items()):
        files = published_captures.capture_files(seed, [(0, 0), (1, 3)], **shape)
        published_captures.write_folder(files, tmp_path / label)
    file = tmp_path / "vectors.yaml"
    file.write_text(json.dumps({"name": "V", "models": [{"label": label, "vectors": label, "context": 4096} for label in places]}))
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
        ([{**listed[0], "context": 4096}], "context 4096 is beyond the max_position_embeddings"),
        ([{**listed[0], "context": [8, 16]}], "models of one study have one context each"),
        ([{**listed[0], "tokenizer": "nowhere.json"}], "tokenizer 'nowhere.json' is not there"),
    ]  # fmt: skip
    for broken, said in cases:
        result = run(write(root, tmp_path / "e.yaml", models=broken), tmp_path / "out")
        assert result.code == 3 and said in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr
        assert not (tmp_path / "out" / "qk.csv").exists()
