"""`ropewalk forecast --check`: losses under every setting compared with transformers, and the ranks of these losses."""

import numpy as np
import pandas
import pytest
import torch
from scipy.stats import spearmanr

import reference
import tiny_models
from forecast_bench import CONTEXT, SETTINGS, TRAINED, bench, make_texts  # noqa: F401 (fixtures)
from forecast_reference import Model


@torch.no_grad()
def expected_losses(folder, model, setting, texts):
    """Losses of transformers with its angles replaced: one array per document, by the position of the predicting token."""
    network = reference.load(folder)
    theta, factor = model.turned(0, setting)
    rotary = network.model.rotary_emb if hasattr(network, "model") else network.gpt_neox.rotary_emb
    rotary.inv_freq = torch.tensor(theta, dtype=torch.float32)
    rotary.attention_scaling = factor
    losses = []
    for tokens in texts.values():
        ids = torch.tensor([tokens[:CONTEXT]])
        logits = network(input_ids=ids, use_cache=False).logits[0, :-1].double()
        losses.append(torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="none").numpy())
    return losses


@pytest.fixture(scope="module")
def checked(bench):
    path, factors = bench.factors("llama_gqa", 8)
    settings = [*SETTINGS, f"longrope:{path}"]
    out, said = bench.run("llama_gqa", settings, "--check", "--corpus", bench.long)
    return out, said, settings, factors


@pytest.mark.parametrize("name", ["llama_gqa", "gpt_neox_parallel", "glm", "llama_yarn"])
def test_losses_are_those_of_transformers(bench, name):
    folder, capture = bench.model(name)
    settings = ["none", "nope", "theta:x8", "linear:4", "yarn:4", "llama3:8", "still:40"]
    out, _ = bench.run(name, settings, "--check", "--corpus", bench.long)
    table, documents = (pandas.read_csv(out / f"forecast_{one}.csv") for one in ("loss", "documents"))
    model, texts = Model(folder, capture, TRAINED, CONTEXT), make_texts(2, 6, CONTEXT)
    found = set()
    for setting in settings:
        losses = expected_losses(folder, model, setting, texts)
        mine = table[table.setting == setting]
        whole = mine[mine.position.isna()].iloc[0]
        means = np.array([loss.mean() for loss in losses])
        assert whole.loss == pytest.approx(means.mean(), abs=1e-4), setting
        assert whole.loss_se == pytest.approx(means.std(ddof=1) / np.sqrt(len(means)), rel=1e-2)
        assert whole.tokens == sum(map(len, losses))
        for row in mine[mine.position.notna()].itertuples():
            expected = np.mean([loss[int(row.position) : int(row.position_end)].mean() for loss in losses])
            assert row.loss == pytest.approx(expected, abs=3e-4)
        own = documents[(documents.setting == setting) & (documents.position == 128)]
        assert own.loss.to_numpy() == pytest.approx([loss[128:].mean() for loss in losses], abs=3e-4)
        assert len(set(own.digest)) == 6
        found.add(round(whole.loss, 5))
    assert len(found) == len(settings), "settings differ"


def loss_of(documents, settings, begin, end):
    """Sums by setting and document, [settings, documents], and tokens per document."""
    inside = documents[(documents.position >= begin) & (documents.position_end <= end)]
    tokens = (inside.position_end - inside.position).groupby(inside.document).sum() / len(settings)
    sums = (inside.loss * (inside.position_end - inside.position)).groupby([inside.setting, inside.document]).sum().unstack()
    return sums.loc[settings].to_numpy(), tokens.to_numpy()


def test_ranks_follow_from_the_tables(checked):
    out, _, settings, _ = checked
    table = pandas.read_csv(out / "forecast.csv")
    scores = table[table.layer.isna()].set_index("setting").loc[settings]
    scores["sum"] = scores.disturbance + scores.excursion
    documents = pandas.read_csv(out / "forecast_documents.csv")
    check = pandas.read_csv(out / "forecast_check.csv")
    assert check[["positions", "ranked_by"]].to_numpy().tolist() == [[a, b] for a in ("all", "trained", "beyond") for b in ("score", "disturbance", "sum")]
    assert check.groupby("positions").position.first().to_dict() == dict(all=0, trained=0, beyond=64)
    assert check.groupby("positions").position_end.first().to_dict() == dict(all=CONTEXT - 1, trained=32, beyond=CONTEXT - 1)
    rng = np.random.default_rng(0)
    for row in check.itertuples():
        sums, tokens = loss_of(documents, settings, row.position, row.position_end)
        losses, numbers = sums.sum(1) / tokens.sum(), scores[row.ranked_by].to_numpy()
        assert row.rho == pytest.approx(spearmanr(numbers, losses).statistic, abs=1e-6)
        assert row.settings == len(settings)
        first, best = settings[numbers.argmin()], settings[losses.argmin()]
        assert (row.first, row.best) == (first, best)
        assert row.first_loss == pytest.approx(losses[numbers.argmin()], rel=1e-7)
        assert row.best_loss == pytest.approx(losses.min(), rel=1e-7)
        assert row.excess == pytest.approx(losses[numbers.argmin()] - losses.min(), abs=1e-7)
        difference = sums[numbers.argmin()] - sums[losses.argmin()]
        assert row.excess_se == pytest.approx(difference.std(ddof=1) * np.sqrt(len(tokens)) / tokens.sum(), rel=1e-5, abs=1e-9)
        drawn = []
        for chosen in rng.integers(0, len(tokens), (4000, len(tokens))):
            drawn.append(spearmanr(numbers, sums[:, chosen].sum(1) / tokens[chosen].sum()).statistic)
        assert [row.rho_low, row.rho_high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]).tolist(), abs=0.06)


def test_what_the_check_prints(checked):
    out, said, settings, _ = checked
    check = pandas.read_csv(out / "forecast_check.csv")
    lines = [line for line in said.splitlines() if line.startswith("positions ")]
    assert len(lines) == len(check) == 9
    for line, row in zip(lines, check.itertuples()):
        words = "disturbance + excursion" if row.ranked_by == "sum" else row.ranked_by
        assert line.startswith(f"positions {row.position} to {row.position_end - 1}, ranked by {words}: rank correlation {row.rho:.2f}")
        assert f"first {row.first} has a loss of {row.first_loss:.4f}, best {row.best} {row.best_loss:.4f}" in line


def test_equal_settings_have_equal_losses(checked):
    table = pandas.read_csv(checked[0] / "forecast_loss.csv")
    losses = table[table.position.isna()].set_index("setting").loss
    assert losses["none"] == losses["still:inf"] == losses["theta:x1"] == losses["linear:1"]


def test_another_model_is_refused(bench):
    other = bench.model("llama_llama3_mha")[0]
    words = bench.refused(bench.model("llama_gqa")[1], ["none"], "--check", "--corpus", bench.long, "--model", other, code=3)
    assert "belongs to another model" in words


def test_documents_that_are_too_short(bench):
    words = bench.refused(bench.model("llama_gqa")[1], ["none"], "--check", "--corpus", bench.corpus, code=3)
    assert "200" in words


def test_pieces_of_a_text_are_one_group(bench, tmp_path):
    texts = tiny_models.write_corpus(tmp_path / "texts.jsonl", make_texts(4, 5, 2 * CONTEXT))
    out, _ = bench.run("llama_gqa", ["none", "nope", "theta:x8"], "--check", "--corpus", texts, "--chunk")
    documents = pandas.read_csv(out / "forecast_documents.csv")
    assert documents.document.nunique() == 10 and documents.group.nunique() == 5
