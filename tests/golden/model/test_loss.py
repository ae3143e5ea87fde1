"""`ropewalk loss` against transformers' logits: every tiny model in float32 to 1e-4 nats, in bfloat16 to a hundredth.

Between them they have tied and untied heads, heads with other names, soft caps and scales of logits, ALiBi, sinks and mixtures.
"""

import dataclasses
import json
import math
import shutil

import numpy as np
import pandas
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import engine
import plain_models
import reference
import tiny_models
from tiny_models import CONTEXT, MODELS

NAMES = list(MODELS)
FEW = ["llama_gqa", "gemma2", "gpt2", "bloom", "qwen3_moe", "gpt_oss"]


class Bench:
    def __init__(self, root):
        self.root = root
        self.texts = tiny_models.documents()
        self.corpus = tiny_models.write_corpus(root / "tokens.jsonl", self.texts)
        self.count = 0
        self._made = {}

    def folder(self, name):
        if name not in self._made:
            self._made[name] = tiny_models.write(MODELS[name], self.root / name)
        return self._made[name]

    def loss(self, model, *options, corpus=None, dtype="float32", context=CONTEXT):
        self.count += 1
        out = self.root / f"out-{self.count}"
        done = engine.run("loss", model, "--corpus", corpus or self.corpus, "--out", out, "--context", context, "--min-tokens", 1,
                          "--dtype", dtype, "--label", "tiny", "--quiet", *options)  # fmt: skip
        assert done.code == 0, done.stderr
        assert (done.stdout, done.stderr) == ("", "")
        return out

    def refused(self, model, *options, code, corpus=None):
        out = self.root / "refused"
        done = engine.run("loss", model, "--corpus", corpus or self.corpus, "--out", out, "--quiet", *options)
        assert done.code == code, done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        assert not out.exists()
        return done.stderr


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("loss"))


@torch.no_grad()
def expected(folder, texts, dtype=torch.float32, fresh=False):
    """Nats of every prediction: one array per document, by the position of the predicting token."""
    network, losses = reference.load(folder, dtype), []
    for tokens in texts.values():
        network = reference.load(folder, dtype) if fresh else network
        ids = torch.tensor([tokens[:CONTEXT]])
        logits = network(input_ids=ids, use_cache=False).logits[0, :-1].double()
        losses.append(torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="none").numpy())
    return losses


def bins(losses):
    """{first position: (nats per token, tokens)}"""
    found = {}
    longest = max(map(len, losses))
    for begin, end in [(0, 1)] + [(2**i, 2 ** (i + 1)) for i in range(longest.bit_length())]:
        inside = np.concatenate([loss[begin:end] for loss in losses])
        if len(inside):
            found[begin] = (inside.mean(), len(inside))
    return found


def assert_close(out, losses, tolerance):
    table = pandas.read_csv(out / "loss.csv")
    every = np.concatenate(losses)
    assert math.isnan(table.position[0]) and math.isnan(table.position_end[0])
    assert table.tokens[0] == len(every)
    assert abs(table.loss[0] - every.mean()) <= tolerance * every.mean()
    by_bin = bins(losses)
    assert table.position[1:].astype(int).tolist() == list(by_bin)
    for row in table[1:].itertuples():
        mean, tokens = by_bin[int(row.position)]
        assert row.tokens == tokens
        assert abs(row.loss - mean) <= tolerance * mean, row
    documents = pandas.read_csv(out / "loss_documents.csv")
    assert documents.tokens.tolist() == [len(loss) for loss in losses]
    for row, loss in zip(documents.itertuples(), losses):
        assert math.isnan(row.loss) if len(loss) == 0 else abs(row.loss - loss.mean()) <= tolerance * loss.mean()


@pytest.mark.parametrize("name", NAMES)
def test_equals_transformers(bench, name):
    folder = bench.folder(name)
    losses = expected(folder, bench.texts, fresh="dynamic" in name)
    assert np.concatenate(losses).std() > 0.05, "not the same for every word"
    assert_close(bench.loss(folder), losses, tolerance=2e-5)


