"""A watch in a training loop: when it measures, what it reports, where results are written, and several processes."""

import contextlib
import copy
import io
import os
import signal
import threading
import time

import pytest
import ropewalk
import torch
from watch_models import in_batches, make_documents, make_model, same, sgd, train_step, watched


class Writer:
    def __init__(self):
        self.told = []

    def add_scalar(self, name, value, step):
        self.told.append((name, value, step))


class Run:
    def __init__(self):
        self.told = []

    def log(self, values):
        self.told.append(values)


def test_what_is_told(tmp_path):
    writer, run, lines, threads = Writer(), Run(), [], []

    def function(values, step):
        lines.append((step, values))
        threads.append(threading.current_thread())

    model = make_model()
    optimizer = sgd(model)
    with ropewalk.watch(model, every=2, batches=4, log=[writer, run, function], out=tmp_path / "out") as watch:
        for _ in range(5):
            train_step(model, optimizer, in_batches(make_documents(), 4))
        assert watch.step == 5 and list(watch.study.checkpoints.label) == ["step-0", "step-2", "step-4"], "results are there while training goes on"
        assert len(ropewalk.figures(tmp_path / "out", tmp_path / "figures", format=["json"])) > 3
    assert [step for step, _ in lines] == [0, 2, 4] and set(threads) == {threading.current_thread()}
    summary = ropewalk.open(tmp_path / "out").summary
    for step, values in lines:
        assert values["ropewalk/mean_r2cv_q"] == summary["mean_r2cv_q"][f"step-{step}"]["value"]
        assert values["ropewalk/mean_r2cv_q_se"] == summary["mean_r2cv_q"][f"step-{step}"]["se"]
        assert 0 <= values["ropewalk/share_mixed"] <= 1 and ("ropewalk/share_mixed_se" in values or "ropewalk/share_mixed_high" in values)
        assert all(isinstance(value, float) for value in values.values())
        assert {(name, value, step) for name, value in values.items()} <= set(writer.told)
    assert list(ropewalk.open(tmp_path / "out").checkpoints.step) == [0, 2, 4]
    assert [told["ropewalk/step"] for told in run.told] == [0, 2, 4]
    assert {**lines[1][1], "ropewalk/step": 2} == run.told[1]


def test_a_measurement_takes_the_steps_that_it_needs(tmp_path):
    model, documents = make_model(), make_documents()
    optimizer = sgd(model)
    with ropewalk.watch(model, every=5, batches=3, out=tmp_path / "out") as watch:
        for _ in range(12):
            train_step(model, optimizer, [documents])
        assert "measuring" in repr(watch)
    study = ropewalk.open(tmp_path / "out")
    labels = ["step-0…2", "step-5…7", "step-10…11"]
    assert list(study.checkpoints.label) == labels and list(study.checkpoints.step) == [0, 5, 10]
    assert list(study.checkpoints.blocks) == [3, 3, 2], "the last one as far as it came"
    assert [study.capture(label).info["tokens"] for label in labels] == [n * documents.numel() for n in (3, 3, 2)]


def test_a_measurement_of_one_set_of_weights(tmp_path):
    """The batches of the step, and additional passes: equal to the program's capture of the same weights and tokens. The training is not affected."""
    documents, losses = make_documents(), {}
    for name, dropout in (("plain", 0.1), ("passes", 0.1), ("without dropout", 0.0)):
        model = make_model(attention_dropout=dropout)
        optimizer, batches, seen = sgd(model), in_batches(documents, 4), []

        def run(model, batches=batches, seen=seen):
            assert not model.training and not torch.is_grad_enabled()
            torch.rand(1)
            seen.append(len(seen))
            model(input_ids=batches[2 + (len(seen) - 1) % 2])

        context = ropewalk.watch(model, every=2, batches=4, out=tmp_path / name, passes=run, errors="raise") if name != "plain" else contextlib.nullcontext()
        with context:
            losses[name] = [train_step(model, optimizer, batches[:2]) for _ in range(5)]
            assert model.training
        weights = [parameter.detach() for parameter in model.parameters()]
        losses[name] = torch.cat([*losses[name], *(weight.flatten() for weight in weights)])
    assert torch.equal(losses["plain"], losses["passes"]) and len(seen) == 6
    study = ropewalk.open(tmp_path / "without dropout")
    assert list(study.checkpoints.label) == ["step-0", "step-2", "step-4"] and set(study.checkpoints.blocks) == {4}
    assert not study.heads.flag.str.contains("trend").any()
    model = make_model()
    same(study.capture("step-0"), watched(model, documents, tmp_path / "at_once"))


