"""Rows of attention of heads that are made by hand, so that what they attend to is known; and of a draw, how well its errors hold."""

import json

import numpy as np
import pandas
import pytest
import torch
from safetensors.torch import load_file, save_file

import engine
import plain_models
import rows_reference
import tiny_models

VOCAB, WIDTH, CONTEXT = 80, 32, 160  # of the words; a token's vector has two halves: its own word, and the one before
HEAD = 2 * WIDTH
PREVIOUS, CONSTANT, SLOW, FAST = range(4)  # heads of the first layer; those of the second look for what followed the same word
SETTINGS = ["--context", CONTEXT, "--min-tokens", 1, "--dtype", "float32", "--sliding", "--quiet", "--rows"]


def measured(model, corpus, root):
    """heads.csv of a capture."""
    assert engine.run("capture", model, "--corpus", corpus, "--out", root / "capture", *SETTINGS, "all").code == 0
    assert engine.run("analyze", root / "capture", "--out", root / "tables", "--quiet").code == 0
    return pandas.read_csv(root / "tables" / "heads.csv").set_index(["layer", "q_head"])


def write_corpus(path, documents):
    path.write_text("".join(json.dumps({"id": i, "tokens": [int(token) for token in tokens]}) + "\n" for i, tokens in enumerate(documents)))
    return path


def changed(folder, out, change):
    """A model with other weights."""
    out.mkdir()
    for file in folder.iterdir():
        (out / file.name).write_bytes(file.read_bytes())
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file({name: value.contiguous() for name, value in weights.items()}, out / "model.safetensors", {"format": "pt"})
    return out


