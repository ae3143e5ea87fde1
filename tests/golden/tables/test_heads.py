"""heads.csv compared with numpy and scikit-learn on the same vectors: every number, and every standard error by a separate jackknife."""

import json

import numpy as np
import pandas
import pytest
import safetensors
import safetensors.numpy

import bands_reference
import engine
import heads_reference
import plain_models
import rows_reference
import tiny_models

CONTEXT = 160
DOCUMENTS = 24
MODELS = ["smollm3_interval", "gpt_neox_parallel", "qwen3_yarn"]  # NoPE layers, partial rotary, q/k norm
FIRST = ["model", "checkpoint", "phase", "order", "step", "tokens", "layer", "q_head", "kv_head", "rope"]


def capture(model, root, name, *options, context=CONTEXT):
    rng = np.random.default_rng(5)
    vocabulary = json.loads((model / "config.json").read_text())["vocab_size"]
    texts = [rng.integers(0, vocabulary, rng.integers(80, CONTEXT + 1)).tolist() for _ in range(DOCUMENTS)]
    corpus = root / "tokens.jsonl"
    corpus.write_text("".join(json.dumps({"id": i, "tokens": t}) + "\n" for i, t in enumerate(texts)))
    done = engine.run("capture", model, "--corpus", corpus, "--out", root / name, "--context", context, "--min-tokens", 1, "--vectors", "all",
                      "--dtype", "float32", "--sliding", "--blocks", 8, "--label", name, "--quiet", *options)  # fmt: skip
    assert done.code == 0, done.stderr
    return root / name


@pytest.fixture(scope="module", params=MODELS)
def study(request, tmp_path_factory):
    root = tmp_path_factory.mktemp(request.param)
    capture(plain_models.write(tiny_models.MODELS[request.param], root / "model"), root, "run")
    for source in ("moments", "vectors"):
        done = engine.run("analyze", root / "run", "--from", source, "--out", root / source, "--quiet")
        assert done.code == 0, done.stderr
    return root


def streams_of(folder):
    info = json.loads((folder / "capture.json").read_text())
    streams = {}
    for key, documents in engine.read_streams(folder).items():
        streams[key] = (
            np.concatenate(list(documents.values())).astype(np.float64),
            np.concatenate([np.arange(len(x)) for x in documents.values()]).astype(np.float64),
            np.concatenate([np.full(len(x), i) for i, x in documents.items()]),
        )
    return info, streams


