"""Changed documents and tokenizers are measured again; captures may be renamed or left over."""

import json
import random
import signal
import subprocess
import time

import numpy as np

import engine
import tiny_models
from trust_checks import check_against_fresh, write_tokenizer
from trust_study import DOCUMENTS, LENGTH, Study, good, inodes, labels, mark, pristine, study, tables  # noqa: F401 (fixtures)


def test_an_edit_of_a_document_and_of_their_order(study, tmp_path):
    rows = [list(row) for row in study.rows]
    rows[3][5] = (rows[3][5] + 1) % tiny_models.VOCAB
    study.write_corpus(rows)
    assert "other documents" in check_against_fresh(study, tmp_path).stderr
    study.write_corpus([rows[1], rows[0], *rows[2:]])
    good(study.run(study.root / "out"))
    good(study.run(tmp_path / "swapped"))
    assert tables(study.root / "out") == tables(tmp_path / "swapped")
    study.write_corpus([rows[1], rows[0], *rows[2:DOCUMENTS], *([[1] * LENGTH])])  # one that is not read
    old = inodes(study.root / "out")
    good(study.run(study.root / "out"))
    assert inodes(study.root / "out") == old


def test_ids_count_where_vectors_are_written(study, tmp_path):
    def write(first):
        lines = [json.dumps({"id": first + i, "tokens": row}) + "\n" for i, row in enumerate(study.rows)]
        (study.root / "corpus.jsonl").write_text("".join(lines))

    write(100)
    out = study.root / "out"
    old = inodes(out)
    good(study.run(out))
    assert inodes(out) == old, "without vectors, ids are nowhere"
    study.write(vectors="all")
    good(study.run(out))
    write(200)
    good(study.run(out))
    assert set(engine.read_streams(out / "checkpoints" / "A")[0, 0, "q"]) == set(range(200, 200 + DOCUMENTS))


def test_more_documents_read_only_the_new_ones(study, tmp_path):
    study.write(corpus={"path": "corpus.jsonl", "documents": 16})
    result = good(study.run(study.root / "out"))
    assert "A: 12 of 16 documents exist already" in result.stderr
    good(study.run(tmp_path / "fresh"))
    ours, theirs = (np.genfromtxt(out / "qk.csv", delimiter=",", names=True, dtype=None, encoding=None)
                    for out in (study.root / "out", tmp_path / "fresh"))  # fmt: skip
    for name in ("explained_variance", "r_q", "r_k"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-8)
    for name in ("r_q_se", "r_k_se", "explained_variance_se"):  # blocks of a file are rounded to float32
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4, atol=1e-7)
    assert (ours["n_q"] == theirs["n_q"]).all()
    again = good(study.run(study.root / "out"))
    assert again.stderr.count("measured already") == 2


def test_a_capture_that_goes_on_has_read_these_documents(tmp_path):
    """A saved state of other documents does not count as progress."""
    study = Study(tmp_path / "study")
    study.write_corpus(study.rows * 400)
    study.write(corpus={"path": "corpus.jsonl"})
    out = tmp_path / "out"
    process = subprocess.Popen([engine.program(), "run", study.root / "study.yaml", "--out", out, "--format", "json", "--quiet"])
    while process.poll() is None and not (out / "checkpoints" / ".A.state").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert "documents done" in good(study.run(out, "--dry-run")).stdout
    study.write_corpus(list(reversed(study.rows)) * 400)
    assert "documents done" not in good(study.run(out, "--dry-run")).stdout


def test_the_tokenizer_of_another_checkpoint_is_named(tmp_path):
    study = Study(tmp_path / "study", ("A", "B"))
    for model in ("A", "B"):
        write_tokenizer(study.root / model)
    assert "using the tokenizer" not in good(study.run(tmp_path / "whole")).stderr
    (study.root / "A").rename(tmp_path / "unmounted")
    result = study.run(tmp_path / "out", "--keep-going")
    assert result.code == 3 and "using the tokenizer of 'B', because 'A' could not be opened" in result.stderr