@pytest.mark.parametrize("name", FEW)
def test_in_bfloat16(bench, name):
    assert_close(bench.loss(bench.folder(name), dtype="bfloat16"), expected(bench.folder(name), bench.texts), tolerance=1e-2)


def test_standard_errors(bench):
    """Over documents: of the ratio of two sums, which for documents of one length is the error of a mean."""
    rng = np.random.default_rng(0)
    texts = {i: rng.integers(0, tiny_models.VOCAB, length).tolist() for i, length in enumerate([40, 40, 90, 64, 33, 64, 80, 64, 64, 70])}
    corpus = tiny_models.write_corpus(bench.root / "ten.jsonl", texts)
    table = pandas.read_csv(bench.loss(bench.folder("llama_gqa"), corpus=corpus) / "loss.csv")
    losses = expected(bench.folder("llama_gqa"), texts)
    sums, counts = np.array([loss.sum() for loss in losses]), np.array([len(loss) for loss in losses])
    residual = sums - sums.sum() / counts.sum() * counts
    assert table.loss_se[0] == pytest.approx(math.sqrt(10 / 9 * (residual**2).sum()) / counts.sum(), rel=1e-4)
    first = np.array([loss[16:32].mean() for loss in losses])
    row = table[table.position == 16].iloc[0]
    assert row.loss_se == pytest.approx(first.std(ddof=1) / math.sqrt(10), rel=1e-4)
    assert table.flag.isna()[:5].all()
    assert table.flag.iloc[-1] == "few_documents", "few are as long"
    assert table.documents.iloc[-1] == 3


def test_pieces_of_a_text_are_one_group(bench):
    rng = np.random.default_rng(1)
    texts = {i: rng.integers(0, tiny_models.VOCAB, 128).tolist() for i in range(20)}
    corpus = tiny_models.write_corpus(bench.root / "texts.jsonl", texts)
    out = bench.loss(bench.folder("llama_gqa"), "--chunk", corpus=corpus, context=32)
    documents = pandas.read_csv(out / "loss_documents.csv").sort_values("document")
    assert len(documents) == 80
    with safe_open(out / "moments.safetensors", "numpy") as file:
        cluster = file.get_tensor("document.cluster")
    assert len(set(cluster)) == 20
    means = pandas.Series(documents.loss.to_numpy()).groupby(cluster).mean()
    table = pandas.read_csv(out / "loss.csv")
    assert table.loss_se[0] == pytest.approx(means.std() / math.sqrt(20), rel=1e-6)


def test_shards_merge_to_the_same_numbers(bench):
    whole = bench.loss(bench.folder("smollm3_interval"))
    parts = [bench.loss(bench.folder("smollm3_interval"), "--shard", f"{i}/3") for i in range(3)]
    merged = bench.root / "merged"
    done = engine.run("merge", parts[2], parts[0], parts[1], "--out", merged, "--quiet")
    assert done.code == 0, done.stderr
    for name in ("loss.csv", "loss_documents.csv", "moments.safetensors"):
        assert (merged / name).read_bytes() == (whole / name).read_bytes(), name


def test_memory_changes_nothing(bench):
    for name in ("llama_llama3_mha", "mixtral"):
        plenty = bench.loss(bench.folder(name))
        inspected = json.loads(engine.run("inspect", bench.folder(name), "--json", "--context", CONTEXT, "--dtype", "float32").stdout)
        little = inspected["weights"]["needed_bytes"] * 2 // 3
        tight = bench.loss(bench.folder(name), "--memory", little)
        assert (tight / "loss.csv").read_bytes() == (plenty / "loss.csv").read_bytes()


