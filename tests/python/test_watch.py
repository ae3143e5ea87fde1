"""A model that is measured while it trains, compared with the program's capture of the same tokens."""

import numpy as np
import pytest
import ropewalk
import torch
import transformers
from ropewalk import _attention
from watch_models import BATCHES, FAMILIES, TOKENS, YARN, in_batches, make_documents, make_model, same, sgd, train_step, watched


@pytest.fixture(scope="module")
def expected():
    """What the program captures of a model, by the model's family."""
    captures = {}

    def find(family, documents=None, model=None):
        if family not in captures or documents is not None:
            texts = make_documents() if documents is None else documents
            captures[family] = ropewalk.capture(
                model or make_model(family), [document.tolist() for document in texts], context=TOKENS, blocks=BATCHES, dtype="float32", device="cpu", min_tokens=1
            )
        return captures[family]

    return find


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_same_numbers_as_the_programs_capture(family, attention, expected, tmp_path):
    same(watched(make_model(family, attention), make_documents(), tmp_path / "out"), expected(family))


@pytest.mark.parametrize("family", [*FAMILIES, "yarn"])
def test_sums_before_rope_are_the_programs(family, expected, tmp_path):
    """Vectors are rotated back; the program recorded them before the rotation."""
    model = make_model("llama", rope_parameters=YARN) if family == "yarn" else make_model(family)
    with ropewalk.watch(model, every=1000, batches=BATCHES, out=tmp_path / "out", pre_rope=True) as watch:
        train_step(model, sgd(model), in_batches(make_documents(), BATCHES))
    study = watch.study
    found, theirs = study.capture("step-0"), expected(family, model=make_model("llama", rope_parameters=YARN) if family == "yarn" else None)
    same(found, theirs)
    names = [name for name in theirs.tensors if name.startswith("pre_rope.")]
    assert {name.rpartition(".")[2] for name in names} >= {"sum", "squares", "pairs", "moduli", "products", "first_sum", "first_tokens"}
    for name in names:
        scale = np.abs(theirs.tensors[name]).max()
        np.testing.assert_allclose(found.tensors[name] / scale, theirs.tensors[name] / scale, rtol=0, atol=2e-6, err_msg=name)
    ropewalk.analyze(theirs._source, tmp_path / "theirs")
    bands = ropewalk.open(tmp_path / "theirs").bands
    assert len(study.bands) == len(bands) > 0
    np.testing.assert_allclose(study.bands.theta, bands.theta)
    np.testing.assert_allclose(study.bands.energy_q, bands.energy_q, rtol=1e-4)


def test_padded_batches_are_turned_back_as_a_whole(monkeypatch):
    """RoPE that depends on a length uses that of the longest row."""
    from transformers.models.phi3 import modeling_phi3

    torch.manual_seed(0)
    rope = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0] * 4, "long_factor": [2.0, 3.0, 4.0, 5.0], "original_max_position_embeddings": 16}
    config = transformers.Phi3Config(
        hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, vocab_size=64, max_position_embeddings=64,
        original_max_position_embeddings=16, rope_parameters=rope, pad_token_id=0,
    )  # fmt: skip
    model = transformers.Phi3ForCausalLM(config).train()
    before, rotate = [], modeling_phi3.apply_rotary_pos_emb

    def spy(q, k, *others, **named):
        before.append(k.detach().double())
        return rotate(q, k, *others, **named)

    monkeypatch.setattr(modeling_phi3, "apply_rotary_pos_emb", spy)
    ids, mask = torch.randint(3, 64, (2, 20)), torch.ones(2, 20, dtype=torch.long)
    mask[1, 9:] = 0
    with ropewalk.watch(model, batches=1, pre_rope=True) as watch:
        model(input_ids=ids, attention_mask=mask)
        moments = watch._measuring.measurement.moments
        found = moments.to_numpy()["pre_rope.key.sum"]
    keys = before[0]
    expected = keys[0, :, 4:].sum(1) + keys[1, :, 4:9].sum(1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def test_tables_agree_with_the_programs(expected, tmp_path):
    watched(make_model(), make_documents(), tmp_path / "out")
    ropewalk.analyze(expected("llama")._source, tmp_path / "theirs")
    ours, theirs = ropewalk.open(tmp_path / "out"), ropewalk.open(tmp_path / "theirs")
    assert list(ours.heads.layer) == list(theirs.heads.layer)
    for column in ("r2cv_q", "r2cv_k_se", "logit_sd", "pc0_content", "bias_context"):
        np.testing.assert_allclose(ours.heads[column], theirs.heads[column], rtol=2e-3, atol=1e-5, err_msg=column)


def trained(watching, out=None, compiled="", checkpoint=None, steps=6, **settings):
    """Losses and weights after some steps."""
    model, documents = make_model(**settings), make_documents()
    if checkpoint is not None:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": checkpoint})
    run = torch.compile(model, backend=compiled) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    context = ropewalk.watch(model, every=2, batches=2, out=out) if watching else torch.enable_grad()
    with context:
        losses = [train_step(run, optimizer, in_batches(documents, 2)) for _ in range(steps)]
    return torch.cat(losses), [parameter.detach().clone() for parameter in model.parameters()]


@pytest.mark.parametrize("settings", [{}, {"checkpoint": False}, {"checkpoint": True}, {"compiled": "eager"}, {"attention_dropout": 0.1}], ids=str)
def test_training_is_left_alone(settings, tmp_path):
    """Losses and weights, and therefore gradients and random numbers, are equal bit for bit."""
    losses, weights = trained(False, **settings)
    seen, found = trained(True, tmp_path / "out", **settings)
    assert torch.equal(losses, seen)
    assert all(torch.equal(one, other) for one, other in zip(weights, found, strict=True))
    study = ropewalk.open(tmp_path / "out")
    assert list(study.checkpoints.label) == ["step-0", "step-2", "step-4"] and set(study.checkpoints.blocks) == {2}
    assert study.capture("step-0").info["tokens"] == make_documents().numel(), "tokens that backward computes again count once"


def test_a_compiled_training_changes_by_rounding_alone(tmp_path):
    """Where its graph breaks, a backend that rewrites graphs may round differently."""
    torch._dynamo.reset()
    losses, _ = trained(False, compiled="aot_eager")
    seen, _ = trained(True, tmp_path / "out", compiled="aot_eager")
    torch.testing.assert_close(seen, losses, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradient_checkpointing_counts_once(reentrant, expected, tmp_path):
    model = make_model()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant})
    same(watched(model, make_documents(), tmp_path / "out"), expected("llama"))