def test_passes_that_fail(tmp_path, caplog):
    """The measurement then uses batches of the next steps."""
    model = make_model()
    optimizer = sgd(model)
    with ropewalk.watch(model, every=10, batches=2, out=tmp_path / "out", passes=lambda model: 1 / 0):
        for _ in range(3):
            train_step(model, optimizer, [make_documents()])
    assert list(ropewalk.open(tmp_path / "out").checkpoints.label) == ["step-0…1"] and model.training
    assert "ZeroDivisionError" in caplog.text and "batches of the next steps are used instead" in caplog.text


def test_weights_that_move_while_they_are_measured_are_flagged(tmp_path):
    """With an unreasonable learning rate."""
    told = []
    for rate in (0.0, 3.0):
        model = make_model()
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        documents = make_documents(64)
        with ropewalk.watch(model, every=100, batches=8, errors="raise", log=lambda values, step: told.append(values)) as watch:
            for batch in in_batches(documents, 8):
                train_step(model, optimizer, [batch])
        flagged = watch.study.heads.flag.str.contains("trend").sum()
        assert told[-1]["ropewalk/heads_with_trend"] == flagged
    assert told[0]["ropewalk/heads_with_trend"] <= 3 < told[1]["ropewalk/heads_with_trend"]


def test_steps_that_are_not_measured_are_said(caplog):
    model = make_model()
    optimizer = sgd(model)
    with ropewalk.watch(model, every=2, batches=3):
        for _ in range(9):
            train_step(model, optimizer, [make_documents()])
    lines = [record.getMessage() for record in caplog.records if record.name == "ropewalk"]
    assert lines == [
        "watch: step 2 is not measured, because the measurement of step 0 has 2 of 3 batches; expected a longer every=, fewer batches=, or passes=",
        "watch: 2 steps were not measured: 2, 6; the measurements before them were unfinished",
    ]


def test_without_a_folder():
    model, lines = make_model(), []
    watch = ropewalk.watch(model, batches=2, log=lambda values, step: lines.append(step))
    with pytest.raises(ropewalk.UsageError, match="no step was measured yet"):
        watch.study
    with watch:
        train_step(model, sgd(model), in_batches(make_documents(), 2))
        assert len(watch.study.heads) == 12
    assert lines == [0] and len(watch.study.heads) == 12


def test_training_goes_on_in_the_same_folder(tmp_path):
    documents = make_documents()

    def go(first, steps):
        model = make_model(seed=first)
        optimizer = sgd(model)
        with ropewalk.watch(model, every=2, batches=2, out=tmp_path / "out", step=first):
            for _ in range(steps):
                train_step(model, optimizer, in_batches(documents, 2))
        return ropewalk.open(tmp_path / "out")

    before = go(0, 5).heads
    study = go(4, 3)
    assert list(study.checkpoints.label) == ["step-0", "step-2", "step-4", "step-6"]
    assert study.heads[study.heads.checkpoint == "step-0"].equals(before[before.checkpoint == "step-0"]), "as it was, to the last digit"
    assert study.heads[study.heads.checkpoint == "step-4"].r2cv_q.tolist() != pytest.approx(before[before.checkpoint == "step-4"].r2cv_q.tolist(), rel=1e-2)
    study = go(2, 1)
    assert list(study.checkpoints.label) == ["step-0", "step-2"], "later ones were of another course of training"
    courses = sorted((tmp_path / "out" / "replaced").iterdir())
    assert [sorted(path.name for path in course.iterdir()) for course in courses] == [["step-4"], ["step-2", "step-4", "step-6"]], "of each course, nothing was lost"
    assert ropewalk.Capture.open(courses[0] / "step-4").info["label"] == "step-4"
    with ropewalk.watch(make_model(), out=tmp_path / "out", step=7, every=2):
        with pytest.raises(ropewalk.SystemError, match="in use by process"):
            ropewalk.watch(make_model(), out=tmp_path / "out")
    (tmp_path / "other" / "checkpoints" / "A").mkdir(parents=True)
    with pytest.raises(ropewalk.InputError, match="is not a step of a watch"):
        ropewalk.watch(make_model(), out=tmp_path / "other")
    (tmp_path / "file").write_text("")
    with pytest.raises(ropewalk.SystemError, match="cannot be a results folder"):
        ropewalk.watch(make_model(), out=tmp_path / "file")



