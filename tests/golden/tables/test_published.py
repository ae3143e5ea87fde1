"""Published captures instead of checkpoints: found, checked, fetched, measured, kept, evicted, audited."""

import json
import os
import shutil
import signal
import subprocess
import time

import pytest

import engine
import published_captures
from hub_setup import client, hub  # noqa: F401 (fixtures)
from published_captures import DATASET, capture_files, write_folder

HEADS = [(0, 0), (0, 3), (1, 1), (2, 2)]
SMALL = dict(queries=4, keys=2, d=8)
LABELS = ("a", "b", "c")
TABLES = ("qk.csv", "heads.csv", "changes.csv", "summary.json")
CONFIG = dict(model_type="smollm3", architectures=["SmolLM3ForCausalLM"], vocab_size=97, hidden_size=32, intermediate_size=40,
              num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=4096,
              rms_norm_eps=1e-6, rope_theta=5e4, no_rope_layers=[1, 0, 1], tie_word_embeddings=True, dtype="bfloat16")  # fmt: skip


@pytest.fixture
def branches(hub):
    """Three branches, in which position matters more and more."""
    repository = hub.repository(DATASET, "datasets")
    repository.commit("main", {"README.md": b"see the branches\n"})
    for i, label in enumerate(LABELS):
        repository.commit(f"run-{label}", capture_files(i, HEADS, slope=0.2 + i, **SMALL))
    return repository