def test_a_compiled_model(expected, tmp_path):
    """Its graph breaks at measured steps only, and compiled variants are kept."""
    model, documents = make_model(), make_documents()
    torch._dynamo.reset()
    compiled, optimizer, graphs = torch.compile(model, backend="eager"), sgd(model), []
    counters = torch._dynamo.utils.counters
    with ropewalk.watch(model, every=3, batches=BATCHES, out=tmp_path / "out"):
        for _ in range(9):
            counters.clear()
            train_step(compiled, optimizer, in_batches(documents, BATCHES))
            graphs.append(sum(counters["graph_break"].values()))
    assert graphs[0] > 0 and set(graphs[1:]) == {0}, "a graph of measured steps, made once"
    same(ropewalk.open(tmp_path / "out").capture("step-0"), expected("llama"))
    assert list(ropewalk.open(tmp_path / "out").checkpoints.label) == ["step-0", "step-3", "step-6"]


def test_packed_documents_are_told_by_their_positions(tmp_path):
    """Rows that hold several documents count as these documents."""
    documents = make_documents()
    rows = [documents[batch::BATCHES].reshape(1, -1) for batch in range(BATCHES)]
    positions = torch.arange(TOKENS).repeat(3)[None]
    model = make_model()
    packed = watched(model, documents, tmp_path / "packed", batches=rows, position_ids=positions)
    alone = watched(make_model(), documents, tmp_path / "alone")
    for name in ("block.tokens", "block.position_mean", "block.position_scatter"):
        np.testing.assert_allclose(packed.tensors[name], alone.tensors[name], rtol=1e-12)
    # The first layer has not seen the other documents.
    for name in ("query.mean", "query.position", "key.products"):
        first = slice(0, 2)
        scale = np.abs(alone.tensors[name][first]).max()
        np.testing.assert_allclose(packed.tensors[name][first] / scale, alone.tensors[name][first] / scale, atol=2e-6)


class GivesPositions(torch.nn.Module):
    """Called without positions, the model passes them to some inner modules."""

    def __init__(self, model, positions):
        super().__init__()
        self.inner, self.positions = model, positions

    def forward(self, **named):
        return self.inner(**named, position_ids=self.positions)


def test_positions_that_a_module_around_the_model_gives(tmp_path):
    documents, positions = make_documents(), torch.arange(TOKENS).remainder(10)[None]
    given = watched(make_model(), documents, tmp_path / "given", position_ids=positions)
    inside = watched(GivesPositions(make_model(), positions), documents, tmp_path / "inside")
    for name in ("block.position_mean", "query.position", "key.products"):
        np.testing.assert_array_equal(given.tensors[name], inside.tensors[name])