def test_weights_belong_together(bench, tmp_path):
    """A loss and a capture of all heads name the same weights; the head has a digest of its own."""
    folder = bench.folder("llama_gqa")
    described = json.loads((bench.loss(folder) / "capture.json").read_text())
    captured = engine.capture(folder, bench.corpus, tmp_path / "capture", context=CONTEXT)
    assert described["weights"] == json.loads((captured / "capture.json").read_text())["weights"]
    changed = tmp_path / "changed"
    shutil.copytree(folder, changed)
    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = tensors["lm_head.weight"] + 1
    save_file(tensors, changed / "model.safetensors", metadata={"format": "pt"})
    other = json.loads((bench.loss(changed) / "capture.json").read_text())
    assert other["weights"] == described["weights"]
    assert other["head_weights"] != described["head_weights"]
    shards = [bench.loss(model, "--shard", f"{i}/2") for i, model in enumerate([folder, changed])]
    done = engine.run("merge", *shards, "--out", tmp_path / "merged", "--quiet")
    assert done.code == 3 and "head_weights is" in done.stderr


def test_bad_input(bench, tmp_path):
    folder = bench.folder("llama_gqa")
    assert "a context of 1 has no token that predicts another" in bench.refused(folder, "--context", 1, code=2)
    short = tiny_models.write_corpus(tmp_path / "short.jsonl", {1: [5, 6, 7]})
    assert "no document has 128 tokens" in bench.refused(folder, "--context", 128, corpus=short, code=3)
    assert "no document has a second token" in bench.refused(
        folder, "--context", 8, "--min-tokens", 1, corpus=tiny_models.write_corpus(tmp_path / "one.jsonl", {1: [5], 2: [6]}), code=3
    )
    headless = tmp_path / "headless"
    shutil.copytree(folder, headless)
    tensors = load_file(folder / "model.safetensors")
    del tensors["lm_head.weight"]
    save_file(tensors, headless / "model.safetensors", metadata={"format": "pt"})
    assert "has no head, and config.json does not tie it to the embeddings" in bench.refused(headless, "--context", 64, "--min-tokens", 1, code=3)
    assert engine.capture(headless, bench.corpus, tmp_path / "capture", context=64), "a capture needs none"
    tensors["lm_head.weight"] = torch.ones(tiny_models.VOCAB - 1, 48)
    save_file(tensors, headless / "model.safetensors", metadata={"format": "pt"})
    message = bench.refused(headless, "--context", 64, "--min-tokens", 1, code=3)
    assert "'lm_head.weight' has shape [96, 48], expected [97, 48]" in message
    tensors["lm_head.weight"] = torch.full((tiny_models.VOCAB, 48), 1e38)
    save_file(tensors, headless / "model.safetensors", metadata={"format": "pt"})
    assert "the loss of document 0 is not finite" in bench.refused(headless, "--context", 64, "--min-tokens", 1, code=3)
    # mllama has embeddings of words that its head does not predict
    words = tiny_models.write_corpus(tmp_path / "words.jsonl", {1: [5, tiny_models.VOCAB + 1, 7]})
    assert "98" in bench.refused(bench.folder("mllama_text"), "--context", 8, "--min-tokens", 1, corpus=words, code=3)


def test_is_no_capture_of_moments(bench, tmp_path):
    out = bench.loss(bench.folder("llama_gqa"))
    done = engine.run("analyze", out, "--out", tmp_path / "tables", "--quiet")
    assert done.code == 3 and "moments.safetensors: holds the loss of documents" in done.stderr
    capture = engine.capture(bench.folder("llama_gqa"), bench.corpus, tmp_path / "capture", context=CONTEXT)
    done = engine.run("merge", out, capture, "--out", tmp_path / "merged", "--quiet")
    assert done.code == 3 and "cannot be merged" in done.stderr


