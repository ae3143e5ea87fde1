"""`ropewalk forecast`: its arithmetic compared with numpy, what its check measures, and what it refuses."""

import json
import math

import numpy as np
import pandas
import pytest

import engine
import tiny_models
from forecast_bench import CONTEXT, LENGTH, SETTINGS, TRAINED, bench, make_texts  # noqa: F401 (fixtures)
from forecast_reference import Model, jackknife
from tiny_models import MODELS

# A half-split family, partial rotary, interleaved and partial, three kinds of scaling, NoPE layers, windows with two sets of RoPE, and scaled queries.
FAMILIES = ["llama_gqa", "gpt_neox_parallel", "glm", "llama_yarn", "llama_llama3_mha", "phi3", "smollm3_interval", "gemma3_text", "ministral3"]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_setting_is_what_numpy_computes(bench, name):
    folder, capture = bench.model(name)
    rope = json.loads((capture / "capture.json").read_text())["config"]["rope"][0]
    path, factors = bench.factors(name, rope["rotary_dim"] // 2)
    out, _ = bench.run(name, [*SETTINGS, f"longrope:{path}"])
    table = pandas.read_csv(out / "forecast.csv")
    model = Model(folder, capture, TRAINED, CONTEXT, factors)
    heads = sorted(head for kind, *head in model.centres.means if kind == "q" and head[0] in model.layers)
    assert table[table.layer.isna()].setting.tolist() == [*SETTINGS, f"longrope:{path}"]
    for setting, rows in table.groupby("setting"):
        whole, mine = rows[rows.layer.isna()].iloc[0], rows[rows.layer.notna()]
        assert mine[["layer", "q_head"]].astype(int).to_numpy().tolist() == [list(head) for head in heads]
        assert (rows.trained == TRAINED).all() and (rows.context == CONTEXT).all() and whole.heads == len(heads)
        of_heads = []
        for row in mine.itertuples():
            numbers, own, then = model.forecast(int(row.layer), int(row.q_head), "longrope:" if "longrope" in setting else setting)
            for name_of, cases in numbers.items():
                assert getattr(row, name_of) == pytest.approx(cases[0], abs=1e-6)
                assert getattr(row, f"{name_of}_se") == pytest.approx(jackknife(cases, model.centres.sizes), rel=1e-4, abs=1e-6)
            assert own[int(row.preferred)] == pytest.approx(own.max(), abs=1e-12)
            if np.ptp(then) < 1e-12:
                assert math.isnan(row.preferred_then) and math.isnan(row.moved) and setting in ("nope", "still:40")
            else:
                assert then[int(row.preferred_then)] == pytest.approx(then.max(), abs=1e-12)
                assert row.moved == pytest.approx(math.log2((1 + row.preferred_then) / (1 + row.preferred)), abs=1e-6)
                assert row.moved_low < row.moved < row.moved_high
            of_heads.append(numbers)
        for name_of in of_heads[0]:
            means = np.mean([numbers[name_of] for numbers in of_heads], 0)
            assert whole[name_of] == pytest.approx(means[0], abs=1e-6)
            assert whole[f"{name_of}_se"] == pytest.approx(jackknife(means, model.centres.sizes), rel=1e-4, abs=1e-6)
        if setting not in ("none", "still:inf", "theta:x1", "linear:1"):
            assert whole.disturbance > 1e-4, setting


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_not_changed_is_exactly_zero(bench, name):
    out, _ = bench.run(name, ["none", "still:inf", "still:1e12", "theta:x1"])
    table = pandas.read_csv(out / "forecast.csv")
    assert (table.disturbance == 0).all() and (table.disturbance_se == 0).all() and (table["shift"] == 0).all()
    assert (table.score == table.excursion).all()
    assert table.groupby("setting").score.first().nunique() == 1


def test_the_context_that_it_was_trained_at(bench, tmp_path):
    """Of the config, its scaling's first; the capture's own plays no part."""
    said = {}
    for name in ("llama_gqa", "llama_yarn"):
        done = engine.run("forecast", bench.model(name)[1], "--context", CONTEXT, "--rope", "none", "--out", tmp_path / name, "--format", "json", "--quiet")
        assert done.code == 0, done.stderr
        said[name] = done.stdout.splitlines()[0]
        config = MODELS[name].config
        trained = config["rope_parameters"].get("original_max_position_embeddings", config["max_position_embeddings"])
        assert (pandas.read_csv(tmp_path / name / "forecast.csv").trained == trained).all()
        assert f"trained at {trained} tokens" in said[name]
    assert "(max_position_embeddings of its config)" in said["llama_gqa"]
    assert "(original_max_position_embeddings of its config)" in said["llama_yarn"]
    folder = bench.model("llama_gqa")[0]
    longer = tiny_models.write_corpus(tmp_path / "longer.jsonl", make_texts(1, 12, 2 * LENGTH))
    done = engine.run("capture", folder, "--corpus", longer, "--out", tmp_path / "long", "--context", 2 * LENGTH, "--dtype", "float32", "--quiet")
    assert done.code == 0
    first = engine.run("forecast", tmp_path / "long", "--context", CONTEXT, "--rope=none", "--out", tmp_path / "of-long", "--format", "json", "--quiet").stdout
    assert "trained at 128 tokens" in first


def test_angles_that_depend_on_the_length(bench):
    """Dynamic RoPE turns long documents by other angles than the capture's, which are taken."""
    out, _ = bench.run("llama_dynamic", ["none", "still:inf", "theta:x2"])
    table = pandas.read_csv(out / "forecast.csv").set_index("setting")
    assert table.flag.str.contains("by_length").all()
    assert (table.disturbance[["none", "still:inf"]] == 0).all() and (table.disturbance["theta:x2"] > 0).all()
    plain, _ = bench.run("llama_gqa", ["none"])
    assert not pandas.read_csv(plain / "forecast.csv").flag.str.contains("by_length").any()


def test_what_is_printed(bench):
    out, said = bench.run("llama_gqa", ["nope", "none", "theta:x8"])
    table = pandas.read_csv(out / "forecast.csv")
    ranked = table[table.layer.isna()].sort_values("score")
    lines = said.splitlines()
    assert f"trained at {TRAINED} tokens (--trained); forecast for {CONTEXT}, 16 heads with RoPE" in lines[0]
    assert [line.split()[0] for line in lines[2:]] == ranked.setting.tolist()
    for line, score in zip(lines[2:], ranked.score):
        assert float(line.split()[1]) == pytest.approx(score, abs=6e-5)


def test_the_figure_draws_the_table(bench):
    out, _ = bench.run("smollm3_interval", ["none", "theta:x8", "yarn:4"])
    spec = json.loads((out / "figures" / "forecast.vl.json").read_text())
    table = pandas.read_csv(out / "forecast.csv")
    settings = table[table.layer.isna()].set_index("setting")
    drawn = [row for row in spec["datasets"]["settings"] if row["kind"].startswith("score")]
    assert [row["setting"] for row in drawn] == settings.sort_values("score").index.tolist()
    for row in drawn:
        assert row["value"] == pytest.approx(settings.score[row["setting"]], rel=1e-6)
        assert row["high"] > row["value"] > row["low"]
    heads = table[table.layer.notna()]
    rows = {(row["setting"], row["head"]): row for row in spec["datasets"]["heads"]}
    assert len(rows) == len(heads)
    for head in heads.itertuples():
        row = rows[head.setting, f"L{head.layer:.0f}H{head.q_head:.0f}"]
        assert row["value"] == pytest.approx(head.score, rel=1e-6, abs=1e-9)
        assert row["kind"].startswith("logits beyond") == bool(head.breaks)


def test_without_blocks_there_are_no_errors(bench, tmp_path):
    out = bench.captured(bench.model("llama_gqa")[0], tmp_path / "one", "--documents", 1)
    done = engine.run(*bench.command(out, ["none", "theta:x8"], out=tmp_path / "out"))
    assert done.code == 0, done.stderr
    table = pandas.read_csv(tmp_path / "out" / "forecast.csv")
    assert table.disturbance.notna().all() and table.disturbance_se.isna().all() and table.moved_low.isna().all()
    assert (table.flag == "no_se").all() and (table.breaks == 0).all()


@pytest.mark.parametrize(
    "name, settings, options, code, words",
    [
        ("llama_gqa", ["theta"], [], 2, "--rope 'theta': is not a RoPE setting"),
        ("llama_gqa", ["theta:0"], [], 2, "expected a theta above 0"),
        ("llama_gqa", ["theta:xlots"], [], 2, "found 'lots', expected a theta above 0"),
        ("llama_gqa", ["theta:1e300"], [], 2, "a number that float32 holds"),
        ("llama_gqa", ["yarn:0.5"], [], 2, "at least 1"),
        ("llama_gqa", ["yarn:4x"], [], 2, "found '4x'"),
        ("llama_gqa", ["still:-1"], [], 2, "a wavelength in tokens above 0"),
        ("llama_gqa", ["magic:4"], [], 2, "--rope 'magic:4': is not a RoPE setting"),
        ("llama_gqa", ["longrope:/nowhere.json"], [], 4, "/nowhere.json"),
        ("llama_yarn", ["theta:1"], [], 2, "which the model's YaRN cannot scale"),
        ("gpt2", ["yarn:4"], [], 2, "--rope: found a model without RoPE ('gpt2'"),
        ("bloom", ["none"], [], 2, "--rope: found a model without RoPE ('bloom'"),
        ("llama_gqa", ["none"], ["--check"], 2, "--check: needs --corpus"),
        ("llama_gqa", ["none"], ["--documents", 3], 2, "--documents: is for --check"),
    ],
)
def test_refusals(bench, name, settings, options, code, words):
    assert words in bench.refused(bench.model(name)[1], settings, *options, code=code)


@pytest.mark.parametrize(
    "context, options, words",
    [
        (20, [], f"--context: found 20 tokens, expected at least the {TRAINED} that the model was trained at (--trained)"),
        (10**9, [], "--context: found 1000000000 tokens, expected at most 16777216"),
        (10**7, ["--memory", "1MB"], "--context: 10000000 tokens need"),
    ],
)
def test_contexts_that_cannot_be(bench, context, options, words):
    assert words in bench.refused(bench.model("llama_gqa")[1], ["none"], *options, context=context, code=2)


def test_captures_without_what_it_needs(bench, tmp_path):
    folder = bench.model("llama_gqa")[0]
    without = bench.captured(folder, tmp_path / "without", "--no-pre-rope")
    assert "has no sums before RoPE" in bench.refused(without, ["none"], code=3)
    factors, _ = bench.factors("wrong", 3)
    assert "have 8 rotary pairs" in bench.refused(bench.model("llama_gqa")[1], [f"longrope:{factors}"], code=3)


def test_a_used_folder_is_left_alone(bench, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    done = engine.run(*bench.command(bench.model("llama_gqa")[1], ["none"], out=tmp_path / "out"))
    assert done.code == 2 and list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "mine"]
