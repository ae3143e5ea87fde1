"""A study that is killed, that runs at the same time as another, or that finds a full disk or damaged captures."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import torch
from safetensors.torch import load_file, save_file

import engine
import tiny_models
from tiny_study import LONG, SHORT, files, finished, study, written  # noqa: F401 (fixtures)


# Interruption


def test_killed_at_random_moments(study, finished, tmp_path):
    out = tmp_path / "out"
    start = time.monotonic()
    assert study.run(study.write(), tmp_path / "timed").code == 0
    whole = time.monotonic() - start
    dice = random.Random(7)
    seen = {}
    for _ in range(20):
        if dice.random() < 0.2:
            shutil.rmtree(out, ignore_errors=True)
            seen = {}
        engine.kill_after(dice.uniform(0.1, 1.0) * whole, "run", study.write(), "--out", out, "--format", "json", "--quiet")
        now = written(out)
        assert all(now.get(label) == when for label, when in seen.items()), "finished captures are kept"
        seen = now
    assert study.run(study.write(), out).code == 0
    now = written(out)
    assert all(now[label] == when for label, when in seen.items())
    assert files(out) == files(finished)
    left = [path.name for path in out.rglob("*") if path.name.startswith(".") and path.name != ".lock"]
    assert left == [], "nothing of interrupted runs stays"


def test_interrupted_captures_go_on(study, tmp_path):
    """A long, interrupted capture leaves its state; the next run resumes from it and ends with the same bits."""
    generator = torch.Generator().manual_seed(1)
    rows = [torch.randint(tiny_models.VOCAB, (LONG,), generator=generator).tolist() for _ in range(1500)]
    (study.root / "many.jsonl").write_text("".join(json.dumps({"tokens": row}) + "\n" for row in rows))
    experiment = study.write("many.yaml", corpus={"path": "many.jsonl"}, phases=study.settings["phases"][1:])
    out = tmp_path / "out"
    process = subprocess.Popen([engine.program(), "run", experiment, "--out", out, "--format", "json", "--quiet"])
    state = out / "checkpoints" / ".C.state"
    while process.poll() is None and not state.exists():
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert state.exists() and not (out / "checkpoints" / "C").exists()
    result = engine.run("run", experiment, "--out", out, "--format", "json")
    assert result.code == 0 and "resuming after" in result.stderr
    assert not state.exists()
    assert study.run(experiment, tmp_path / "straight").code == 0
    assert files(out) == files(tmp_path / "straight")


def test_two_at_once(study, tmp_path):
    out = tmp_path / "out"
    generator = torch.Generator().manual_seed(1)
    rows = [torch.randint(tiny_models.VOCAB, (LONG,), generator=generator).tolist() for _ in range(2000)]
    (study.root / "more.jsonl").write_text("".join(json.dumps({"tokens": row}) + "\n" for row in rows))
    experiment = study.write("more.yaml", corpus={"path": "more.jsonl"})
    first = subprocess.Popen([engine.program(), "run", experiment, "--out", out, "--format", "json", "--quiet"])
    try:
        while first.poll() is None and not (out / "checkpoints").exists():
            time.sleep(0.01)
        second = study.run(experiment, out)
        assert second.code == 4
        assert re.search(rf"in use by process {first.pid} on \S+, since", second.stderr), second.stderr
    finally:
        first.kill()
        first.wait()


def test_full_disk_leaves_a_resumable_folder(study, finished, tmp_path):
    out = tmp_path / "out"
    assert study.run(study.write(), out, "--only", "A").code == 0
    times = written(out)
    result = study.run(study.write(), out, before=engine.limit_files(4000))
    assert result.code == 4
    assert re.fullmatch(r"error: .*out.*: cannot write: .*\n", result.stderr), result.stderr
    assert written(out) == times
    assert study.run(study.write(), out).code == 0
    assert files(out) == files(finished)


def test_output_that_cannot_be_written(study):
    result = study.run(study.write(), "/proc/nothing/out")
    assert result.code == 4
    assert re.fullmatch(r"error: /proc/nothing/out: cannot create folder: .*\n", result.stderr), result.stderr


# Damage


def test_damaged_captures_are_measured_again(study, finished, tmp_path):
    """A shortened file, whose size shows it; and a changed one, which is noticed when tables are made again."""
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    times = written(out)
    cut, spoilt = (out / "checkpoints" / label / "moments.safetensors" for label in "AB")
    os.truncate(cut, cut.stat().st_size - 1)
    result = engine.run("run", study.write(), "--out", out, "--format", "json")
    assert result.code == 0, result.stderr
    assert re.search(r"warning: .*/A/moments.safetensors: .*; this capture is not used", result.stderr), result.stderr
    assert "A: measured again: its capture is damaged" in result.stderr
    data = bytearray(spoilt.read_bytes())
    data[-4:] = b"\xff\xff\xff\x7f"  # not a number
    spoilt.write_bytes(data)
    assert study.run(study.write(), out).code == 0, "tables are up to date"
    (out / "qk.csv").unlink()
    result = engine.run("run", study.write(), "--out", out, "--format", "json")
    assert result.code == 0, result.stderr
    assert re.search(r"warning: .*/B/moments.safetensors: has changed since it was written; 'B' is measured again", result.stderr), result.stderr
    assert files(out) == files(finished)
    changed = {label for label, when in written(out).items() if when != times[label]}
    assert changed == {"A", "B"}


def test_values_that_are_not_finite_name_the_checkpoint(study, tmp_path):
    tensors = load_file(study.root / "B" / "model.safetensors")
    shutil.copytree(study.root / "B", tmp_path / "broken")
    tensors["model.layers.1.self_attn.q_proj.weight"][0, 0] = float("nan")
    save_file(tensors, tmp_path / "broken" / "model.safetensors")
    phases = [{"name": "P", "context": SHORT, "checkpoints": [
        {"label": "A", "path": "A"}, {"label": "bad", "path": str(tmp_path / "broken")}]}]  # fmt: skip
    result = study.run(study.write("bad.yaml", phases=phases), tmp_path / "out")
    assert result.code == 3
    assert re.fullmatch(r"error: 'bad': queries in layer 1, head 0, document 0 are not all finite.*\n", result.stderr)