def expected(info, streams, layer, q_head, blocks):
    group = info["config"]["n_q_heads"] // info["config"]["n_kv_heads"]
    units = (info["config"]["attention_scale"], info["context"])
    (q, q_t, q_id), (k, k_t, k_id) = streams[layer, q_head, "q"], streams[layer, q_head // group, "k"]
    q_g, k_g = q_id % blocks, k_id % blocks
    full, axes = heads_reference.head(q, q_t, q_g, k, k_t, k_g, *units)
    replicates, sizes = [], []
    for b in range(blocks):
        i, j = q_g != b, k_g != b
        replicates.append(heads_reference.head(q[i], q_t[i], q_g[i], k[j], k_t[j], k_g[j], *units, like=axes))
        sizes.append((~i).sum() + (~j).sum())
    full["drift_stability"] = min(one[1]["a"] @ axes["a"] for one in replicates)
    errors = heads_reference.jackknife({key: value for key, value in full.items() if key != "drift_stability"}, [one[0] for one in replicates], np.array(sizes, float))
    # Where components nearly tie, rounding decides their directions.
    steady = min(abs(one[1][name] @ axes[name]) for one in replicates for name in ("pc0", "within", "b")) > 0.8
    return full, errors, axes, steady


@pytest.mark.parametrize("source", ["moments", "vectors"])
def test_every_number_and_its_error(study, source):
    table = pandas.read_csv(study / source / "heads.csv")
    assert list(table.columns[: len(FIRST)]) == FIRST and table.columns[-1] == "flag"
    info, streams = streams_of(study / "run")
    compared = 0
    blocks = info["blocks"] if source == "moments" else 16  # as vectors are dealt
    for row in table.iloc[:: max(1, len(table) // 2)].to_dict("records"):
        full, errors, axes, steady = expected(info, streams, row["layer"], row["q_head"], blocks)
        # Columns of what this capture does not keep are empty; other tests check them.
        names = {name for name in table.columns if f"{name}_se" in table.columns and table[name].notna().any()} - {"pc0_overlap", *bands_reference.COLUMNS, *rows_reference.COLUMNS, "dist_context"}
        assert names == set(full), names ^ set(full)
        for name, value in full.items():
            assert row[name] == pytest.approx(value, rel=1e-5, abs=1e-7), (row["layer"], row["q_head"], name)
        assert np.isnan(row["drift_stability_se"])
        if not steady:
            continue
        for name, error in errors.items():
            assert row[f"{name}_se"] == pytest.approx(error, rel=1e-4, abs=2e-7), (row["layer"], row["q_head"], name)
            compared += 1
        parts = [row[name] for name in ("pc0_offset", "pc0_pos_q", "pc0_pos_k", "pc0_content")]
        assert sum(parts) == pytest.approx(1, abs=1e-8) and min(parts) >= 0
    assert compared > 0


def test_no_axis_says_more_than_the_whole_vector(study):
    heads = pandas.read_csv(study / "moments" / "heads.csv")
    components = pandas.read_csv(study / "moments" / "qk.csv").merge(heads[["layer", "q_head", "r2_q", "r2_k", "r2_pc10_q", "r2_pc10_k"]], on=["layer", "q_head"])
    for kind in "qk":
        assert (components[f"r2_{kind}"] >= components[f"r_{kind}"] ** 2 - 1e-7).all()
        assert (heads[f"r2_{kind}"] >= heads[f"r_{kind}_a"] ** 2 - 1e-7).all()
        assert (heads[f"r2_{kind}"] >= heads[f"r2_pc10_{kind}"] - 1e-7).all()
        assert (heads[f"r2_pc10_{kind}"] >= heads[f"r2_pc2_{kind}"] - 1e-7).all()


def test_nothing_moves_outside_the_plane(study):
    """The covariance with position of queries and keys together lies along a: orthogonal to the plane there is none."""
    info, streams = streams_of(study / "run")
    _, _, axes, _ = expected(info, streams, 0, 0, info["blocks"])
    _, _, basis = np.linalg.svd(np.stack([axes["a"], axes["b"]]))
    scale = np.sqrt(np.diag(basis[2:] @ axes["pool"] @ basis[2:].T))
    assert np.abs(basis[2:] @ axes["drift"] / scale).max() < 1e-9


def test_the_summary_holds_their_means(study):
    heads = pandas.read_csv(study / "moments" / "heads.csv")
    summary = json.loads((study / "moments" / "summary.json").read_text())
    for key in ("r2cv_q", "logit_pos_share", "pc0_offset", "bias_context", "rank90_k"):
        leaf = summary[f"mean_{key}"]["run"]
        assert leaf["value"] == pytest.approx(heads[key].mean(), rel=1e-7) and leaf["se"] > 0
        rope = heads[heads.rope == 1][key]
        assert summary["rope"][f"mean_{key}"]["run"]["value"] == pytest.approx(rope.mean(), rel=1e-7)
    assert summary["mean_abs_r_k_a"]["run"]["value"] == pytest.approx(heads.r_k_a.abs().mean(), rel=1e-7)
    assert len(summary["depth_r2cv_k"]["run"]) == 10


def test_figures_of_heads_are_of_these_numbers(study):
    heads = pandas.read_csv(study / "moments" / "heads.csv")
    summary = json.loads((study / "moments" / "summary.json").read_text())
    done = engine.run("figures", study / "moments" / "qk.csv", "--out", study / "figures", "--format", "svg")
    assert done.code == 0 and "continuing without" not in done.stderr, done.stderr
    data = {name: json.loads((study / "figures" / f"{name}.vl.json").read_text())["datasets"] for name in ("how_positional", "pc0_composition", "drift_bias")}
    lines = {row["series"]: row for row in data["how_positional"]["means"]}
    for series, key in [("R² of queries", "r2cv_q"), ("R² of keys", "r2cv_k"), ("position in logits", "logit_pos_share")]:
        assert lines[series]["mean"] == pytest.approx(heads[key].mean(), rel=1e-7)
        assert lines[series]["sd"] == pytest.approx(heads[key].std(), rel=1e-6)
        assert lines[series]["se"] == summary[f"mean_{key}"]["run"]["se"]
    parts = data["pc0_composition"]["parts"]
    assert [row["share"] for row in parts] == pytest.approx([heads[f"pc0_{part}"].mean() for part in ("offset", "pos_q", "pos_k", "content")], rel=1e-7)
    assert parts[-1]["to"] == pytest.approx(1, abs=1e-8)
    assert data["drift_bias"]["means"][0]["mean"] == pytest.approx(heads.bias_context.mean(), rel=1e-7)
    assert data["drift_bias"]["means 2"][0]["mean"] == pytest.approx(heads.bias_strength.mean(), rel=1e-7)


def test_what_a_capture_does_not_say_is_empty_and_flagged(study, tmp_path):
    """An older capture states neither scale nor context."""
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "vectors").symlink_to(study / "run" / "vectors")
    info = json.loads((study / "run" / "capture.json").read_text())
    del info["config"]["attention_scale"], info["context"]
    (folder / "capture.json").write_text(json.dumps(info))
    done = engine.run("analyze", folder, "--from", "vectors", "--out", tmp_path / "other", "--quiet")
    assert done.code == 0, done.stderr
    old, new = pandas.read_csv(tmp_path / "other" / "heads.csv"), pandas.read_csv(study / "vectors" / "heads.csv")
    for key in ("logit_sd", "logit_const", "bias_context"):
        assert old[key].isna().all()
    assert old.flag.str.contains("no_scale").all() and old.flag.str.contains("no_context").all()
    assert not new.flag.fillna("").str.contains("no_scale").any()
    assert (old.r2cv_q == new.r2cv_q).all() and (old.bias_strength == new.bias_strength).all()


def test_a_folder_that_does_not_say_whether_layers_rotate(study, tmp_path):
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "vectors").symlink_to(study / "run" / "vectors")
    config = json.loads((study / "run" / "capture.json").read_text())["config"]
    group = config["n_q_heads"] // config["n_kv_heads"]
    done = engine.run("analyze", folder, "--from", "vectors", "--kv-group", group, "--out", tmp_path / "tables", "--quiet")
    assert done.code == 0, done.stderr
    for name in ("qk.csv", "heads.csv"):
        table = pandas.read_csv(tmp_path / "tables" / name)
        assert table.rope.isna().all() and len(table) == len(pandas.read_csv(study / "vectors" / name))
    summary = json.loads((tmp_path / "tables" / "summary.json").read_text())
    assert [summary[kind]["heads"]["foreign"]["measured"] for kind in ("rope", "nope")] == [0, 0]
    done = engine.run("figures", tmp_path / "tables" / "qk.csv", "--out", tmp_path / "figures", "--format", "json", "--quiet")
    assert done.code == 0, done.stderr


@pytest.mark.parametrize("kept", [[], ["query.block_mean", "key.block_mean"]])
def test_moments_without_blocks_have_values_and_no_errors(study, tmp_path, kept):
    with safetensors.safe_open(study / "run" / "moments.safetensors", "numpy") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys() if ".block_" not in name or name in kept}
    (tmp_path / "less").mkdir()
    safetensors.numpy.save_file(tensors, tmp_path / "less" / "moments.safetensors", metadata)
    done = engine.run("analyze", tmp_path / "less", "--out", tmp_path / "tables")
    assert done.code == 0, done.stderr
    (warning,) = [line for line in done.stderr.splitlines() if "warning" in line]
    assert "'query.block_mean'" in warning and "no standard errors; capture it again" in warning
    for name in ("qk.csv", "heads.csv"):
        less, whole = pandas.read_csv(tmp_path / "tables" / name), pandas.read_csv(study / "moments" / name)
        resting = {"n_blocks", "flag", "r2cv_q", "r2cv_k", "pc0_stability", "drift_stability", "checkpoint", "model"}
        for column in set(whole.columns) - resting:
            if column.endswith("_se"):
                assert less[column].isna().all(), column
            else:
                assert less[column].equals(whole[column]), column
        assert less.flag.str.contains("no_se").all()
        for column in resting & {"r2cv_q", "r2cv_k", "pc0_stability", "drift_stability"} & set(less.columns):
            assert less[column].isna().all()
    changes = engine.run("analyze", tmp_path / "less", study / "run", "--keep-order", "--out", tmp_path / "both", "--quiet")
    assert changes.code == 3 and "also labelled" in changes.stderr
    merged = engine.run("merge", tmp_path / "less", "--out", tmp_path / "merged")
    assert merged.code == 3 and "tensor 'query.block_" in merged.stderr and "is missing" in merged.stderr


