"""Roles of heads: roles.csv, their counts and the figure, against numpy, from a run that has rows of attention and probes."""

import json

import numpy as np
import pandas
import pytest

import engine
import plain_models
import tiny_models

CONTEXT, DOCUMENTS = 101, 8
ROLES = {"sink": ("sink", 0.3), "previous": ("previous", 0.4), "induction": ("induction", 0.4)}
ERRORS = 2
CLASSES = ("position-dominated", "q-positional", "k-positional", "content-focused", "mixed")


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    root = tmp_path_factory.mktemp("roles")
    model = tiny_models.MODELS["llama_gqa"]
    wide = {**model.config, "num_attention_heads": 8, "num_key_value_heads": 8}
    rng = np.random.default_rng(4)
    for label, seed in (("A", 1), ("B", 2)):
        made = tiny_models.TinyModel("roles", model.architecture, model.model_type, wide, seed=seed)
        plain_models.write(made, root / label)
    lines = [{"tokens": rng.integers(0, 90, CONTEXT).tolist()} for _ in range(DOCUMENTS)]
    (root / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    checkpoints = [{"label": "init", "random": 0}, {"label": "A", "path": "A"}, {"label": "B", "path": "B"}]
    (root / "study.yaml").write_text(json.dumps({
        "name": "Roles", "corpus": {"path": "corpus.jsonl"}, "dtype": "float32", "components": 2, "blocks": 4, "rows": "all", "probes": True,
        "phases": [{"name": "P", "context": CONTEXT, "checkpoints": checkpoints}],
    }))  # fmt: skip
    done = engine.run("run", root / "study.yaml", "--out", root / "out", "--format", "json", "--quiet")
    assert done.code == 0, done.stderr
    return root / "out"


@pytest.fixture(scope="module")
def heads(out):
    """heads.csv and the class of each head."""
    components = pandas.read_csv(out / "qk.csv").query("pc == 0")
    q, k = components.r_q.to_numpy(), components.r_k.abs().to_numpy()
    high, low = 0.7, 0.3
    kinds = [(q > high) & (k > high), (q > high) & (k < low), (q < low) & (k > high), (q < low) & (k < low)]
    components["kind"] = np.select(kinds, CLASSES[:4], CLASSES[4])
    keys = ["checkpoint", "layer", "q_head"]
    return pandas.read_csv(out / "heads.csv").merge(components[[*keys, "kind"]], on=keys)


def ranks(values):
    return pandas.Series(values).rank().to_numpy()


def deal(layers, x, y, deals=4000):
    """Sums of x·y where y is dealt anew within layers."""
    rng = np.random.default_rng(1)
    sums = np.zeros(deals)
    for layer in np.unique(layers):
        here = layers == layer
        order = rng.random((deals, here.sum())).argsort(1)
        sums += (y[here][order] * x[here]).sum(1)
    return sums


def p_of(layers, x, y):
    sums, found = deal(layers, x, y), (x * y).sum()
    if np.ptp(sums) == 0:
        return np.nan
    expected = sum(x[layers == layer].sum() * y[layers == layer].mean() for layer in np.unique(layers))
    return np.mean(np.abs(sums - expected) >= abs(found - expected) - 1e-9 * len(x) ** 2)


def close_p(found, expected):
    if np.isnan(found) or np.isnan(expected):
        return np.isnan(found) and np.isnan(expected)
    return abs(found - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000) + 2e-3


def test_classes_and_columns_against_roles(out, heads):
    table = pandas.read_csv(out / "roles.csv")
    assert (table.model == "Roles").all() and list(dict.fromkeys(table.checkpoint)) == ["init", "A", "B"]
    seen = 0
    for label, role in {(row.checkpoint, row.role) for row in table.itertuples()}:
        here = heads[heads.checkpoint == label]
        score, threshold = ROLES[role]
        has = (here[score] - ERRORS * here[f"{score}_se"] > threshold).to_numpy()
        layers = here.layer.to_numpy()
        for row in table[(table.checkpoint == label) & (table.role == role)].itertuples():
            if row.kind == "class":
                inside = (here.kind == row.name).to_numpy() if isinstance(row.name, str) else None
                assert (row.heads, row.in_class, row.in_role, row.both) == (len(here), inside.sum(), has.sum(), (inside & has).sum())
                some = 0 < inside.sum() < len(here) and 0 < has.sum() < len(here)
                assert np.isnan(row.value) == (not some)
                if some:
                    a, b, c = row.both, row.in_class - row.both, row.in_role - row.both
                    assert row.value == pytest.approx((a + 0.5) * (row.heads - a - b - c + 0.5) / ((b + 0.5) * (c + 0.5)))
                    assert close_p(row.p, p_of(layers, inside.astype(float), has.astype(float)))
                continue
            known = (here[row.name].notna() & here[score].notna()).to_numpy()
            x, y = ranks(here[row.name][known]), ranks(here[score][known])
            assert row.heads == known.sum()
            assert row.value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-6), row.name
            dealt = deal(layers[known], x, y).mean()
            assert row.expected == pytest.approx((dealt - len(x) * x.mean() ** 2) / (len(x) * x.std() * y.std()), abs=0.02)
            assert close_p(row.p, p_of(layers[known], x, y)), row
            seen += 1
    assert seen > 3 * 3 * 10
    p = table.p.dropna().sort_values()
    rates = (p * len(p) / np.arange(1, len(p) + 1))[::-1].cummin()[::-1]
    assert np.allclose(table.q[rates.index], rates, rtol=1e-6) and table.q[table.p.isna()].isna().all()


