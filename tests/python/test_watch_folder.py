"""What a watch writes and reads: a step writes only its own files, however many there are, and nothing measured is lost."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import ropewalk
import torch
from ropewalk import _watch
from torch.nn.parallel import DistributedDataParallel
from watch_models import TOKENS, in_batches, make_documents, make_model, same, sgd, train_step, watched


class Tiny(torch.nn.Module):
    """One layer of two heads, which taps its inputs."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.watch = None

    def forward(self, q, k):
        self.watch.tap(0, q * self.weight, k)
        return (q * self.weight).sum()


def train(out, steps, seen=None, **options):
    model = Tiny()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    q, k = torch.randn(2, 2, 6, 4), torch.randn(2, 1, 6, 4)
    with ropewalk.watch(model, every=1, layers=1, batches=1, out=out, errors="raise", components=1, **options) as model.watch:
        for step in range(steps):
            if seen:
                model.watch._results._writer.wait()
                seen(step)
            model(q, k).backward()
            optimizer.step()
    return model.watch


def counted(name):
    """The bytes that this process read (rchar) or wrote (wchar)."""
    return int(re.search(rf"{name}: (\d+)", Path("/proc/self/io").read_text())[1])


def resident():
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024


def test_two_thousand_steps(tmp_path):
    """The last hundred steps write and read as much as the first hundred; starting again reads none of them."""
    noted = {}

    def note(step):
        if step in (10, 110, 500, 1899, 1999):
            noted[step] = counted("wchar"), counted("rchar"), resident()

    train(tmp_path / "out", 2000, note)
    wrote, read = ([noted[b][i] - noted[a][i] for a, b in ((10, 110), (1899, 1999))] for i in (0, 1))
    assert wrote[0] > 100 * 1000 and 0.8 < wrote[1] / wrote[0] < 1.2, wrote
    assert read[1] < read[0] * 1.2 + 100_000, read
    assert noted[1999][2] < noted[500][2] + 20e6, noted
    study = ropewalk.open(tmp_path / "out")
    assert list(study.checkpoints.step) == list(range(2000))
    before, files = counted("rchar"), sorted((tmp_path / "out" / "checkpoints").iterdir())
    again = ropewalk.watch(Tiny(), layers=1, out=tmp_path / "out", step=2000)
    assert counted("rchar") - before < 1e6
    again.close()
    assert sorted((tmp_path / "out" / "checkpoints").iterdir()) == files and not (tmp_path / "out" / "replaced").exists()


def test_tables_are_those_of_all_moments(tmp_path):
    """Tables made from stored analyses are equal to those of `analyze`."""
    model, documents = make_model(), make_documents()
    optimizer = sgd(model)
    with ropewalk.watch(model, every=1, batches=4, out=tmp_path / "out", errors="raise", pre_rope=True):
        for _ in range(3):
            train_step(model, optimizer, in_batches(documents, 4))
    found = ropewalk.open(tmp_path / "out")
    ropewalk.analyze([tmp_path / "out" / "checkpoints" / f"step-{step}" for step in range(3)], tmp_path / "again")
    again = ropewalk.open(tmp_path / "again")
    for name in ("heads", "components", "bands", "curves"):
        assert getattr(found, name).equals(getattr(again, name)), name
    assert (tmp_path / "out" / "changes.csv").read_text() == (tmp_path / "again" / "changes.csv").read_text()


def test_reading_a_folder_that_a_watch_is_writing(tmp_path):
    """Or a step that was being written when its process was killed."""
    model = make_model()
    optimizer = sgd(model)
    watch = ropewalk.watch(model, every=1, batches=1, out=tmp_path / "out", errors="raise")
    for _ in range(3):
        train_step(model, optimizer, [make_documents()])
    watch._results._writer.wait()
    study = ropewalk.open(tmp_path / "out")
    assert list(study.checkpoints.step) == [0, 1, 2] and study.capture("step-1").info["label"] == "step-1"
    assert not (tmp_path / "out" / "qk.csv").exists() and len(study.figures) > 3
    watch.abort()
    assert list(ropewalk.open(tmp_path / "out").checkpoints.step) == [0, 1, 2]
    assert (tmp_path / "out" / "qk.csv").exists(), "for the program too"
    # An analysis by another edition is computed again; an unreadable step is left out.
    (tmp_path / "out" / "checkpoints" / "step-0" / "analysis.bin").write_bytes(b"ropewalk 0.0.1\n")
    (tmp_path / "out" / "checkpoints" / "step-1" / "analysis.bin").unlink()
    (tmp_path / "out" / "checkpoints" / "step-1" / "moments.safetensors").write_bytes(b"no")
    os.utime(tmp_path / "out" / "checkpoints")
    again = ropewalk.open(tmp_path / "out")
    assert list(again.checkpoints.step) == [0, 2]
    first = [one.components[one.components.checkpoint == "step-0"].reset_index(drop=True) for one in (again, study)]
    assert len(first[0]) > 0 and first[0].equals(first[1])


def test_nothing_that_was_measured_is_removed(tmp_path, caplog):
    """Training that starts again without step= is another course; each course gets a folder."""
    for _ in range(3):
        train(tmp_path / "out", 4)
    courses = sorted((tmp_path / "out" / "replaced").iterdir())
    assert [sorted(path.name for path in course.iterdir()) for course in courses] == [[f"step-{step}" for step in range(4)]] * 2
    for course in courses:
        assert {ropewalk.Capture.open(path).info["label"] for path in course.iterdir()} == {path.name for path in course.iterdir()}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(-\d+)?", course.name)
    assert caplog.text.count("step= sets the step at which training continues") == 2
    assert list(ropewalk.open(tmp_path / "out").checkpoints.step) == [0, 1, 2, 3]


