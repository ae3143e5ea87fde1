"""What is read and what is reused where a target for standard errors is set, and of interrupted captures."""

import json
import random
import signal
import subprocess
import time

import engine
from trust_study import LENGTH, Study, good, inodes, spoil, tables


def rows_of(out, label):
    return [line for line in (out / "qk.csv").read_text().splitlines() if f",{label}," in line]


def close(out, fresh, label):
    """The same rows, but for standard errors of blocks that a capture keeps in float32."""
    ours, theirs = ([line.split(",") for line in rows_of(folder, label)] for folder in (out, fresh))
    names = (out / "qk.csv").read_text().split("\n")[0].split(",")
    assert len(ours) == len(theirs) > 0
    for mine, yours in zip(ours, theirs):
        for name, a, b in zip(names, mine, yours):
            same = a == b or abs(float(a) - float(b)) <= (1e-4 if name.endswith("_se") else 1e-7)
            assert same, f"{label}: {name}: {a} and {b}"


def documents_of(out):
    return {p.parent.name: json.loads(p.read_text())["documents"] for p in out.glob("checkpoints/*/capture.json")}


def long_study(root, models=("A",)):
    study = Study(root, models)
    generator = random.Random(5)
    study.write_corpus([[generator.randrange(60) for _ in range(LENGTH)] for _ in range(40)])
    return study


def aim(study, target, documents=40, **changes):
    study.write(corpus={"path": "corpus.jsonl", "documents": documents}, precision={"target_se": target}, **changes)


def test_a_target_that_was_missed_reads_more_when_there_is_more(tmp_path):
    study = long_study(tmp_path / "study")
    out = tmp_path / "out"
    aim(study, 0.01, documents=8)
    assert "A: standard error" in good(study.run(out)).stderr
    assert "A: standard error" in good(study.run(out)).stderr, "as long as it is missed"
    dry = good(study.run(out, "--dry-run"))
    assert dry.stdout.count("measured already") == 2 and "A: the 8 documents that are there miss the target 0.01" in dry.stdout
    aim(study, 0.01, documents=32)
    dry = study.run(out, "--dry-run").stdout
    assert "measure, until the target is reached, 8 of 32 documents done" in dry
    assert "measure, as many documents as 'A', 8 of 32 documents done" in dry
    result = good(study.run(out))
    assert "A: the 8 documents that are there miss the target 0.01; more are read" in result.stderr
    assert "A: 8 of 16 documents are there already" in result.stderr and "measured again" not in result.stderr
    good(study.run(tmp_path / "fresh"))
    assert documents_of(out) == documents_of(tmp_path / "fresh") and documents_of(out)["A"] > 8
    for label in ("init", "A"):
        close(out, tmp_path / "fresh", label)
    of_a = [json.loads((folder / "checkpoints" / "A" / "capture.json").read_text())["target_se"] for folder in (out, tmp_path / "fresh")]
    assert of_a[0] == of_a[1]


def worst_error(out, label):
    return json.loads((out / "manifest.json").read_text())["tables"]["standard_errors"][label]


def test_another_target_adds_to_what_is_there(tmp_path):
    study = long_study(tmp_path / "study")
    out = tmp_path / "out"
    aim(study, 10.0)
    good(study.run(out))
    assert documents_of(out) == {"init": 8, "A": 8}
    stricter = worst_error(out, "A") * 0.7
    aim(study, stricter)
    result = good(study.run(out))
    assert "measured again" not in result.stderr
    read = documents_of(out)
    good(study.run(tmp_path / "fresh"))
    assert read == documents_of(tmp_path / "fresh") and read["A"] > 8
    for label in read:
        close(out, tmp_path / "fresh", label)
    old, table = inodes(out), tables(out)
    aim(study, stricter * 2)  # less would do: what is there does too
    dry = good(study.run(out, "--dry-run")).stdout
    assert f"A: the {read['A']} documents that are there reach the target" in dry and dry.count("measured already") == 2
    result = good(study.run(out))
    assert "documents that are there reach the target" in result.stderr
    assert inodes(out) == old and tables(out) == table
    aim(study, worst_error(out, "A") * 1.001)  # it is reached already, though that was not asked for
    good(study.run(out))
    assert inodes(out) == old


def test_vectors_with_a_stricter_target_say_why_they_start_over(tmp_path):
    study = long_study(tmp_path / "study")
    out = tmp_path / "out"
    aim(study, 10.0, vectors="all")
    assert "measured again" not in good(study.run(out)).stderr, "the ids of all documents are not those of the ones read"
    assert good(study.run(out)).stderr.count("measured already") == 2
    aim(study, worst_error(out, "A") * 0.7, vectors="all")
    why = "documents miss the target"
    dry = good(study.run(out, "--dry-run")).stdout
    assert f"until the target is reached (8 {why}" in dry and "vectors are written in one go)" in dry
    result = good(study.run(out))
    assert f"A: measured again: 8 {why}" in result.stderr and "vectors are written in one go" in result.stderr
    assert "init: measured again: documents: 8 → " in result.stderr
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh")


def test_another_checkpoint_that_decides_keeps_its_capture(tmp_path):
    study = long_study(tmp_path / "study", ("A", "B"))
    out = tmp_path / "out"
    aim(study, 10.0)
    good(study.run(out))
    old = inodes(out)
    checkpoints = [{"label": name, "path": name} for name in ("B", "A")]
    phases = [{"name": "P", "context": LENGTH, "checkpoints": [{"label": "init", "random": 0}, *checkpoints]}]
    aim(study, 10.0, phases=phases)
    result = good(study.run(out))
    assert inodes(out) == old and "B: the 8 documents that are there reach the target 10" in result.stderr
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh")


def test_tables_where_the_checkpoint_that_decides_fails(tmp_path):
    study = long_study(tmp_path / "study", ("A", "B"))
    out = tmp_path / "out"
    aim(study, 10.0)
    good(study.run(out))
    before = {label: rows_of(out, label) for label in ("init", "B")}
    spoil(study, "A", "nan")
    aim(study, 10.0, components=2)
    result = study.run(out)
    assert result.code == 3 and "'A': queries in layer 0, head 0" in result.stderr.strip().splitlines()[-1]
    assert not rows_of(out, "A")
    for label in ("init", "B"):
        assert len(rows_of(out, label)) == len(before[label]) * 2 // 3, "tables of two components, as the file says now"


def test_a_capture_that_goes_on_has_read_these_documents(tmp_path):
    """A state of other documents is not counted as done."""
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


def test_keep_going_with_a_target(tmp_path):
    study = Study(tmp_path / "study", ("A", "B"))
    spoil(study, "A", "nan")
    study.write(precision={"target_se": 0.5})
    result = study.run(tmp_path / "out", "--keep-going")
    assert result.code == 3 and "1 of 3 checkpoints were not measured: 'A'" in result.stderr
    assert ",B," in (tmp_path / "out" / "qk.csv").read_text()