def test_counts_and_figure(out, heads):
    summary = json.loads((out / "summary.json").read_text())["roles"]
    assert summary["thresholds"] == {role: threshold for role, (_, threshold) in ROLES.items()} and summary["errors"] == ERRORS
    drawn = json.loads((out / "figures" / "roles.vl.json").read_text())["datasets"]
    top, shares = ({(row["checkpoint"], row["series"]): row["mean"] for row in drawn[name]} for name in ("means", "means 2"))
    lines = {**{role.replace("previous", "previous token"): scored for role, scored in ROLES.items()}, "place": ("positional", 0.5)}
    for label, here in heads.groupby("checkpoint"):
        for name, (score, threshold) in lines.items():
            known = here[here[score].notna() & here[f"{score}_se"].notna()]
            has = int((known[score] - ERRORS * known[f"{score}_se"] > threshold).sum())
            strongest = known[score].nlargest(-(-len(known) // 10)).mean()
            assert shares[label, name] == pytest.approx(has / len(known), abs=1e-9)
            assert top[label, name] == pytest.approx(strongest, rel=1e-6)
            if name != "place":
                counted = summary["heads"][label][name.split()[0]]
                assert (counted["heads"], counted["of"]) == (has, len(known)) and counted["top"] == pytest.approx(strongest, rel=1e-6)
    assert all(row["checkpoint"] == "B" and row["q"] <= 0.05 for row in summary["associations"])


def test_the_same_numbers_every_time(out):
    """The order in which heads are dealt is the program's own."""
    done = engine.run("analyze", *(f"{label}={out / 'checkpoints' / label}" for label in ("A", "B")), "--out", out.parent / "again", "--quiet")
    assert done.code == 0, done.stderr
    mine, others = (pandas.read_csv(folder / "roles.csv").query("role != 'induction' and checkpoint == 'B'") for folder in (out, out.parent / "again"))
    assert len(mine) and (mine.p.fillna(-1).to_numpy() == others.p.fillna(-1).to_numpy()).all()


def test_without_scores_there_is_none(out):
    arguments = ["analyze", f"A={out / 'checkpoints' / 'A'}", "--out", out.parent / "plain", "--quiet"]
    captured = engine.run("capture", out.parent / "A", "--corpus", out.parent / "corpus.jsonl", "--context", CONTEXT, "--rows", 0, "--out", out.parent / "bare", "--quiet")
    assert captured.code == 0, captured.stderr
    assert engine.run(*arguments).code == 0 and (out.parent / "plain" / "roles.csv").exists()
    assert engine.run("analyze", f"A={out.parent / 'bare'}", "--out", out.parent / "plain", "--quiet").code == 0
    assert not (out.parent / "plain" / "roles.csv").exists(), "one of former tables would be of other numbers"
    assert "roles" not in json.loads((out.parent / "plain" / "summary.json").read_text())
