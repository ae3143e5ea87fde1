"""Files for other programs, compared with all tokens' vectors from transformers. In test_kvpress.py one of these programs reads them."""

import functools
import json
import shutil

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import engine
import heads_reference
import reference
import tiny_models
from tiny_models import CONTEXT, MODELS

BLOCKS = 3
FIRST = 4  # tokens that kvpress leaves out
INPUT, USAGE = 3, 2
KVPRESS_KEYS = {"num_layers", "num_heads", "head_dim", "dataset_name", "model_name", "num_samples", "sample_seq_len", "n_sink"}
# Biases, llama3, YaRN's factor and q/k norm, sliding layers, NoPE layers, a fused projection.
ROTATED = ["llama_gqa", "llama_llama3_mha", "qwen3_yarn", "qwen2_sliding", "smollm3_list_sliding", "phi3"]
OTHERS = dict(glm="interleaved", gpt_neox_parallel="partial", gpt2="no RoPE")


class Captured:
    def __init__(self, name, root):
        self.root, self.model = root, MODELS[name]
        self.folder = tiny_models.write(self.model, root / "model")
        self.texts = tiny_models.documents()
        self.corpus = tiny_models.write_corpus(root / "tokens.jsonl", self.texts)
        self.out = engine.capture(self.folder, self.corpus, root / "capture", "--sliding", "--blocks", BLOCKS, context=CONTEXT)
        self.info = json.loads((self.out / "capture.json").read_text())
        self.config = self.info["config"]

    def export(self, to, *, capture=None, out=None):
        out = out or self.root / to
        return engine.run("export", capture or self.out, "--to", to, "--out", out), out

    def read(self, to):
        """Tensors, config.json and ropewalk.json, made anew."""
        shutil.rmtree(self.root / to, ignore_errors=True)
        result, out = self.export(to)
        assert result.code == 0, result.stderr
        assert {path.name for path in out.iterdir()} == {"model.safetensors", "config.json", "ropewalk.json"}
        tensors = load_file(out / "model.safetensors")
        assert {tensor.dtype for tensor in tensors.values()} == {np.dtype(np.float32)}
        return tensors, json.loads((out / "config.json").read_text()), json.loads((out / "ropewalk.json").read_text())

    def vectors(self, pre_rope):
        """For each [layer, query head], the documents' vectors in the order of the corpus."""
        streams = reference.capture(self.folder, self.texts, CONTEXT, pre_rope=pre_rope, fresh=False)
        return {key[:2]: [documents[text].astype(np.float64) for text in self.texts]
                for key, documents in streams.items() if key[2] == "q"}  # fmt: skip


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    """By name, each made once."""
    return functools.cache(lambda name: Captured(name, tmp_path_factory.mktemp(name)))


@pytest.fixture(scope="module")
def llama(captures):
    return captures("llama_gqa")


def relative_error(measure, documents):
    """The jackknife errors over blocks of every number that `measure` computes from documents: their length over the length of the numbers."""
    whole, sizes, without = measure(documents), [], []
    for block in range(BLOCKS):
        if sum(map(len, documents[block::BLOCKS])) > 0:
            sizes.append(sum(map(len, documents[block::BLOCKS])))
            without.append(measure([x for i, x in enumerate(documents) if i % BLOCKS != block]))
    errors = [heads_reference.jackknife({0: whole[j]}, [{0: one[j]} for one in without], np.array(sizes))[0] for j in range(len(whole))]
    return np.linalg.norm(errors) / np.linalg.norm(whole)


@pytest.mark.parametrize("name", ROTATED)
def test_kvpress(captures, name):
    captured = captures(name)
    tensors, config, facts = captured.read("kvpress")
    expected = {key: [x[FIRST:] for x in documents] for key, documents in captured.vectors(pre_rope=True).items()}
    layers, heads, d = (captured.config[key] for key in ("layers", "n_q_heads", "head_dim"))
    assert set(config) == KVPRESS_KEYS
    assert config["dataset_name"] == "corpus-" + captured.info["corpus"][:16]
    numbers = dict(num_layers=layers, num_heads=heads, head_dim=d, num_samples=4, sample_seq_len=CONTEXT, n_sink=FIRST)
    assert {key: config[key] for key in numbers} == numbers and config["model_name"] == captured.info["model"]
    assert {name: tensor.shape for name, tensor in tensors.items()} == dict(query_mean=(layers, heads, d), query_cov=(layers, heads, d, d))
    assert len(expected) == layers * heads
    assert facts["tokens"] == sum(max(0, min(len(text), CONTEXT) - FIRST) for text in captured.texts.values())
    for (layer, head), documents in expected.items():
        x = np.concatenate(documents)
        size = np.sqrt((x**2).mean())
        assert np.abs(tensors["query_mean"][layer, head] - x.mean(0)).max() <= 1e-4 * size
        assert np.abs(tensors["query_cov"][layer, head] - np.cov(x.T)).max() <= 1e-4 * size**2
        errors = {name: facts["errors"][name][layer][head] for name in ("query_mean", "query_variance")}
        assert errors["query_mean"] == pytest.approx(relative_error(lambda some: np.concatenate(some).mean(0), documents), rel=2e-3)
        assert errors["query_variance"] == pytest.approx(
            relative_error(lambda some: np.concatenate(some).var(0, ddof=1), documents), rel=2e-3)  # fmt: skip


