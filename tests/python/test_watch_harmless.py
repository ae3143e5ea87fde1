"""Whatever fails in a watch, the training does the same as without one, to the last bit; and the failure is reported once."""

import re

import pytest
import ropewalk
import watch_failures
from watch_group import two_processes


def steps(folder):
    return sorted(int(re.search(r"\d+", path.name)[0]) for path in (folder / "checkpoints").iterdir())


@pytest.mark.parametrize("name", watch_failures.FAILURES)
def test_alone(name, tmp_path):
    losses, lines = watch_failures.train_with(name, tmp_path / "out")
    assert watch_failures.same_bits(losses, watch_failures.plain(name))
    message = watch_failures.FAILURES[name][2]
    if message is None or name == "closed":
        assert not lines
    else:
        assert len(lines) == 1 and re.search(message, lines[0]), lines


def test_two_processes(tmp_path):
    said = two_processes(tmp_path, script="watch_failures.py")
    for name, (_, _, message) in watch_failures.FAILURES.items():
        counts = [re.search(rf"^{rank} {name}: (\d+) (.*)$", output, re.M) for rank, output in enumerate(said)]
        assert all(counts), f"{name}: {said}"
        assert [int(found[1]) for found in counts] == [0 if message is None else 1, 0], [found[0] for found in counts]
        if message is not None:
            assert re.search(message, counts[0][2]), counts[0][2]
    for name in watch_failures.RAISED:
        raised = [re.search(rf"^{rank} raises {name}: (.*)$", output, re.M)[1] for rank, output in enumerate(said)]
        assert raised[0] == raised[1] and re.match(r"at \d+: watch: ", raised[0]) and re.search(watch_failures.FAILURES[name][2], raised[0]), raised


def test_what_is_measured_though_something_fails(tmp_path):
    watch_failures.train_with("logger", tmp_path / "logger")
    assert steps(tmp_path / "logger") == list(range(0, 40, 4))
    watch_failures.train_with("padding", tmp_path / "padding")
    assert steps(tmp_path / "padding") == list(range(4, 40, 8))
    watch_failures.train_with("prefix", tmp_path / "prefix")
    assert steps(tmp_path / "prefix") == list(range(8, 40, 4))
    watch_failures.train_with("damaged", tmp_path / "damaged")
    assert list(ropewalk.open(tmp_path / "damaged").checkpoints.step) == list(range(4, 41, 4))