def test_positions_that_a_model_makes_unlike_others(monkeypatch, tmp_path):
    model, documents = make_model(), make_documents()
    plain = type(model.model).forward
    monkeypatch.setattr(model.model, "forward", lambda **named: plain(model.model, **{**named, "position_ids": torch.arange(TOKENS)[None] + 3}))
    with pytest.raises(ropewalk.InputError, match="watch: step 0: positions are not 0, 1, 2, … though the model was called without position_ids"):
        watched(model, documents, tmp_path / "out")


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_does_not_count(attention, side, tmp_path):
    documents, lengths = make_documents(), [TOKENS - 3 * (i % 4) for i in range(12)]
    mask = torch.zeros_like(documents)
    for row, length in enumerate(lengths):
        mask[row, slice(0, length) if side == "right" else slice(TOKENS - length, TOKENS)] = 1
    positions = (mask.cumsum(-1) - 1).clamp(min=0)

    def train(model, optimizer, batches):
        for ids, real, index in zip(in_batches(documents, BATCHES), in_batches(mask, BATCHES), in_batches(positions, BATCHES), strict=True):
            model(input_ids=ids, attention_mask=real, position_ids=index, labels=ids.masked_fill(real == 0, -100)).loss.backward()
        optimizer.step()

    padded = watched(make_model(attention=attention), documents, tmp_path / "padded", train)

    def one_by_one(model, optimizer, batches):
        for row in range(12):  # every document is a batch
            start = 0 if side == "right" else TOKENS - lengths[row]
            ids = documents[row : row + 1, start : start + lengths[row]]
            model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()

    with ropewalk.watch(make_model(), batches=12, out=tmp_path / "alone") as watch:
        one_by_one(watch._model, sgd(watch._model), None)
    alone = ropewalk.open(tmp_path / "alone").capture("step-0")
    assert padded.info["tokens"] == alone.info["tokens"] == sum(lengths)
    for name in ("query.mean", "query.position", "query.products", "key.mean", "key.position", "key.products"):
        scale = np.abs(alone.tensors[name]).max()
        np.testing.assert_allclose(padded.tensors[name] / scale, alone.tensors[name] / scale, atol=5e-6, err_msg=name)


def test_padding_of_every_kind_of_mask():
    """Masks as attention functions receive them: flash, flex, a mask with a window, and an additive one."""
    from torch.nn.attention.flex_attention import create_block_mask

    real = torch.tensor([[1, 1, 1, 0], [0, 1, 1, 1]])
    window = torch.ones(4, 4).tril().bool() & ~torch.ones(4, 4).tril(-2).bool()
    seen = window & real[:, None, None].bool()
    blocks = create_block_mask(lambda row, head, q, k: (q >= k) & (real[row, k] != 0), 2, None, 4, 4, device="cpu")
    added = torch.zeros(2, 1, 4, 4, dtype=torch.bfloat16).masked_fill(~seen, torch.finfo(torch.bfloat16).min)
    for mask in (real, blocks, seen, added, added.float().masked_fill(~seen, float("-inf"))):
        assert torch.equal(_attention.real_tokens(mask, 2, 4), real.bool())
    assert _attention.real_tokens(None, 2, 4) is None
    assert _attention.real_tokens(window[None, None], 2, 4).all()


@pytest.mark.parametrize("checkpoint", [None, False, True])
def test_evaluation_and_generation_do_not_count(checkpoint, tmp_path):
    """Also where activations are recomputed, so that a training pass may begin without gradients."""
    model, documents = make_model(), make_documents()
    if checkpoint is not None:
        model.gradient_checkpointing_enable({"use_reentrant": checkpoint})
    with ropewalk.watch(model, batches=2, out=tmp_path / "out"):
        with torch.no_grad():
            model.eval()(input_ids=documents)
            model.train()(input_ids=documents[:3])
        model.generate(documents[:2], max_new_tokens=3, pad_token_id=0)
        make_model(seed=5)(input_ids=documents)
        train_step(model, sgd(model), in_batches(documents, 2))
    assert ropewalk.open(tmp_path / "out").capture("step-0").info["tokens"] == documents.numel()


def test_a_pass_with_gradients_counts_in_eval_mode(tmp_path):
    model, documents = make_model().eval(), make_documents()
    with ropewalk.watch(model, batches=2, out=tmp_path / "out", errors="raise"):
        train_step(model, sgd(model), in_batches(documents, 2))
    assert ropewalk.open(tmp_path / "out").capture("step-0").info["tokens"] == documents.numel()


def test_chosen_layers(tmp_path):
    model = make_model()
    with ropewalk.watch(model, layers=[1, 2], batches=2, out=tmp_path / "out"):
        train_step(model, sgd(model), in_batches(make_documents(), 2))
    assert set(ropewalk.open(tmp_path / "out").heads.layer) == {1, 2}