def test_without_a_folder_no_moments_are_kept():
    watch = train(None, 2)
    assert list(watch.study.heads.checkpoint.unique()) == ["step-0", "step-1"]
    for use in (lambda: watch.study.capture("step-0"), lambda: watch.study.jackknife(lambda head: 1.0), lambda: watch.study.difference("step-0", "step-1", lambda head: 1.0)):
        with pytest.raises(ropewalk.UsageError, match="watch has no out=, so it keeps tables but no moments; name a folder with out="):
            use()


@pytest.mark.parametrize("name", ["manifest.json", "qk.csv", "summary.json"])
def test_results_of_others_are_refused(name, tmp_path):
    (tmp_path / name).write_text("{}")
    with pytest.raises(ropewalk.UsageError, match=f"holds {name}, which was not written by a watch; name another folder with out="):
        ropewalk.watch(make_model(), out=tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / "events.out.tfevents").write_text("of the training itself")
    ropewalk.watch(make_model(), out=tmp_path).close()


class Others:
    """A group in which this process is one of many."""

    def __init__(self, processes):
        self._processes = processes

    def rank(self):
        return 5 % self._processes

    def count(self):
        return self._processes

    def all(self, value):
        return [value] * self._processes


def test_a_process_keeps_what_it_keeps_alone(monkeypatch):
    """The same for any number of processes; tests/moments/collectors/join_batches_test.cpp counts what is sent."""
    sizes = {}
    for processes in (1, 64, 256):
        monkeypatch.setattr(_watch, "Processes", lambda group, processes=processes: Others(processes))
        model = make_model()
        with ropewalk.watch(model, batches=1) as watch:
            model(input_ids=make_documents()).logits.sum().backward()
            tensors = watch._measuring.measurement.moments.to_numpy()
            sizes[processes] = sum(array.nbytes for array in tensors.values())
            watch.abort()
    assert sizes[64] == pytest.approx(sizes[1], rel=0.1) and sizes[256] == pytest.approx(sizes[1], rel=0.1), sizes


def test_many_batches_are_thirty_two_blocks(tmp_path):
    model, documents = make_model(), make_documents(40)
    with ropewalk.watch(model, batches=40, out=tmp_path / "out", errors="raise"):
        train_step(model, sgd(model), [documents[i : i + 1] for i in range(40)])
    found = ropewalk.open(tmp_path / "out").capture("step-0")
    assert found.tensors["block.documents"].tolist() == [2] * 8 + [1] * 24
    expected = ropewalk.capture(make_model(), [document.tolist() for document in documents], context=TOKENS, blocks=32, dtype="float32", device="cpu", min_tokens=1)
    same(found, expected)


@pytest.mark.parametrize("around", ["compile", "parallel", "both"])
def test_a_model_with_something_around_it(around, tmp_path):
    """Tables name the model, and its configuration is found."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        model = make_model()
        run = DistributedDataParallel(model) if around != "compile" else model
        run = torch.compile(run, backend="eager") if around != "parallel" else run
        with ropewalk.watch(run, every=1000, batches=4, out=tmp_path / "out", errors="raise", pre_rope=True):
            train_step(run, sgd(model), in_batches(make_documents(), 4))
    finally:
        torch.distributed.destroy_process_group()
    study = ropewalk.open(tmp_path / "out")
    assert set(study.heads.model) == {"LlamaForCausalLM"} and len(study.bands) > 0
    same(study.capture("step-0"), watched(make_model(), make_documents(), tmp_path / "plain"))


def test_a_batch_that_the_training_skips_is_left_out(tmp_path):
    """Skipped like GradScaler does it. The other steps are as if this one had not existed."""
    told, documents = [], make_documents(12)
    for name, poisoned in (("with", True), ("without", False)):
        model = make_model()
        weight = model.model.layers[1].self_attn.q_proj.weight
        with ropewalk.watch(model, batches=4, out=tmp_path / name, errors="raise", log=lambda values, step: told.append(values), pre_rope=True):
            for batch, ids in enumerate(in_batches(documents, 4)):
                kept = weight.detach().clone()
                if poisoned and batch == 1:
                    with torch.no_grad():
                        weight.fill_(float("nan"))
                elif batch == 1:
                    continue
                model(input_ids=ids, labels=ids).loss.backward()
                with torch.no_grad():
                    weight.copy_(kept)
    left, rest = (ropewalk.open(tmp_path / name) for name in ("with", "without"))
    assert [values["ropewalk/batches_left_out"] for values in told] == [1, 0]
    found, expected = left.capture("step-0"), rest.capture("step-0")
    assert found.info["documents"] == expected.info["documents"] == 9 and found.tensors["block.tokens"][1] == 0
    for name in ("query.mean", "key.products", "pre_rope.query.sum"):
        np.testing.assert_allclose(found.tensors[name], expected.tensors[name], rtol=1e-9, atol=1e-12, err_msg=name)
    assert left.heads.r2cv_q.notna().all() and json.loads((tmp_path / "with" / "watch.json").read_text())["model"] == "LlamaForCausalLM"