def write_model(folder):
    """RoPE's pairs go from one that turns by 1 per token to those that never do; a pair is a number and the one HEAD / 2 behind it."""
    config = dict(
        architectures=["LlamaForCausalLM"], model_type="llama", vocab_size=VOCAB, hidden_size=HEAD, intermediate_size=8, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, head_dim=HEAD, max_position_embeddings=CONTEXT, rope_theta=1e12, attention_bias=True, hidden_act="silu", rms_norm_eps=1e-6, tie_word_embeddings=True,
    )  # fmt: skip
    random = torch.Generator().manual_seed(5)
    draw = lambda *shape: torch.randn(shape, generator=random)
    words = draw(VOCAB, WIDTH)
    weights = {"model.embed_tokens.weight": torch.cat([words / words.norm(dim=1, keepdim=True), torch.zeros(VOCAB, WIDTH)], 1), "model.norm.weight": torch.ones(HEAD)}
    for layer in range(2):
        part = f"model.layers.{layer}."
        for name in ("q", "k", "v"):
            weights[part + f"self_attn.{name}_proj.weight"], weights[part + f"self_attn.{name}_proj.bias"] = torch.zeros(4 * HEAD, HEAD), torch.zeros(4 * HEAD)
        weights[part + "self_attn.o_proj.weight"], weights[part + "self_attn.o_proj.bias"] = torch.zeros(HEAD, 4 * HEAD), torch.zeros(HEAD)
        for name, shape in (("gate", (8, HEAD)), ("up", (8, HEAD)), ("down", (HEAD, 8))):
            weights[part + f"mlp.{name}_proj.weight"] = torch.zeros(shape)
        for name in ("input", "post_attention"):
            weights[part + f"{name}_layernorm.weight"] = torch.ones(HEAD)
    first, second = "model.layers.0.self_attn.", "model.layers.1.self_attn."
    of = lambda head: slice(head * HEAD, (head + 1) * HEAD)
    # Queries as the keys of the token before would be: turned back by one place.
    turns = torch.exp(-np.log(1e12) * torch.arange(WIDTH) / WIDTH)
    key = torch.cat([torch.full((WIDTH,), 12.0), torch.zeros(WIDTH)])
    weights[first + "k_proj.bias"][of(PREVIOUS)] = key
    weights[first + "q_proj.bias"][of(PREVIOUS)] = torch.cat([12 * torch.cos(turns), -12 * torch.sin(turns)])
    weights[first + "k_proj.bias"][of(CONSTANT)], weights[first + "q_proj.weight"][of(CONSTANT)] = draw(HEAD), 0.3 * draw(HEAD, HEAD)
    for head, pair in ((SLOW, WIDTH - 1), (FAST, 0)):
        both = [head * HEAD + pair, head * HEAD + pair + WIDTH]
        weights[first + "q_proj.bias"][both], weights[first + "k_proj.weight"][both] = draw(2), draw(2, HEAD)
    # What the first head finds becomes the other half of a token's vector.
    halves = torch.eye(HEAD)[:WIDTH]
    weights[first + "v_proj.weight"][:WIDTH] = halves
    weights[first + "o_proj.weight"][WIDTH:, :WIDTH] = torch.eye(WIDTH) / np.sqrt(HEAD)  # a vector of length 1 is normed to √HEAD
    # Words stand in the 12 pairs that turn least: a token's own ones against those before the others.
    pairs = torch.arange(WIDTH - 12, WIDTH)
    shown = torch.zeros(HEAD, WIDTH)
    shown[torch.cat([pairs, pairs + WIDTH])] = 4 * draw(24, WIDTH) / np.sqrt(24)
    weights[second + "q_proj.weight"][:HEAD, :WIDTH] = shown
    weights[second + "k_proj.weight"][:HEAD, WIDTH:] = shown
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: value.float().contiguous() for name, value in weights.items()}, folder / "model.safetensors", {"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(2)
    # Words that come twice, in the same order.
    corpus = write_corpus(root / "corpus.jsonl", [np.tile(rng.permutation(VOCAB), 2) for _ in range(4)])
    return measured(write_model(root / "model"), corpus, root)


def test_a_head_that_looks_at_the_token_before_is_found(made):
    heads = made.loc[0]
    assert heads.previous[PREVIOUS] > 0.99 and (heads.previous.drop(PREVIOUS) < 0.2).all()
    assert heads.reach[PREVIOUS] == pytest.approx(1, abs=0.01) and heads.self[PREVIOUS] < 0.01 and heads.entropy[PREVIOUS] < 0.05


def test_an_induction_head_is_found(made):
    assert made.after_copy[1, 0] > 0.95 and made.echo[1, 0] < 0.05
    assert made.after_copy_lift[1, 0] > 50
    assert (made.after_copy.drop((1, 0)) < 0.1).all()
    assert made.far64[1, 0] > 0.5, "copies are 80 tokens apart"


def test_place_and_key_of_made_heads(made):
    found = made.loc[0]
    expected = {PREVIOUS: (1, 0), CONSTANT: (1, 0), SLOW: (0, 1), FAST: (0, 0)}
    for head, (place, key) in expected.items():
        assert abs(found.positional[head] - place) < 0.05 and abs(found.symbolic[head] - key) < 0.05, head
        assert abs(found.pairing[head] - (1 - place - key)) < 0.1


def test_place_and_key_without_rope(tmp_path):
    """ALiBi with constant keys; layers without any places."""
    rng = np.random.default_rng(3)
    corpus = write_corpus(tmp_path / "corpus.jsonl", rng.integers(0, 90, (4, 120)))

    def constant_keys(weights):
        for name, value in weights.items():
            if name.endswith("query_key_value.weight"):
                value.view(4, 3, -1, value.shape[1])[:, 1] = 0

    bloom = tiny_models.write(tiny_models.MODELS["bloom"], tmp_path / "bloom")
    heads = measured(changed(bloom, tmp_path / "constant", constant_keys), corpus, tmp_path / "alibi")
    assert (heads.positional > 0.95).all() and (heads.symbolic.abs() < 0.05).all()
    nope = plain_models.write(tiny_models.MODELS["smollm3_list_sliding"], tmp_path / "nope")
    layers = json.loads((nope / "config.json").read_text())["no_rope_layers"]  # 0: without
    heads = measured(nope, corpus, tmp_path / "nowhere")
    assert 0 in layers and 1 in layers
    for layer, turns in enumerate(layers):
        for column in ("positional", "symbolic", "pairing"):
            assert heads.loc[layer][column].isna().all() == (not turns)
    assert heads.first4.notna().all()


SEEDS, DRAWN = 20, 32


def test_errors_of_some_rows_hold(tmp_path):
    """Two tokens with one vector: documents that begin with others of these draw other rows, of the same attention."""
    rng = np.random.default_rng(4)
    words = [rng.integers(SEEDS, 90, 160).tolist() for _ in range(16)]

    def same_vectors(weights):
        weights["model.embed_tokens.weight"][:SEEDS] = weights["model.embed_tokens.weight"][0]

    plain = plain_models.write(tiny_models.MODELS["llama_gqa"], tmp_path / "plain")
    model = changed(plain, tmp_path / "model", same_vectors)
    captures = []
    for seed in range(-1, SEEDS):
        corpus = write_corpus(tmp_path / "corpus.jsonl", [[max(seed, 0), *rest] for rest in words])
        captures.append(tmp_path / ("all" if seed < 0 else f"draw{seed}"))
        done = engine.run("capture", model, "--corpus", corpus, "--out", captures[-1], "--no-pre-rope", "--blocks", 8, *SETTINGS, "all" if seed < 0 else DRAWN)
        assert done.code == 0, done.stderr
    assert engine.run("analyze", *(f"{folder.name}={folder}" for folder in captures), "--out", tmp_path / "tables", "--quiet").code == 0
    heads = pandas.read_csv(tmp_path / "tables" / "heads.csv").set_index(["checkpoint", "layer", "q_head"])
    whole, draws, within = heads.loc["all"], [heads.loc[f"draw{seed}"] for seed in range(SEEDS)], {}
    for column in set(rows_reference.COLUMNS) - set(rows_reference.WITHOUT_ERROR):
        if whole[column].isna().all():
            continue
        within[column] = np.mean([(draw[column] - whole[column]).abs() <= 2 * draw[f"{column}_se"] for draw in draws])
    assert set(rows_reference.COLUMNS) - set(within) == {"sink_learned", "far256", "far1024", "far4096", *rows_reference.WITHOUT_ERROR}
    assert min(within.values()) >= 0.85, sorted(within.items(), key=lambda one: one[1])
    assert len({tuple(draw.sink) for draw in draws}) == SEEDS, "each has rows of its own"