def test_a_folder_is_of_one_model(tmp_path):
    for seed, settings in ((0, {}), (1, dict(num_attention_heads=8))):
        model = make_model(seed=seed, **settings)
        watch = ropewalk.watch(model, every=2, batches=1, out=tmp_path / "out", step=2 * seed, errors="raise")
        with pytest.raises(ropewalk.InputError, match="expected one model; name another folder") if settings else contextlib.nullcontext():
            train_step(model, sgd(model), [make_documents()])
            watch.close()
        watch.abort()


def test_the_context_is_that_of_the_longest_batch(tmp_path):
    documents = make_documents()
    for name, lengths in dict(short_first=(10, 24), long_first=(24, 10)).items():
        model = make_model()
        with ropewalk.watch(model, batches=2, out=tmp_path / name):
            train_step(model, sgd(model), [documents[:, :length] for length in lengths])
        assert ropewalk.open(tmp_path / name).checkpoints.context.tolist() == [24]


def test_who_is_told_may_close_the_watch():
    """It may fail; the step still counts."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    model = make_model()
    optimizer, batches = sgd(model), in_batches(make_documents(), 1)
    watch = ropewalk.watch(model, every=1, batches=1, log=lambda values, step: watch.close())
    for _ in range(4):
        train_step(model, optimizer, batches)
    assert "closed" in repr(watch) and "get_interface" not in vars(ALL_ATTENTION_FUNCTIONS)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())

    def fail(values, step):
        raise KeyError(step)

    with ropewalk.watch(model, every=2, batches=1, log=fail, errors="raise") as watch:
        failed = 0
        for _ in range(3):
            try:
                train_step(model, optimizer, batches)
                watch._results._writer.wait()
            except KeyError:
                failed += 1
        assert watch.step == 3 and failed == 1
        watch.abort()


def test_a_folder_stays_where_it_was_when_the_watch_began(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    model = make_model()
    optimizer = sgd(model)
    with ropewalk.watch(model, every=1, batches=1, out="out") as watch:
        train_step(model, optimizer, in_batches(make_documents(), 1))
        study = watch.study
        monkeypatch.chdir(tmp_path / "elsewhere")
        train_step(model, optimizer, in_batches(make_documents(), 1))
    assert not any((tmp_path / "elsewhere").iterdir())
    assert list(study.checkpoints.label) == ["step-0", "step-1"]


def test_a_watch_lets_its_folder_go_though_forked_processes_live(tmp_path):
    with ropewalk.watch(make_model(), out=tmp_path / "out"):
        with pytest.raises(ropewalk.SystemError, match="is in use by process"):
            ropewalk.analyze({"other": ropewalk.Moments(4, 2, 8)}, tmp_path / "out")
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
    try:
        ropewalk.watch(make_model(), out=tmp_path / "out").close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_an_optimizer_that_takes_over_is_counted(caplog):
    model = make_model()
    head, everything = torch.optim.SGD(model.lm_head.parameters(), lr=0.1), sgd(model)
    with ropewalk.watch(model, every=100, step=1) as watch:
        for optimizer in (head, everything, head, everything):  # side by side, as one step
            optimizer.step()
        assert watch.step == 3
        for _ in range(4):
            everything.step()
        assert watch.step == 7 and "two steps while" in caplog.text


def test_a_model_is_copied_and_saved_while_it_is_measured():
    model = make_model()
    with ropewalk.watch(model, batches=2) as watch:
        copied = copy.deepcopy(model)
        torch.save(model, io.BytesIO())
        copied(input_ids=make_documents())
        train_step(model, sgd(model), in_batches(make_documents(), 2))
        assert len(watch.study.heads) == 12
    torch.save(copied, io.BytesIO())
    copied(input_ids=make_documents())