def first_direction(documents):
    x = np.concatenate(documents)
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    v, mean = vectors[:, -1], x.mean(0)
    return -np.sign(v @ mean) * v, abs(v @ mean) / np.sqrt(values[-1]), values[-2] / values[-1]


@pytest.mark.parametrize("name", [*ROTATED, *OTHERS])
def test_q_filters(captures, name):
    captured = captures(name)
    tensors, config, facts = captured.read("q-filters")
    expected = captured.vectors(pre_rope=False)
    layers, q_heads, kv_heads, d = (captured.config[key] for key in ("layers", "n_q_heads", "n_kv_heads", "head_dim"))
    group = q_heads // kv_heads
    assert config == dict(num_layers=layers, num_kv_heads=kv_heads, kv_head_dim=d)
    assert list(tensors) == ["q_filters"] and tensors["q_filters"].shape == (layers, kv_heads, d)
    assert facts["tokens"] == captured.info["tokens"]
    found, weak = {key: first_direction(documents) for key, documents in expected.items()}, []
    for (layer, head), (_, strength, _) in found.items():
        assert facts["sign_strength"][layer][head] == pytest.approx(strength, abs=2e-3)
        if strength < 0.2:
            weak.append([layer, head])
    # No direction is so close to the limit, or to another direction, that rounding decides.
    assert all(abs(strength - 0.2) > 2e-3 and strength > 1e-3 and ratio < 0.995 for _, strength, ratio in found.values())
    assert facts["weak_signs"] == sorted(weak)
    for layer in range(layers):
        for kv_head in range(kv_heads):
            heads = [(layer, kv_head * group + i) for i in range(group)]
            mean = np.mean([found[head][0] for head in heads], axis=0)
            assert np.abs(tensors["q_filters"][layer, kv_head] - mean).max() <= 2e-3

            def aligned(documents):
                """From all heads of the group; signs are those over all documents."""
                return np.mean([np.sign(v @ found[head][0]) * v for head in heads
                                for v in [first_direction([expected[head][i] for i in documents])[0]]], axis=0)  # fmt: skip

            sizes = [sum(map(len, expected[heads[0]][block::BLOCKS])) for block in range(BLOCKS)]
            without = [aligned([i for i in range(4) if i % BLOCKS != block]) for block in range(BLOCKS)]
            errors = [heads_reference.jackknife({0: mean[j]}, [{0: one[j]} for one in without], np.array(sizes))[0] for j in range(d)]
            assert facts["errors"]["q_filters"][layer][kv_head] == pytest.approx(
                np.linalg.norm(errors) / np.linalg.norm(mean), rel=0.02, abs=2e-3)  # fmt: skip


def test_the_side_file_says_of_what(llama):
    for to in ("kvpress", "q-filters"):
        facts = llama.read(to)[2]
        assert (facts["format"], facts["to"]) == (1, to)
        for key in ("model", "label", "weights", "dtype", "device", "context", "documents", "tokens", "corpus", "blocks"):
            assert facts["capture"][key] == llama.info[key]


def refused(captured, code, *words, **options):
    out = captured.root / "refused"
    result, _ = captured.export(**{"out": out, **options})
    assert result.code == code, result.stderr
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert all(word in result.stderr for word in words), result.stderr
    assert not out.exists() and not list(captured.root.glob(".*tmp*")), "nothing half-written"


@pytest.mark.parametrize("name", OTHERS)
def test_kvpress_refuses_other_rotations(captures, name):
    refused(captures(name), INPUT, OTHERS[name], to="kvpress")


def test_layers_without_rope_are_named(captures):
    result, out = captures("smollm3_list_sliding").export("kvpress", out=captures("smollm3_list_sliding").root / "warned")
    assert result.code == 0 and "warning: " in result.stderr and "no RoPE in layers 0, 3," in result.stderr


@pytest.mark.parametrize("name", [*ROTATED, *OTHERS])
def test_weak_signs_are_counted(captures, name, tmp_path):
    captured = captures(name)
    result, out = captured.export("q-filters", out=tmp_path / "out")
    weak = len(json.loads((out / "ropewalk.json").read_text())["weak_signs"])
    heads = captured.config["layers"] * captured.config["n_q_heads"]
    assert result.stderr.count("\n") == (2 if weak else 1), result.stderr
    assert weak == 0 or f"the signs of {weak} of {heads} query heads are weak" in result.stderr


def test_all_heads_are_needed(captures):
    captured = captures("qwen2_sliding")
    some = engine.capture(captured.folder, captured.corpus, captured.root / "some", "--heads", 3, context=CONTEXT)
    full = engine.capture(captured.folder, captured.corpus, captured.root / "full", context=CONTEXT)
    for to in ("kvpress", "q-filters"):
        refused(captured, INPUT, "3 of the model's 16 query heads", "with --sliding and without --heads", to=to, capture=some)
        refused(captured, INPUT, "8 of the model's 16 query heads", "head 0 of layer 2", "with --sliding\n", to=to, capture=full)


