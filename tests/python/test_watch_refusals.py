"""What a watch refuses, in one line and without leaving files."""

import gc
import weakref

import pytest
import ropewalk
import torch
from torch.optim.optimizer import _global_optimizer_post_hooks
from watch_models import make_documents, make_model, sgd



def refused(kind, message, model, train):
    """One line, and no files are left."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    with pytest.raises(kind, match=message) as error, ropewalk.watch(model, batches=1, every=10, errors="raise") as watch:
        train(watch)
    assert "\n" not in str(error.value)
    assert "get_interface" not in vars(ALL_ATTENTION_FUNCTIONS)
    assert not _global_optimizer_post_hooks
    assert torch.is_grad_enabled()


def tapping(*arguments, **settings):
    def train(watch):
        watch.tap(*arguments, **settings)

    return train


Q, K = torch.randn(2, 4, 10, 8), torch.randn(2, 2, 10, 8)
WRONG = {
    r"layer 0: q: found list, expected a tensor": tapping(0, [1], K),
    r"layer 0: q: found a tensor of \[4, 10, 8\], expected": tapping(0, Q[0], K),
    r"layer 0: k: found a tensor of \[2, 2, 9, 8\], expected \[batch, 2, tokens, 8\]": tapping(0, Q, K[:, :, 1:]),
    r"layer 0: k: is on meta; expected cpu or cuda": tapping(0, Q, K.to("meta")),
    r"layer 0: q: found a tensor of torch.int64": tapping(0, Q.long(), K),
    r"tap: layer: found 3, expected a whole number from 0 to 2": tapping(3, Q, K),
    r"positions: found a tensor of \[9\], expected \[10\] or \[2, 10\]": tapping(0, Q, K, torch.arange(9)),
    r"positions: found a tensor of torch.float32 and torch.strided": tapping(0, Q, K, torch.rand(10)),
    r"mask: found a tensor of \[2, 9\], expected \[2, 10\]": tapping(0, Q, K, mask=torch.ones(2, 9)),
    r"step 0: no attention of LlamaForCausalLM was seen": lambda watch: watch.at(1),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_does_not_fit(message):
    refused(ropewalk.UsageError, message, make_model(), WRONG[message])


def test_values_that_are_not_finite():
    model = make_model()
    with torch.no_grad():
        model.model.layers[1].self_attn.q_proj.weight[9] = float("nan")
    refused(ropewalk.InputError, "watch: step 0: queries in layer 1, head 1, .*not all finite", model, lambda watch: model(input_ids=make_documents()))


def test_a_model_without_attention_that_is_known():
    """Immediately, not after the first step."""
    with pytest.raises(ropewalk.UsageError, match="no attention of Linear uses the attention interface of transformers: expected a model that does, or layers="):
        ropewalk.watch(torch.nn.Linear(4, 4))
    assert not _global_optimizer_post_hooks


def test_sums_before_rope_of_models_that_are_not_known():
    with pytest.raises(ropewalk.UsageError, match="pre_rope: Linear has no transformers configuration, which would say how RoPE rotates; leave pre_rope out"):
        ropewalk.watch(torch.nn.Linear(4, 4), layers=1, pre_rope=True)
    config = make_model().config
    with pytest.raises(ropewalk.UsageError, match="config has 3, 4, 2, 8 layers, query heads, key heads and dimensions, but the vectors have 3, 4, 4, 8: expected"):
        ropewalk.Moments(4, 4, 8, layers=3, config=config)
    with pytest.raises(ropewalk.InputError, match="config: .*model_type 'nobody'"):
        ropewalk.Moments(4, 2, 8, layers=3, config={**config.to_dict(), "model_type": "nobody"})


def test_heads_that_change_from_layer_to_layer():
    def train(watch):
        watch.tap(0, Q, K)
        watch.tap(1, Q[:, :2], K)

    refused(ropewalk.UsageError, r"layer 1: q: found a tensor of \[2, 2, 10, 8\], expected \[batch, 4", make_model(), train)


def test_two_modules_of_one_number():
    model = make_model()
    model.model.layers[1].self_attn.layer_idx = 0
    refused(ropewalk.UsageError, "layer 0: two attention modules", model, lambda watch: model(input_ids=make_documents()))


OPTIONS = {
    "model: found str": lambda: ropewalk.watch("gpt2"),
    "every: found 0, expected a whole number from 1 on": lambda: ropewalk.watch(make_model(), every=0),
    "batches: found 1.5": lambda: ropewalk.watch(make_model(), batches=1.5),
    r"layers: found \[3\], expected layer numbers from 0 to 2": lambda: ropewalk.watch(make_model(), layers=[3]),
    "out: found '', expected a folder": lambda: ropewalk.watch(make_model(), out=""),
    "passes: found list, expected a function of the model": lambda: ropewalk.watch(make_model(), passes=[]),
    "errors: found 'ignore', expected 'warn' or 'raise'": lambda: ropewalk.watch(make_model(), errors="ignore"),
    "log: found int": lambda: ropewalk.watch(make_model(), log=5),
}


@pytest.mark.parametrize("message", OPTIONS)
def test_options_that_cannot_be(message):
    with pytest.raises(ropewalk.UsageError, match=message):
        OPTIONS[message]()
    gc.collect()
    assert not _global_optimizer_post_hooks


def test_after_the_end():
    watch = ropewalk.watch(make_model(), errors="raise")
    watch.close()
    watch.close()
    for use in (lambda: watch.at(5), lambda: watch.tap(0, Q, K), lambda: watch.__enter__()):
        with pytest.raises(ropewalk.UsageError, match="watch: is closed; make a new one"):
            use()
    assert "closed" in repr(watch)


def test_a_watch_that_was_forgotten_lets_its_model_go():
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    model = make_model()
    gone = weakref.ref(model)
    watch = ropewalk.watch(model)
    del watch, model
    gc.collect()
    assert gone() is None and "get_interface" not in vars(ALL_ATTENTION_FUNCTIONS)


def test_an_exception_of_the_training_comes_through(tmp_path):
    with pytest.raises(KeyError), ropewalk.watch(make_model(), out=tmp_path / "out"):
        raise KeyError("mine")
    with pytest.raises(ropewalk.SystemError, match=r"has no qk\.csv"):
        ropewalk.open(tmp_path / "out")
