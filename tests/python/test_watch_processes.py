"""Processes that train a model together, and measure it together."""

import ropewalk
from watch_group import two_processes
from watch_models import make_documents, make_model, same, watched


def test_processes_that_train_unlike_each_other(tmp_path):
    """One process sees only padding; one makes two passes per step. Neither makes the other wait."""
    two_processes(tmp_path, "unlike")
    padded, passes = (ropewalk.open(tmp_path / name) for name in ("padded", "passes"))
    documents = make_documents()
    assert padded.capture("step-0").info["tokens"] == documents[:6].numel()
    assert list(passes.checkpoints.label) == ["step-0…1", "step-4…5"]
    assert passes.capture("step-0…1").info["tokens"] == 4 * documents[:3].numel()


def test_two_processes(tmp_path):
    """Each trains on half of the batches; the sums are those of one process with all of them."""
    two_processes(tmp_path / "two")
    one = watched(make_model(), make_documents(), tmp_path / "one")
    same(ropewalk.open(tmp_path / "two").capture("step-0"), one, 1e-12)
    assert list(ropewalk.open(tmp_path / "two").checkpoints.label) == ["step-0", "step-1"]