def test_other_captures(llama, tmp_path):
    without = engine.capture(llama.folder, llama.corpus, tmp_path / "without", "--no-pre-rope", context=CONTEXT)
    refused(llama, INPUT, "no sums of queries before RoPE", "without --no-pre-rope", to="kvpress", capture=without)
    short = engine.capture(llama.folder, llama.corpus, tmp_path / "short", context=FIRST)
    refused(llama, INPUT, "0 tokens at positions from 4 on", to="kvpress", capture=short)
    one = engine.capture(llama.folder, llama.corpus, tmp_path / "one", "--blocks", 1, context=CONTEXT)
    for to, name in (("kvpress", "query_mean"), ("q-filters", "q_filters")):
        result, out = llama.export(to, capture=one, out=tmp_path / to)
        assert result.code == 0, result.stderr
        errors = json.loads((out / "ropewalk.json").read_text())["errors"][name]
        assert {error for row in errors for error in row} == {None}, "one block says nothing about errors"


def rewrite(capture, out, change):
    """The moments of a capture with changed tensors, and without its capture.json, which has their hash."""
    out.mkdir()
    with safe_open(capture / "moments.safetensors", "np") as file:
        save_file(change(load_file(capture / "moments.safetensors")), out / "moments.safetensors", file.metadata())
    return out


def test_moments_that_changed_are_refused(llama, tmp_path):
    changed = rewrite(llama.out, tmp_path / "changed", lambda tensors: {**tensors, "query.mean": tensors["query.mean"] * 2})
    shutil.copy(llama.out / "capture.json", changed)
    message = "moments.safetensors: has changed since it was written, by the hash in capture.json; measure it again, or name the file itself"
    refused(llama, INPUT, message, to="kvpress", capture=changed)
    for command in (["analyze", changed, "--out", tmp_path / "tables"], ["merge", changed, "--out", tmp_path / "merged"]):
        result = engine.run(*command, "--quiet")
        assert result.code == INPUT and message in result.stderr and result.stderr.count("\n") == 1
    assert engine.run("analyze", changed / "moments.safetensors", "--out", tmp_path / "tables").code == 0


def test_damaged_captures(llama, tmp_path):
    for name, value, to in (("pre_rope.query.sum", 1e300, "kvpress"), ("query.mean", 1e200, "q-filters")):
        damaged = rewrite(llama.out, tmp_path / to, lambda tensors: {**tensors, name: np.full_like(tensors[name], value)})
        refused(llama, INPUT, to=to, capture=damaged)


def test_without_blocks_there_are_no_errors(llama, tmp_path):
    bare = rewrite(llama.out, tmp_path / "bare", lambda tensors: {n: t for n, t in tensors.items() if ".block_" not in n})
    for to in ("kvpress", "q-filters"):
        result, out = llama.export(to, capture=bare, out=tmp_path / to)
        assert result.code == 0, result.stderr
        expected, _, _ = llama.read(to)
        for name, tensor in load_file(out / "model.safetensors").items():
            assert tensor.tobytes() == expected[name].tobytes()
        errors = json.loads((out / "ropewalk.json").read_text())["errors"]
        assert {error for kind in errors.values() for row in kind for error in row} == {None}


def test_folders(llama, tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "mine").touch()
    result, _ = llama.export("kvpress", out=tmp_path / "used")
    assert result.code == USAGE and "is not empty" in result.stderr
    assert [path.name for path in (tmp_path / "used").iterdir()] == ["mine"]
    (tmp_path / "empty").mkdir()
    assert llama.export("kvpress", out=tmp_path / "empty")[0].code == 0
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    result, _ = llama.export("kvpress", out=tmp_path / "link")
    assert result.code == USAGE and "is a link to nothing" in result.stderr
    refused(llama, USAGE, "--to", to="vllm")
    refused(llama, 4, "No such file", to="kvpress", capture=tmp_path / "nowhere")
    refused(llama, INPUT, "has no moments.safetensors", to="kvpress", capture=llama.folder)


def test_merged_captures_are_as_one(llama, tmp_path):
    parts = [engine.capture(llama.folder, llama.corpus, tmp_path / f"part{i}", "--shard", f"{i}/2", "--blocks", BLOCKS, context=CONTEXT)
             for i in range(2)]  # fmt: skip
    merged = engine.run("merge", *parts, "--out", tmp_path / "merged")
    assert merged.code == 0, merged.stderr
    for to in ("kvpress", "q-filters"):
        result, out = llama.export(to, capture=tmp_path / "merged", out=tmp_path / to)
        assert result.code == 0, result.stderr
        for name, tensor in llama.read(to)[0].items():
            np.testing.assert_allclose(load_file(out / "model.safetensors")[name], tensor, rtol=1e-5, atol=1e-6)
