"""Sums before RoPE, taken in the same pass as the moments after it, compared with the vectors of all tokens."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

import bands_reference
import engine
import reference
import tiny_models
from tiny_models import CONTEXT, MODELS

BLOCKS = 3
FIRST = 4  # tokens that are counted separately
# Half-split, llama3, YaRN with its factors, NoPE layers, q/k norm per head and over the projection, two thetas, partial
# and interleaved pairs, long RoPE, no RoPE at all.
NAMES = [
    "llama_gqa", "llama_llama3_mha", "llama_yarn", "llama_yarn_mscale", "smollm3_list_sliding", "qwen3_yarn", "gemma3_text",
    "glm", "glm_three_quarters", "glm4_yarn", "olmo2_gqa", "gpt_neox_parallel", "phi3", "gpt2", "bloom",
]  # fmt: skip


class Captured:
    """One model's capture, its vectors rotated back, and what transformers computes before RoPE."""

    def __init__(self, name, root):
        self.model = MODELS[name]
        folder = tiny_models.write(self.model, root / "model")
        texts = tiny_models.documents()
        corpus = tiny_models.write_corpus(root / "tokens.jsonl", texts)
        options = ["--sliding", "--blocks", BLOCKS]
        self.out = engine.capture(folder, corpus, root / "after", *options, context=CONTEXT)
        streams = engine.read_streams(self.out)
        d = next(iter(next(iter(streams.values())).values())).shape[1]
        # One per length: long RoPE rotates short documents by other angles.
        layers = {length: bands_reference.layers_of(folder, d, length) for length in {len(x) for documents in streams.values() for x in documents.values()}}
        self.vectors = {key: {document: layers[len(x)][key[0]].unturned(x, key[2] == "q") for document, x in documents.items()}
                        for key, documents in streams.items()}  # fmt: skip
        self.expected = reference.capture(folder, texts, CONTEXT, pre_rope=True, fresh=False)
        self.order = list(texts)  # documents in the order of the corpus
        self.tensors = load_file(self.out / "moments.safetensors")
        network = reference.load(folder)
        self.factor = next((m.attention_scaling for m in network.modules() if hasattr(m, "attention_scaling")), 1.0)

    def pairs(self, d):
        rope = self.model.config.get("rope_parameters") or {}
        turned = int(d * rope.get("partial_rotary_factor", 1.0)) // 2
        f = np.arange(turned)
        return (2 * f, 2 * f + 1) if self.model.name.startswith("glm") else (f, f + turned)

    def streams(self):
        """The index among the streams of its kind, the kind's name, and the stream."""
        for kind in ("query", "key"):
            streams = zip(self.tensors[f"{kind}.layer"], self.tensors[f"{kind}.head"])
            for i, (layer, head) in enumerate(streams):
                yield i, kind, (int(layer), int(head), kind[0])


@pytest.fixture(scope="module", params=NAMES)
def captured(request, tmp_path_factory):
    return Captured(request.param, tmp_path_factory.mktemp(request.param))


def check_sums(captured, vectors, tolerance):
    for i, kind, stream in captured.streams():
        documents = [vectors[stream][key].astype(np.float64) for key in captured.order]
        for block in (None, *range(BLOCKS)):
            chosen = documents if block is None else documents[block::BLOCKS]
            parts = dict(first_=np.concatenate([x[:FIRST] for x in chosen]), late=np.concatenate([x[FIRST:] for x in chosen]))

            def field(name):
                stored = captured.tensors[f"pre_rope.{kind}.{name if block is None else 'block_' + name}"][i]
                return stored if block is None else stored[block]

            assert field("first_tokens") == [len(parts["first_"])]
            for part, x in parts.items():
                prefix, squares = part.removeprefix("late"), (x**2).sum(0)
                a, b = captured.pairs(x.shape[1])
                assert np.abs(field(prefix + "sum") - x.sum(0)).max() <= tolerance * max(np.abs(x).sum(0).max(), 1e-9)
                assert np.abs(field(prefix + "squares") - squares).max() <= tolerance * max(squares.max(), 1e-9)
                if prefix:
                    continue
                scale = np.maximum(np.sqrt(squares[a] * squares[b]), 1e-9)
                moduli = np.hypot(x[:, a], x[:, b]).sum(0)
                for name, sums, size in (("pairs", (x[:, a] * x[:, b]).sum(0), scale), ("moduli", moduli, moduli)):
                    found = field(name)
                    assert len(found) == x.shape[1] // 2 and not found[len(a) :].any(), "dimensions that do not turn have no pair"
                    assert (np.abs(found[: len(a)] - sums) <= tolerance * size).all()
            if block is None:
                products = parts["late"].T @ parts["late"]
                scale = np.sqrt(np.outer(np.diag(products), np.diag(products)))
                upper = np.triu_indices(len(products))
                assert (np.abs(field("products") - products[upper]) <= tolerance * scale[upper]).all()
    assert not [name for name in captured.tensors if name.endswith("block_products") and name.startswith("pre_rope")]


def test_sums_are_those_of_all_tokens(captured):
    check_sums(captured, captured.vectors, 1e-5)


def test_sums_are_those_of_transformers(captured):
    check_sums(captured, captured.expected, 3e-4)


def test_rope_keeps_the_energy_of_every_pair(captured):
    tensors, n = captured.tensors, captured.tensors["block.tokens"].sum()
    nope = json.loads((captured.out / "capture.json").read_text())["config"].get("nope_layers") or []
    for i, kind, (layer, _, _) in captured.streams():
        mean = tensors[f"{kind}.mean"][i]
        upper = np.triu_indices(len(mean))
        after = tensors[f"{kind}.products"][i][upper[0] == upper[1]] + n * mean**2
        before = tensors[f"pre_rope.{kind}.squares"][i] + tensors[f"pre_rope.{kind}.first_squares"][i]
        a, b = captured.pairs(len(mean))
        factor = 1.0 if layer in nope else captured.factor
        np.testing.assert_allclose(after[a] + after[b], factor**2 * (before[a] + before[b]), rtol=2e-6)
        rest = sorted(set(range(len(mean))) - {*a, *b})
        np.testing.assert_allclose(after[rest], before[rest], rtol=2e-6)


def test_it_can_be_left_out(tmp_path):
    folder = tiny_models.write(MODELS["llama_gqa"], tmp_path / "model")
    corpus = tiny_models.write_corpus(tmp_path / "tokens.jsonl", tiny_models.documents())
    kept, moments = {}, {}
    for name, options in dict(default=[], without=["--no-pre-rope"]).items():
        out = engine.capture(folder, corpus, tmp_path / name, *options, context=CONTEXT)
        kept[name] = json.loads((out / "capture.json").read_text())["kept"].keys()
        moments[name] = load_file(out / "moments.safetensors")
    assert kept == dict(default={"lags", "pre_rope", "rows"}, without={"lags", "rows"})
    assert not [tensor for tensor in moments["without"] if tensor.startswith("pre_rope")]
    for tensor, values in moments["without"].items():
        assert values.tobytes() == moments["default"][tensor].tobytes(), "the rest is as it was"