class Study:
    """Two checkpoints and fresh weights, on documents of tokens."""

    def __init__(self, root):
        self.root = root
        for label in ("a", "b"):
            plain_models.write(dataclasses.replace(MODELS["smollm3_interval"], seed=ord(label), dtype="float32"), root / label)
        rng = np.random.default_rng(3)
        texts = {i: rng.integers(0, tiny_models.VOCAB, 100).tolist() for i in range(12)}
        self.corpus = tiny_models.write_corpus(root / "tokens.jsonl", texts)

    def run(self, out, *options, documents=12, **settings):
        experiment = self.root / f"{out.name}.yaml"
        phases = [dict(name="P", context=64, checkpoints=[dict(label="init", random=1), dict(label="a", path="a"), dict(label="b", path="b")])]
        experiment.write_text(json.dumps(
            dict(name="Loss", corpus=dict(path="tokens.jsonl", documents=documents), dtype="float32", phases=phases, **settings)))  # fmt: skip
        done = engine.run("run", experiment, "--out", out, "--format", "json", *options)
        assert done.code == 0, done.stderr
        return done.stderr


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("study"))


def tensors(folder, label):
    return load_file(folder / "checkpoints" / label / "moments.safetensors")


def test_in_the_same_pass_as_the_moments(study, bench, tmp_path):
    study.run(tmp_path / "with", loss=True)
    study.run(tmp_path / "without")
    table = pandas.read_csv(tmp_path / "with" / "loss.csv")
    assert list(dict.fromkeys(table.checkpoint)) == ["init", "a", "b"]
    assert (table.model == "Loss").all() and (table.phase[table.checkpoint != "init"] == "P").all()
    assert (table.flag[table.checkpoint == "init"] == "random_weights").all()
    for label in ("a", "b"):
        alone = pandas.read_csv(bench.loss(study.root / label, corpus=study.corpus, context=64) / "loss.csv")
        here = table[table.checkpoint == label].reset_index(drop=True)
        columns = ["position", "position_end", "loss", "loss_se", "documents", "tokens"]
        pandas.testing.assert_frame_equal(here[columns], alone[columns])
    fresh = table[(table.checkpoint == "init") & table.position.isna()]
    assert abs(fresh.loss.item() - math.log(tiny_models.VOCAB)) < 0.1, "who knows nothing"
    for label in ("init", "a", "b"):
        one, other = tensors(tmp_path / "with", label), tensors(tmp_path / "without", label)
        assert one.pop("document.loss").shape == (12, 7)
        assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    for name in ("qk.csv", "heads.csv", "changes.csv"):
        assert (tmp_path / "with" / name).read_bytes() == (tmp_path / "without" / name).read_bytes(), name
    assert not (tmp_path / "without" / "loss.csv").exists()
    summary, plain = (json.loads((tmp_path / name / "summary.json").read_text()) for name in ("with", "without"))
    for row in table[table.position.isna()].itertuples():
        stated = summary["loss"][row.checkpoint]
        assert [stated["value"], stated["se"]] == pytest.approx([row.loss, row.loss_se], rel=1e-8) and stated["tokens"] == row.tokens
    (change,) = (one.pop("loss") for one in summary["differences"])
    del summary["loss"]
    assert summary == plain
    # The same documents: what is peculiar to one cancels.
    losses = [tensors(tmp_path / "with", label)["document.loss"].sum(1).numpy() / 63 for label in ("a", "b")]
    moved = losses[1] - losses[0]
    assert change["value"] == pytest.approx(moved.mean(), rel=1e-9) and change["se"] == pytest.approx(moved.std(ddof=1) / math.sqrt(12), rel=1e-9)
    assert change["real"] == (abs(moved.mean()) > 2.201 * change["se"])


