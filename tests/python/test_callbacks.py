"""A watch as a callback: for transformers' Trainer, and for a caller that behaves like Lightning."""

import pickle
import subprocess
import sys
import types

import pytest
import ropewalk
import torch
import transformers
from watch_models import TOKENS, in_batches, make_documents, make_model, train_step


def train(tmp_path, callbacks, model=None, **settings):
    model = model or make_model()
    rows = [{"input_ids": row, "labels": row} for row in make_documents(24)]
    arguments = transformers.TrainingArguments(
        output_dir=tmp_path / "trainer", per_device_train_batch_size=3, max_steps=6, logging_steps=1, report_to=[], use_cpu=True, disable_tqdm=True,
        save_strategy="no", seed=3, **settings,
    )  # fmt: skip
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=rows, callbacks=callbacks)
    trainer.train()
    return trainer


@pytest.mark.parametrize("settings", [{}, {"gradient_accumulation_steps": 2, "gradient_checkpointing": True}, {"torch_compile": True, "torch_compile_backend": "eager"}], ids=str)
def test_the_trainer(settings, tmp_path):
    told = []
    callback = ropewalk.trainer_callback(every=2, batches=2, out=tmp_path / "out", log=lambda values, step: told.append(step))
    seen = train(tmp_path, [callback], **settings)
    alone = train(tmp_path, [], **settings)
    for one, other in zip(seen.model.parameters(), alone.model.parameters(), strict=True):
        assert torch.equal(one, other)
    losses = [[entry["loss"] for entry in trainer.state.log_history if "loss" in entry] for trainer in (seen, alone)]
    assert losses[0] == losses[1] and len(losses[0]) == 6
    study = ropewalk.open(tmp_path / "out")
    assert list(study.checkpoints.step) == [0, 2, 4] == told
    labels = [f"step-{step}" + ("" if "gradient_accumulation_steps" in settings else f"…{step + 1}") for step in told]
    assert list(study.checkpoints.label) == labels and {study.capture(label).info["tokens"] for label in labels} == {2 * 3 * TOKENS}
    assert "closed" in repr(callback.watch)


class Report(transformers.TrainerCallback):
    """Loggers like those of wandb and TensorBoard."""

    def __init__(self):
        self.told = []

    def on_log(self, args, state, control, logs=None, **_):
        self.told.append(logs)


def test_the_trainers_own_log(tmp_path):
    report = Report()
    callback = ropewalk.trainer_callback(every=2, batches=2, log="trainer", errors="raise")
    trainer = train(tmp_path, [report, callback])
    for told in (report.told, trainer.state.log_history):
        found = [entry for entry in told if "ropewalk/mean_r2cv_q" in entry]
        assert [entry["ropewalk/step"] for entry in found] == [0, 2, 4]
    alone = train(tmp_path, [])
    losses = [[entry["loss"] for entry in one.state.log_history if "loss" in entry] for one in (trainer, alone)]
    assert losses[0] == losses[1]
    with pytest.raises(ropewalk.UsageError, match='found "trainer", but the caller is not a transformers Trainer;'):
        ropewalk.trainer_callback(log="trainer").on_train_begin(None, trainer.state, None, model=make_model())


def test_a_trainer_that_failed_can_start_again(tmp_path):
    class Stop(transformers.TrainerCallback):
        armed = True

        def on_step_end(self, args, state, control, **_):
            if self.armed:
                raise KeyError("stop")

    stop, callback = Stop(), ropewalk.trainer_callback(every=2, batches=2, out=tmp_path / "out")
    model = make_model()
    with pytest.raises(KeyError):
        train(tmp_path, [stop, callback], model)
    stop.armed = False
    train(tmp_path, [stop, callback], model)
    assert list(ropewalk.open(tmp_path / "out").checkpoints.step) == [0, 2, 4]


@pytest.fixture(params=["lightning.pytorch", "pytorch_lightning"])
def lightning(request, monkeypatch):
    """What the callback needs from Lightning."""
    parts = request.param.split(".")
    for end in range(1, len(parts) + 1):
        module = types.ModuleType(".".join(parts[:end]))
        module.Callback = type("Callback", (), {})
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_lightning(lightning, tmp_path):
    model = make_model()
    optimizer, trainer = torch.optim.SGD(model.parameters(), lr=0.1), types.SimpleNamespace(global_step=0)
    callback = ropewalk.lightning_callback(every=2, batches=2, out=tmp_path / "out")
    assert isinstance(callback, lightning.Callback)
    again = pickle.loads(pickle.dumps(callback))  # for processes that Lightning starts
    assert isinstance(again, lightning.Callback) and again._options == callback._options
    callback.on_train_start(trainer, model)
    for number in range(5):
        callback.on_train_batch_start(trainer, model, None, number)
        train_step(model, optimizer, in_batches(make_documents(), 2))
        trainer.global_step += 1
    callback.on_train_end(trainer, model)
    assert list(ropewalk.open(tmp_path / "out").checkpoints.label) == ["step-0", "step-2", "step-4"]
    callback.on_train_start(trainer, model)
    callback.on_exception(trainer, model, KeyError())
    assert "closed" in repr(callback.watch)


def test_nothing_is_imported_that_is_not_asked_for():
    code = "import sys, ropewalk, torch; ropewalk.watch(torch.nn.Linear(2, 2), layers=1).close(); print([name for name in ('transformers', 'lightning') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
    with pytest.raises(ropewalk.UsageError, match="neither lightning nor pytorch_lightning"):
        ropewalk.lightning_callback()