def test_with_hardly_more_tokens_than_dimensions_no_fit_is_better_than_perfect(tmp_path):
    model = plain_models.write(tiny_models.MODELS["llama_gqa"], tmp_path / "model")
    perfect = 0
    for tokens in (3, 5):
        folder = capture(model, tmp_path, f"few-{tokens}", "--documents", 3, context=tokens)
        done = engine.run("analyze", folder, "--out", tmp_path / f"{tokens}", "--quiet")
        assert done.code == 0, done.stderr
        heads = pandas.read_csv(tmp_path / f"{tokens}" / "heads.csv")
        perfect = max(perfect, int((heads[["r2_q", "r2_k"]] >= 1 - 1e-6).to_numpy().sum()))
        assert (heads[["r2_q", "r2_k"]].fillna(0) <= 1).all().all()
        drawn = engine.run("figures", tmp_path / f"{tokens}" / "qk.csv", "--out", tmp_path / f"{tokens}" / "figures", "--format", "json")
        assert drawn.code == 0 and "expected a number from 0 to 1" not in drawn.stderr
    assert perfect > 0, "some fit is perfect"


def test_the_jackknife_of_a_rank_is_that_of_resampling(study):
    """A rank is interpolated between components, so it is not a step function: linear resampling of variances by blocks gives the same error."""
    info, streams = streams_of(study / "run")
    heads = pandas.read_csv(study / "moments" / "heads.csv").set_index(["layer", "q_head"])
    blocks = info["blocks"]
    draws = np.random.default_rng(1).multinomial(blocks, [1 / blocks] * blocks, 4000) - 1
    ratios = []
    for (layer, head, kind), (x, _, ids) in streams.items():
        if kind != "q":
            continue
        basis = np.linalg.eigh(np.cov(x.T))[1][:, ::-1]
        shares = [(lambda values: values / values.sum())((part @ basis).var(axis=0)) for part in (x, *(x[ids % blocks != b] for b in range(blocks)))]
        parts = np.array([shares[0] - one for one in shares[1:]]) * (blocks - 1) / blocks
        spread = np.std([heads_reference.rank90(one) for one in shares[0] + draws @ parts], ddof=1)
        ratios.append(spread / heads.rank90_q_se[layer, head])
    # Draws with replacement vary less by the factor (blocks - 1) / blocks.
    assert 0.8 < np.median(ratios) * np.sqrt(blocks / (blocks - 1)) < 1.15 and max(ratios) < 1.5