def test_in_figures_and_on_the_page(study, tmp_path):
    """Of the run, and of its tables alone."""
    out = tmp_path / "out"
    study.run(out, loss=True)
    table = pandas.read_csv(out / "loss.csv")
    whole = table[table.position.isna()].set_index("checkpoint")
    spec = json.loads((out / "figures" / "loss.vl.json").read_text())
    drawn = {row["checkpoint"]: row for row in spec["datasets"]["means"]}
    for label in ("a", "b"):
        assert [drawn[label][key] for key in ("mean", "se", "se_low")] == pytest.approx(
            [whole.loss[label], whole.loss_se[label], whole.loss[label] - whole.loss_se[label]], rel=1e-9)  # fmt: skip
    assert drawn["init"]["mean"] is None and f"{whole.loss['init']:.2f} (init)" in " ".join(spec["title"]["subtitle"])
    assert {row["series"] for row in spec["datasets"]["means 2"]} == {"R² of queries", "R² of keys"}
    done = engine.run("figures", out, "--out", tmp_path / "again", "--format", "json", "--title", "Loss", "--quiet")
    assert done.code == 0 and (tmp_path / "again" / "loss.vl.json").read_bytes() == (out / "figures" / "loss.vl.json").read_bytes()
    captures = [out / "checkpoints" / label for label in ("init", "a", "b")]
    done = engine.run("analyze", *captures, "--out", tmp_path / "table", "--quiet")
    assert done.code == 0, done.stderr
    analysed = pandas.read_csv(tmp_path / "table" / "loss.csv")
    pandas.testing.assert_frame_equal(analysed.drop(columns=["model", "phase"]), table.drop(columns=["model", "phase"]))

    # A loss.csv of another table of the same checkpoints, or a broken one, is not taken.
    study.run(tmp_path / "without")
    shutil.copy(out / "loss.csv", tmp_path / "without" / "loss.csv")
    done = engine.run("report", tmp_path / "without")
    assert done.code == 0 and "loss.csv: its losses are not those of" in done.stderr
    for text, why in {
        table.replace({"checkpoint": {"b": "c"}}).to_csv(index=False): "checkpoint 'c' is not in",
        table[table.position.notna()].to_csv(index=False): "expected one row over all positions",
        table.drop(columns="tokens").to_csv(index=False): "column 'tokens'",
        "": "is empty",
    }.items():
        (out / "loss.csv").write_text(text)
        done = engine.run("figures", out, "--out", tmp_path / "broken", "--format", "json")
        assert done.code == 0 and why in done.stderr and "going on without it" in done.stderr, done.stderr
    assert not (tmp_path / "broken" / "loss.vl.json").exists()


def test_documents_that_begin_alike_have_no_error(bench):
    rng = np.random.default_rng(4)
    same = rng.integers(0, tiny_models.VOCAB, 8).tolist()
    texts = {i: same + rng.integers(0, tiny_models.VOCAB, 32).tolist() for i in range(12)}
    corpus = tiny_models.write_corpus(bench.root / "alike.jsonl", texts)
    table = pandas.read_csv(bench.loss(bench.folder("llama_gqa"), corpus=corpus, context=40) / "loss.csv").set_index("position")
    assert table.loss_se.isna()[[0, 1, 2]].all() and (table.flag[[0, 1, 2]] == "no_se").all()
    assert (table.loss_se[[8, 16]] > 1e-3).all() and table.flag[[8, 16]].isna().all()


def test_measured_only_where_it_is_missing(study, tmp_path):
    out = tmp_path / "out"
    study.run(out)
    said = study.run(out, loss=True)
    assert "loss measured beside what is there" in said and "measured again" not in said
    before = (out / "loss.csv").read_bytes()
    assert "measured again" not in study.run(out), "what keeps more than is wanted will do"
    assert not (out / "loss.csv").exists()
    assert "measured again" not in study.run(out, loss=True)
    assert (out / "loss.csv").read_bytes() == before


def test_more_documents_are_added(study, tmp_path):
    study.run(tmp_path / "out", loss=True, documents=8)
    assert "8 of 12 documents are there already" in study.run(tmp_path / "out", loss=True)
    study.run(tmp_path / "straight", loss=True)
    assert (tmp_path / "out" / "loss.csv").read_bytes() == (tmp_path / "straight" / "loss.csv").read_bytes()


def test_captured_vectors_have_none(study, tmp_path):
    experiment = tmp_path / "vectors.yaml"
    experiment.write_text(json.dumps(dict(name="V", loss=True, phases=[dict(name="P", checkpoints=[dict(label="v", vectors="nowhere")])])))
    done = engine.run("run", experiment, "--out", tmp_path / "out")
    assert done.code == 3 and "loss is for checkpoints with weights" in done.stderr
