"""States of interrupted captures: intact, damaged, or about other documents; texts that are cut; tables that follow the moments."""

import json
import os
import random
import shutil
import signal
import time

import pytest

import tiny_models
from trust_study import LENGTH, Study, good, hidden, pristine, start, study, tables  # noqa: F401 (fixtures)

PIECES = [random.Random(i).choices(range(tiny_models.VOCAB), k=LENGTH) for i in range(7)]


def interrupt(study, out, label="A"):
    """Ends a run as soon as it has saved a state; returns its last line."""
    process = start(study, out)
    while process.poll() is None and not (out / "checkpoints" / f".{label}.state").exists():
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    return stderr.strip().splitlines()[-1]


# States of interrupted captures


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """A long study, its tables, and a folder in which it was interrupted."""
    study = Study(tmp_path_factory.mktemp("interrupted") / "study")
    study.write_corpus(study.rows * 200)
    study.write(corpus={"path": "corpus.jsonl"})
    good(study.run(study.root / "fresh"))
    interrupt(study, study.root / "stopped")
    return study


def empty(path):
    path.write_bytes(b"")


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def turn_a_bit(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def other_documents(path):
    data = bytearray(path.read_bytes())
    header = int.from_bytes(data[:8], "little")
    data[8 + header + json.loads(data[8 : 8 + header])["document.digest"]["data_offsets"][0]] ^= 1
    path.write_bytes(data)


def make_folder(path):
    path.unlink()
    path.mkdir()
    (path / "mine").write_text("mine")


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


def make_link(path):
    path.rename(path.parents[2] / "linked")
    path.symlink_to(path.parents[2] / "linked")


@pytest.mark.parametrize("damage", [empty, cut, turn_a_bit, other_documents, make_folder, make_pipe, make_link])
def test_a_damaged_state(interrupted, tmp_path, damage):
    out = tmp_path / "out"
    shutil.copytree(interrupted.root / "stopped", out)
    damage(out / "checkpoints" / ".A.state")
    result = good(interrupted.run(out))
    assert tables(out) == tables(interrupted.root / "fresh")
    assert ("resuming after" in result.stderr) == (damage is make_link)
    aside = damage in (empty, cut, make_folder, make_pipe)  # not a state, and possibly a file of another program
    assert hidden(out) == ([".A.state-1"] if aside else [])
    if damage is make_folder:
        assert (out / "replaced" / ".A.state-1" / "mine").read_text() == "mine"
    if damage is make_link:
        assert (tmp_path / "linked").exists()


def test_an_interrupted_extension_says_how_far_it_came(interrupted, tmp_path):
    study = object.__new__(Study)
    study.__dict__ = {**interrupted.__dict__, "root": tmp_path / "study"}
    shutil.copytree(interrupted.root, study.root, ignore=shutil.ignore_patterns("fresh", "stopped"))
    out = tmp_path / "out"
    study.write(corpus={"path": "corpus.jsonl", "documents": 100})
    good(study.run(out))
    study.write(corpus={"path": "corpus.jsonl"})
    last = interrupt(study, out, "init")
    done = int(last.split("stopped after ")[1].split()[0])
    assert done > 100 and f"stopped after {done} of 3200 documents of 'init'" in last
    assert f"measure, {done} of 3200 documents done" in study.run(out, "--dry-run").stdout
    again = good(study.run(out))
    assert f"init: resuming after {done - 100} documents" in again.stderr and hidden(out) == []


# Texts that are cut


def test_a_piece_that_moves_to_another_text(tmp_path):
    """The same pieces in the same order, but one in another block: sums are equal, standard errors are not."""
    study = Study(tmp_path / "study")
    study.write(corpus={"path": "corpus.jsonl", "chunk": True}, blocks=2)
    study.write_corpus([sum(PIECES[0::2], []), sum(PIECES[1::2], [])])
    out = tmp_path / "out"
    good(study.run(out))
    before = tables(out)
    study.write_corpus([sum(PIECES[0:6:2], []), sum(PIECES[1::2], []) + PIECES[6]])
    result = good(study.run(out))
    assert "A: measured again: the pieces of texts were dealt to other blocks" in result.stderr
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh") != before
    study.write(corpus={"path": "corpus.jsonl", "chunk": True, "documents": 6}, blocks=2)
    assert "A: measured again: documents: 7 → 6" in good(study.run(out)).stderr
    study.write(corpus={"path": "corpus.jsonl", "chunk": True}, blocks=2)
    result = good(study.run(out))
    assert "A: measured again: documents: 6 → 7, and the block of a piece depends on the length of its text" in result.stderr
    assert tables(out) == tables(tmp_path / "fresh")


def test_cut_texts_after_an_interrupt(tmp_path):
    study = Study(tmp_path / "study")
    random.seed(5)
    pieces = [random.choices(range(tiny_models.VOCAB), k=LENGTH) for _ in range(3000)]
    texts = [sum(pieces[0::2], []), sum(pieces[1::2], [])]
    study.write_corpus(texts)
    study.write(corpus={"path": "corpus.jsonl", "chunk": True}, blocks=2)
    out = tmp_path / "out"
    interrupt(study, out)
    shutil.copytree(out, tmp_path / "moved")
    assert "A: resuming after" in good(study.run(out)).stderr
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh")
    # The last piece moves to the other text; what was read before is the same, but in other blocks.
    study.write_corpus([texts[0], texts[1][:-LENGTH]])
    study.write_corpus([texts[0][:-LENGTH], texts[1][:-LENGTH] + texts[0][-LENGTH:]])
    assert "resuming after" not in good(study.run(tmp_path / "moved")).stderr
    good(study.run(tmp_path / "other"))
    assert tables(tmp_path / "moved") == tables(tmp_path / "other")


def test_tables_follow_the_moments_they_are_made_of(study, tmp_path):
    """Documents that were added later give other last digits than documents read in one go."""
    out = study.root / "out"
    study.write(corpus={"path": "corpus.jsonl", "documents": 16})
    good(study.run(out))
    for label in ("init", "A"):
        shutil.rmtree(out / "checkpoints" / label)
    good(study.run(out))
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh")