def test_a_tokenizer_counts_where_tokens_change(tmp_path):
    study = Study(tmp_path / "study")

    def write(**words):
        write_tokenizer(study.root / "A", **words)

    letters = {f"w{i}": chr(97 + i) for i in range(26)}
    texts = ["".join(random.Random(i).choices("abcdefghij", k=LENGTH + 5)) for i in range(16)]
    (study.root / "corpus.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    write(**letters)
    good(study.run(study.root / "out"))
    old = inodes(study.root / "out")
    write(**{**letters, "w30": "Z"})  # a letter that no text contains
    good(study.run(study.root / "out"))
    assert inodes(study.root / "out") == old
    write(**{**letters, "w0": "b", "w1": "a"})
    check_against_fresh(study, tmp_path)
    now = inodes(study.root / "out")
    assert now != old
    # Another file with the same tokens, and one with other tokens, named by the key `tokenizer`.
    write_tokenizer(study.root, **{**letters, "w0": "b", "w1": "a", "w30": "Z"})
    study.write(tokenizer="tokenizer.json")
    good(study.run(study.root / "out"))
    assert inodes(study.root / "out") == now
    write_tokenizer(study.root, **letters)
    assert "other documents" in good(study.run(study.root / "out")).stderr
    good(study.run(tmp_path / "named"))
    assert tables(study.root / "out") == tables(tmp_path / "named")


# Names


def test_renamed_swapped_and_moved_checkpoints_are_reused(tmp_path):
    study = Study(tmp_path / "study", ("A", "B"))
    out = study.root / "out"
    good(study.run(out))
    old = inodes(out)
    labels(study, ("first", "A"), ("B", "B"))
    good(study.run(out))
    assert inodes(out) == {"init": old["init"], "first": old["A"], "B": old["B"]}
    assert json.loads((out / "checkpoints" / "first" / "capture.json").read_text())["label"] == "first"
    labels(study, ("B", "A"), ("first", "B"))
    good(study.run(out))
    assert inodes(out) == {"init": old["init"], "B": old["A"], "first": old["B"]}
    (study.root / "A").rename(study.root / "elsewhere")
    labels(study, ("first", "B"), ("B", "elsewhere"))
    result = good(study.run(out))
    assert inodes(out) == {"init": old["init"], "B": old["A"], "first": old["B"]}
    assert result.stderr.count("measured already") == 3
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh")


def test_what_nothing_refers_to_is_listed_and_pruned(tmp_path):
    study = Study(tmp_path / "study", ("A", "B"))
    out = study.root / "out"
    good(study.run(out))
    labels(study, ("A", "A"))
    result = good(study.run(out))
    assert "checkpoints/B: no longer used; --prune removes it" in result.stderr
    assert (out / "checkpoints" / "B").exists()
    (out / "checkpoints" / "mine").mkdir()
    (out / "checkpoints" / "mine" / "notes.txt").write_text("mine")
    good(study.run(out, "--prune"))
    assert sorted(path.name for path in (out / "checkpoints").iterdir()) == ["A", "init", "mine"]


def test_long_work_is_moved_aside(study):
    """It is listed, never read again, and found after it is moved back by hand."""
    out = study.root / "out"
    old = inodes(out)["A"]
    description = out / "checkpoints" / "A" / "capture.json"
    description.write_text(json.dumps({**json.loads(description.read_text()), "seconds": 100}))
    study.write(blocks=5)
    said = good(study.run(out)).stderr
    (kept,) = (out / "replaced").glob("????-??-??/A")
    size = sum(file.stat().st_size for file in kept.rglob("*"))
    (line,) = [line for line in said.splitlines() if "moved to" in line]
    assert f"{out}/checkpoints/A: moved to {kept} (" in line and line.endswith("); --prune removes it") and size > 1024
    assert mark(kept / "moments.safetensors") == old
    study.write()
    good(study.run(out))
    assert inodes(out)["A"] != old and mark(kept / "moments.safetensors") == old
    study.write(blocks=5)
    good(study.run(out))
    kept.rename(out / "checkpoints" / "again")
    study.write()
    good(study.run(out))
    assert inodes(out)["A"] == old, "the settings of before: nothing is measured"