@pytest.fixture
def study(client, tmp_path):
    def run(*options, uris=None, out="out", environment=None, start=False, **changes):
        uris = uris or {label: f"hf://datasets/{DATASET}@run-{label}" for label in LABELS}
        path = tmp_path / "run.yaml"
        path.write_text(json.dumps({
            "name": "Published", **changes,
            "phases": [{"name": "P", "context": 4096,
                        "checkpoints": [{"label": label, "vectors": str(uri)} for label, uri in uris.items()]}]}))  # fmt: skip
        command = ("run", path, "--out", tmp_path / out, "--format", "json", *options)
        if start:
            return subprocess.Popen([engine.program(), *map(str, command)], env={**os.environ, **client.environment},
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
        return client.run(*command, **(environment or {}))

    return run


def tables(folder):
    return [(folder / name).read_bytes() for name in TABLES]


def rows(path):
    lines = path.read_text().splitlines()
    return [dict(zip(lines[0].split(","), line.split(","))) for line in lines[1:]]


def test_the_numbers_are_those_of_analyze(hub, client, branches, study, tmp_path):
    done = study()
    assert done.code == 0, done.stderr
    for i, label in enumerate(LABELS):
        write_folder(capture_files(i, HEADS, slope=0.2 + i, **SMALL), tmp_path / label)
    plain = engine.run("analyze", *(tmp_path / label for label in LABELS), "--out", tmp_path / "plain", "--keep-order")
    assert plain.code == 0, plain.stderr
    ours, theirs = rows(tmp_path / "out" / "qk.csv"), rows(tmp_path / "plain" / "qk.csv")
    assert len(ours) == len(theirs) > 0
    for mine, other in zip(ours, theirs):
        for key in ("layer", "q_head", "pc", "r_q", "r_k", "var_fraction", "n_q", "n_k"):
            if key not in other:
                continue
            assert float(mine[key] or 0) == pytest.approx(float(other[key] or 0), rel=1e-6, abs=1e-9), key
        if mine.get("r_q_se"):
            assert float(mine["r_q_se"]) == pytest.approx(float(other["r_q_se"]), rel=1e-3, abs=1e-9)
    # The same from folders, with or without vectors/ around the streams.
    shutil.move(tmp_path / "b", tmp_path / "inner")
    (tmp_path / "b").mkdir()
    shutil.move(tmp_path / "inner", tmp_path / "b" / "vectors")
    shutil.move(tmp_path / "b" / "vectors" / "README.md", tmp_path / "b" / "README.md")
    local = study(uris={label: tmp_path / label for label in LABELS}, out="local")
    assert local.code == 0, local.stderr
    assert (tmp_path / "local" / "qk.csv").read_bytes() == (tmp_path / "out" / "qk.csv").read_bytes()


def test_a_capture_of_them_is_what_a_run_keeps(hub, client, branches, study, tmp_path):
    """From the Hub and from a folder; a model's config adds facts."""
    hub.repository("org/model").commit("main", {"config.json": json.dumps(CONFIG).encode()})
    assert study(model="org/model").code == 0
    write_folder(capture_files(1, HEADS, slope=1.2, **SMALL), tmp_path / "b")
    kept = (tmp_path / "out" / "checkpoints" / "b" / "moments.safetensors").read_bytes()
    made = client.run("capture", "org/model", "--vectors-from", f"hf://datasets/{DATASET}@run-b", "--label", "b", "--context", 4096, "--out", tmp_path / "one")
    assert made.code == 0, made.stderr
    info, theirs = (json.loads((folder / "capture.json").read_text()) for folder in (tmp_path / "one", tmp_path / "out" / "checkpoints" / "b"))
    assert {**info, "seconds": 0} == {**theirs, "seconds": 0} and (tmp_path / "one" / "moments.safetensors").read_bytes() == kept
    plain = client.run("capture", "--vectors-from", tmp_path / "b", "--out", tmp_path / "two")
    assert plain.code == 0, plain.stderr
    done = engine.run("analyze", tmp_path / "two", "--out", tmp_path / "tables")
    assert done.code == 0, done.stderr
    ours, theirs = rows(tmp_path / "tables" / "qk.csv"), [row for row in rows(tmp_path / "out" / "qk.csv") if row["checkpoint"] == "b"]
    assert {row["checkpoint"] for row in ours} == {"b"} and [row["r_q_se"] for row in ours] == [row["r_q_se"] for row in theirs]
    again = client.run("capture", "--vectors-from", f"hf://datasets/{DATASET}@run-c", "--out", tmp_path / "three")
    assert again.code == 0 and json.loads((tmp_path / "three" / "capture.json").read_text())["label"] == "run-c"


def test_a_capture_of_vectors_takes_no_text(client, tmp_path):
    write_folder(capture_files(1, HEADS, slope=1.2, **SMALL), tmp_path / "b")
    for more, code, said in [
        (["--corpus", "x.jsonl"], 2, "--corpus is for a model that reads text; --vectors-from reads no text"),
        (["--vectors", "all"], 2, "--vectors is for a model that reads text"),
        (["--documents", "3"], 2, "--documents is for a model that reads text"),
    ]:
        done = client.run("capture", "--vectors-from", tmp_path / "b", "--out", tmp_path / "out", *more)
        assert done.code == code and said in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    for words, code, said in [
        (["--vectors-from", tmp_path / "absent"], 3, "is not a folder; write one with captured vectors"),
        (["some/where/else", "--vectors-from", tmp_path / "b"], 2, "some/where/else: is neither a folder nor a Hub model"),
        (["--corpus", "x.jsonl"], 2, "model is required"),
        (["model"], 2, "--corpus is required"),
    ]:
        done = client.run("capture", *words, "--out", tmp_path / "out")
        assert done.code == code and said in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert not (tmp_path / "out").exists()


def test_dry_run_and_what_is_kept(hub, client, branches, study, tmp_path):
    hub.requests.clear()
    plan = study("--dry-run")
    assert plan.code == 0 and plan.stdout.count("download") == 4, plan.stderr + plan.stdout
    assert "to download; no GPU is needed" in plan.stdout and not hub.asked("bytes")
    assert study("--evict").code == 0
    blobs = list((client.cache / "datasets--viktoroo--sniffed-qk" / "blobs").iterdir())
    assert all(path.stat().st_size < 1000 for path in blobs), "vectors are evicted, cards are not"
    before = tables(tmp_path / "out")
    hub.requests.clear()
    again = study()
    assert again.stderr.count("measured already") == 3 and not hub.asked("bytes")
    assert "measured already" in study("--dry-run").stdout
    renamed = study(uris={label + "2": f"hf://datasets/{DATASET}@run-{label}" for label in LABELS})
    assert renamed.code == 0 and not hub.asked("bytes"), "a label is only a name"
    assert study().code == 0 and tables(tmp_path / "out") == before
    # A branch that moves to other vectors is measured again; the others are not.
    branches.commit("run-b", capture_files(7, HEADS, slope=1.2, **SMALL))
    moved = study()
    assert "b: measured again: the vectors changed" in moved.stderr
    assert moved.stderr.count("measured already") == 2 and tables(tmp_path / "out") != before
    fresh = study(out="fresh")
    assert fresh.code == 0 and tables(tmp_path / "fresh") == tables(tmp_path / "out")


def test_a_damaged_capture_is_made_again(hub, branches, study, tmp_path):
    assert study().code == 0
    before = tables(tmp_path / "out")
    file = tmp_path / "out" / "checkpoints" / "b" / "moments.safetensors"
    data = bytearray(file.read_bytes())
    data[-5] ^= 1
    file.write_bytes(data)
    (tmp_path / "out" / "qk.csv").unlink()
    again = study()
    assert again.code == 0 and "has changed since it was written" in again.stderr
    assert tables(tmp_path / "out") == before
    assert not (tmp_path / "out" / "replaced").exists()
    refused = engine.run("export", file.parent, "--to", "q-filters", "--out", tmp_path / "exported")
    assert refused.code == 3 and "sampled vectors, which cannot be joined or exported" in refused.stderr, refused.stderr


def test_interrupted_at_several_points(hub, client, branches, study, tmp_path):
    assert study(out="whole").code == 0
    shutil.rmtree(client.cache)
    expected, done = tables(tmp_path / "whole"), set()
    hub.requests.clear()
    for finished, how in ((0, signal.SIGINT), (1, signal.SIGKILL), (2, signal.SIGINT)):
        process = study(start=True)
        folders = tmp_path / "out" / "checkpoints"
        for _ in range(2000):
            there = [p.name for p in folders.iterdir() if not p.name.startswith(".")] if folders.is_dir() else []
            if process.poll() is not None or (len(there) >= finished and hub.asked("bytes")):
                break
            time.sleep(0.01)
        process.send_signal(how)
        process.communicate(timeout=60)
        there = {p.name for p in folders.iterdir() if not p.name.startswith(".")} if folders.is_dir() else set()
        assert done <= there, "what is finished stays"
        done = there
    assert study().code == 0
    assert tables(tmp_path / "out") == expected
    fetched = [r.path for r in hub.asked("bytes", "GET") if r.status == 200]
    assert len(fetched) <= len(set(fetched)) + 12, "files that arrived do not come again"


@pytest.mark.parametrize(("spoil", "said"), [
    (lambda files: files.pop("l00h01k/data.parquet"), "the keys of l00h03q are missing: expected l00h01k"),
    (lambda files: [files.pop(n) for n in ("l00h03q/data.parquet", "l00h01k/data.parquet")], "'b' lacks head L0H3, which 'a' has"),
    (lambda files: files.update({n.replace("l00", "l02"): d for n, d in files.items() if "l00" in n}), "'b' has head L2H0, which 'a' lacks"),
    (lambda files: files.clear() or files.update({"README.md": b"none"}), "holds no vectors; expected folders such as l03h11q"),
    (lambda files: [files.pop(n) for n in list(files) if "q/" in n], "holds keys, but no queries"),
    (lambda files: files.update({"README.md": b"nothing"}), "the number of query heads per key head is unknown"),
])  # fmt: skip
def test_what_is_missing_is_said_first(hub, client, branches, study, tmp_path, spoil, said):
    files = capture_files(5, HEADS, **SMALL)
    spoil(files)
    branches.commit("run-b", files)
    hub.requests.clear()
    done = study()
    assert done.code == 3 and said in done.stderr and "run.yaml:" in done.stderr, done.stderr
    assert done.stderr.strip().count("\n") == 0 or "no audit" in done.stderr, done.stderr
    assert not hub.asked("bytes"), "nothing is spent"
    audit = client.run("audit", tmp_path / "run.yaml")
    assert audit.code == 3 and said in audit.stdout and "3 checkpoints, 1 finding" in audit.stdout, audit.stdout + audit.stderr
    assert not hub.asked("bytes")
    rest = study("--keep-going")
    assert rest.code == 3 and "1 of 3 checkpoints were not measured: 'b'" in rest.stderr
    assert {row["checkpoint"] for row in rows(tmp_path / "out" / "qk.csv")} == {"a", "c"}


def test_other_errors(hub, client, branches, study, tmp_path):
    for uri, said in ((f"hf://datasets/{DATASET}@run-z", "the Hub has no such revision"),
                        ("hf://models/x", "is not a path in a dataset; write for example hf://datasets/org/name@revision"),
                        (tmp_path / "absent", "is not a folder; write one with captured vectors")):  # fmt: skip
        done = study(uris={"a": uri})
        assert done.code == 3 and said in done.stderr, done.stderr
    for key, value in (("corpus", {"path": "x.jsonl"}), ("heads", {"count": 3}), ("dtype", "float32")):
        done = study(**{key: value})
        assert done.code == 3 and f"{key} is for checkpoints with weights; those here are captured vectors" in done.stderr
    branches.gated, hub.token = True, "hf_x"
    done = study(out="gated")
    assert done.code == 3 and "is gated; accept its conditions" in done.stderr and done.stderr.strip().count("\n") <= 1


def test_audit(hub, client, branches, study, tmp_path):
    study("--dry-run")
    fine = client.run("audit", tmp_path / "run.yaml")
    assert fine.code == 0 and "no problems found" in fine.stdout
    branches.commit("run-c", capture_files(0, HEADS, slope=0.2, **SMALL))
    files = capture_files(1, HEADS, **SMALL)
    files.pop("l02h01k/data.parquet")
    branches.commit("run-b", files)
    odd = client.run("audit", tmp_path / "run.yaml")
    assert odd.code == 3 and "'a' and 'c' have the same vectors" in odd.stdout and "expected l02h01k" in odd.stdout


def test_audit_finds_what_a_run_refuses_with_a_model_too(hub, client, branches, study, tmp_path):
    hub.repository("org/model").commit("main", {"config.json": json.dumps(CONFIG).encode()})
    for spoiled, said in ((("l02h01k",), "the keys of l02h02q are missing: expected l02h01k"),
                          (("l02h01k", "l02h02q"), "'b' lacks head L2H2, which 'a' has")):  # fmt: skip
        files = {name: data for name, data in capture_files(1, HEADS, **SMALL).items() if not name.startswith(spoiled)}
        branches.commit("run-b", files)
        write_folder(files, tmp_path / spoiled[-1])
        uris = {label: f"hf://datasets/{DATASET}@run-{label}" for label in LABELS}
        for b in (uris["b"], tmp_path / spoiled[-1]):
            refused = study(model="org/model", uris={**uris, "b": b})
            audit = client.run("audit", tmp_path / "run.yaml")
            assert refused.code == 3 and said in refused.stderr, refused.stderr
            assert audit.code == 3 and said in audit.stdout and "3 checkpoints, 1 finding" in audit.stdout, audit.stdout + audit.stderr
    study(model="org/absent")
    audit = client.run("audit", tmp_path / "run.yaml")
    assert audit.code == 3 and audit.stdout.count("model 'org/absent' is not a folder") == 3, audit.stdout


def test_a_model_says_more(hub, branches, study, tmp_path):
    """Only config.json says which layers rotate, and how logits are scaled."""
    assert study().code == 0
    assert {row["rope"] for row in rows(tmp_path / "out" / "qk.csv")} == {""}
    hub.repository("org/model").commit("main", {"config.json": json.dumps(CONFIG).encode()})
    done = study(model="org/model", out="known")
    assert done.code == 0, done.stderr
    assert {(row["layer"], row["rope"]) for row in rows(tmp_path / "known" / "qk.csv")} == {("0", "1"), ("1", "0"), ("2", "1")}
    hub.repository("org/model").commit("main", {"config.json": json.dumps({**CONFIG, "num_hidden_layers": 2, "no_rope_layers": [1, 0]}).encode()})
    done = study(model="org/model", out="wrong")
    assert done.code == 3 and "has vectors of layer 2, but the model has 2 layers" in done.stderr


def test_subfolders_of_datasets(hub, client, study, tmp_path):
    files = {f"runs/one/{name}": data for name, data in capture_files(1, HEADS, **SMALL).items()}
    hub.repository(DATASET, "datasets").commit("main", files)
    done = study(uris={"a": f"hf://datasets/{DATASET}/runs/one"})
    assert done.code == 0, done.stderr
    assert published_captures.EXAMPLES == json.loads((tmp_path / "out" / "checkpoints" / "a" / "capture.json").read_text())["documents"]
