"""Verbs work with models and datasets on the Hub like with folders."""

import gzip
import json
import os
import subprocess
import time

import pyarrow
import pyarrow.parquet
import pytest
import tokenizers

import breakable
import engine
from hub_setup import CORPUS, MODEL, client, hub, model_files, needed, pickled_files  # noqa: F401 (fixtures)


def parquet() -> bytes:
    table = pyarrow.table({"tokens": [json.loads(line)["tokens"] for line in CORPUS.splitlines()]})
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def published(hub, tmp_path):
    """Three revisions on the Hub, and the same in folders."""
    for step in (1, 2, 3):
        files = model_files(step, shards=step)
        hub.repository(MODEL).commit(f"step{step}", files)
        folder = tmp_path / "local" / f"step{step}"
        folder.mkdir(parents=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
    (tmp_path / "corpus.jsonl").write_text(CORPUS)

    def write(model, **changes):
        path = tmp_path / "run.yaml"
        path.write_text(json.dumps({
            "name": "Tiny", "model": model, "corpus": {"path": "corpus.jsonl"}, "dtype": "float32",
            "phases": [{"name": "P", "context": 48, "revisions": "step*"}], **changes}))  # fmt: skip
        return path

    return write


def numbers(out):
    return [(out / name).read_bytes() for name in ("qk.csv", "summary.json")]


def test_run_on_the_hub_equals_run_on_folders(hub, client, published, tmp_path):
    local = client.run("run", published("local"), "--out", tmp_path / "a", "--format", "json")
    assert local.code == 0, local.stderr
    hub.requests.clear()
    plan = client.run("run", published(MODEL), "--out", tmp_path / "b", "--dry-run")
    assert plan.code == 0 and plan.stdout.count("download") == 4, "each, and all of them"
    assert not hub.asked("bytes")
    remote = client.run("run", published(MODEL), "--out", tmp_path / "b", "--format", "json")
    assert remote.code == 0, remote.stderr
    assert numbers(tmp_path / "a") == numbers(tmp_path / "b")
    manifest = json.loads((tmp_path / "b" / "manifest.json").read_text())
    hub.requests.clear()
    offline = client.run("run", published(MODEL), "--out", tmp_path / "c", "--format", "json", HF_HUB_OFFLINE="1")
    assert offline.code == 0, offline.stderr
    assert numbers(tmp_path / "c") == numbers(tmp_path / "b") and hub.requests == []
    commits = hub.repository(MODEL).refs
    assert [c["hub"] for c in manifest["checkpoints"]] == [f"{MODEL}@{commits[f'step{i}']}" for i in (1, 2, 3)]


def test_a_moved_branch_and_a_read_only_cache(hub, client, published, tmp_path):
    """A run measures the commit in the Hub's answer, not the one in the cache."""
    repository = hub.repository(MODEL)
    old = repository.refs["step1"]
    assert client.fetch(revision="step1").stdout.endswith(old)
    new = repository.commit("step1", repository.commits[repository.refs["step2"]])
    assert client.fetch(revision=new).code == 0
    folders = [client.cache, *(path for path in client.cache.rglob("*") if path.is_dir() and not path.is_symlink())]
    phases = [{"name": "P", "context": 48, "checkpoints": [{"label": "one", "revision": "step1"}]}]
    for folder in folders:
        folder.chmod(0o555)
    result = engine.run("run", published(MODEL, phases=phases), "--out", tmp_path / "out", "--format", "json",
                        before=engine.without_privileges, environment=client.environment)  # fmt: skip
    for folder in folders:
        folder.chmod(0o755)
    assert result.code == 0 and f"org/model@step1: is at commit {new}, which cannot be stored in the cache" in result.stderr, result.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [c["hub"] for c in manifest["checkpoints"]] == [f"{MODEL}@{new}"]
    assert (client.repository() / "refs" / "step1").read_text() == old


def test_evict(hub, client, published, tmp_path):
    """A measured checkpoint's weights are removed, and are not needed when the run is repeated or its tables are lost."""
    out = tmp_path / "out"
    result = client.run("run", published(MODEL), "--out", out, "--format", "json", "--evict")
    assert result.code == 0, result.stderr
    assert result.stderr.count("removed from the cache") == 3
    left = [path for path in client.repository().rglob("*") if path.suffix == ".safetensors"]
    assert left == [] and not [p for p in (client.repository() / "blobs").iterdir() if len(p.name) == 64]
    hub.requests.clear()
    (out / "qk.csv").unlink()
    again = client.run("run", published(MODEL), "--out", out, "--format", "json", "--evict")
    assert again.code == 0 and again.stderr.count("measured already") == 3, again.stderr
    assert not hub.asked("bytes")


def test_evict_keeps_what_others_share(hub, client, published, tmp_path):
    """A random baseline uses its neighbour's config; step2's weights also belong to another branch."""
    repository = hub.repository(MODEL)
    repository.commit("final", {**repository.commits[repository.refs["step2"]], "README.md": b"final\n"})
    assert client.fetch(revision="final").code == 0
    phases = [{"name": "P", "context": 48, "checkpoints": [
        {"label": "init", "random": 0}, {"label": "one", "revision": "step1"}, {"label": "two", "revision": "step2"}]}]  # fmt: skip
    hub.requests.clear()
    result = client.run("run", published(MODEL, phases=phases), "--out", tmp_path / "out", "--format", "json", "--evict")
    assert result.code == 0, result.stderr
    assert len(hub.asked("bytes")) == 1, "step1, once; step2 is final"
    assert client.files(repository.refs["final"]).keys() >= {"model-00001-of-00002.safetensors"}


def test_evict_keeps_what_others_downloaded(hub, client, published, tmp_path):
    """The cache is shared: only this program's downloads are removed, and its record of them does not affect other programs."""

    def there():
        return {path: path.read_bytes() for path in client.repository().rglob("*") if path.is_file()}

    theirs = [(f"step{step}", name) for step in (1, 2) for name in needed(model_files(step, shards=step))]
    client.python(f"for revision, name in {theirs}: hub.hf_hub_download({MODEL!r}, name, revision=revision)")
    before = there()
    hub.requests.clear()
    two = published(MODEL, phases=[{"name": "P", "context": 48, "checkpoints": [
        {"label": "one", "revision": "step1"}, {"label": "two", "revision": "step2"}]}])  # fmt: skip
    result = client.run("run", two, "--out", tmp_path / "two", "--format", "json", "--evict")
    assert result.code == 0, result.stderr
    assert result.stderr.count("stay in the cache, because this program did not download them") == 2
    assert "removed from the cache" not in result.stderr and not hub.asked("bytes")
    assert before.items() <= there().items(), "nothing is removed"
    result = client.run("run", published(MODEL), "--out", tmp_path / "three", "--format", "json", "--evict")
    assert result.code == 0, result.stderr
    assert result.stderr.count("removed from the cache") == 1, "the third"
    assert before.items() <= there().items()
    assert client.fetch(revision="step3").code == 0
    assert client.python("i = hub.scan_cache_dir(); print(i.warnings, *sorted(len(r.revisions) for r in i.repos))") == "[] 3"


def test_the_same_numbers_from_pickled_weights(hub, client, tmp_path):
    """What is downloaded as `pytorch_model.bin`, in shards, gives the table of the safetensors."""
    (tmp_path / "corpus.jsonl").write_text(CORPUS)
    tables = []
    for revision, files in (("main", model_files()), ("pickled", pickled_files())):
        hub.repository(MODEL).commit(revision, files)
        out = tmp_path / revision
        done = client.run("capture", MODEL, "--revision", revision, "--corpus", tmp_path / "corpus.jsonl", "--label", "same", "--out", out,
                          "--context", 48)  # fmt: skip
        assert done.code == 0, done.stderr
        assert client.run("analyze", out, "--out", out / "tables").code == 0
        tables.append((out / "tables" / "qk.csv").read_bytes())
    assert tables[0] == tables[1]


def test_single_verbs(hub, client, published, tmp_path):
    """Model, tokenizer and corpus from three repositories."""
    hub.repository("org/texts", "datasets").commit("main", {
        "deep/corpus.jsonl.gz": gzip.compress(CORPUS.encode()), "a b.jsonl": CORPUS.encode(), "corpus.parquet": parquet()})  # fmt: skip
    shown = client.run("inspect", MODEL, "--revision", "step2", "--json")
    assert shown.code == 0, shown.stderr
    assert json.loads(shown.stdout)["model"] == f"{MODEL}@{hub.repository(MODEL).refs['step2']}"
    for i, file in enumerate(["deep/corpus.jsonl.gz", "a b.jsonl", "corpus.parquet"]):
        done = client.run("capture", MODEL, "--revision", "step2", "--corpus", f"hf://datasets/org/texts/{file}", "--out",
                          tmp_path / f"capture{i}", "--context", 48)  # fmt: skip
        assert done.code == 0, done.stderr
    info, *others = ({**json.loads((tmp_path / f"capture{i}" / "capture.json").read_text()), "seconds": 0} for i in range(3))
    assert info["label"] == "step2" and info["model"] == MODEL and info["documents"] == 10
    assert all(info == other for other in others)
    for corpus, said in (("hf://datasets/org/texts/absent.jsonl", "does not have this file"), ("hf://spaces/a/b/c", "is not a path in a dataset"),
                         ("hf://datasets/org/none/x.jsonl", "no such repository")):  # fmt: skip
        bad = client.run("capture", MODEL, "--revision", "step2", "--corpus", corpus, "--out", tmp_path / "bad")
        assert bad.code == 3 and said in bad.stderr, bad.stderr
    run = client.run("run", published(MODEL, corpus={"path": "hf://datasets/org/texts/absent.jsonl"}), "--out", tmp_path / "bad")
    assert run.code == 3 and "run.yaml:1: corpus: hf://datasets/org/texts/absent.jsonl: the dataset does not have this" in run.stderr
    absent = client.run("inspect", "org/absent")
    assert absent.code == 3 and absent.stderr.startswith("error: org/absent is not a folder, and org/absent@main: the Hub has no")
    folder = client.run("inspect", tmp_path / "local" / "step1", "--revision", "step1")
    assert folder.code == 2 and "is for Hub models" in folder.stderr


def test_tokenizer_of_another_repository(hub, client, published, tmp_path):
    words = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={chr(97 + i): i for i in range(26)}, merges=[]))
    hub.repository("org/tokenizer").commit("main", {"tokenizer.json": words.to_str().encode()})
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps({"text": chr(97 + i) * 50}) + "\n" for i in range(9)))
    result = client.run("run", published(MODEL, tokenizer="org/tokenizer"), "--out", tmp_path / "out", "--format", "json")
    assert result.code == 0, result.stderr
    bad = client.run("run", published(MODEL, tokenizer="org/absent"), "--out", tmp_path / "bad", "--format", "json")
    assert bad.code == 3 and "run.yaml:" in bad.stderr and "tokenizer 'org/absent' was not found" in bad.stderr
    hub.repository("org/older").commit("main", {"vocab.json": b"{}", "merges.txt": b""})
    bad = client.run("run", published(MODEL, tokenizer="org/older"), "--out", tmp_path / "bad", "--format", "json")
    assert bad.code == 3 and "the transformers library cannot read it: " in bad.stderr, bad.stderr
    hub.repository("org/none").commit("main", {"README.md": b"nothing"})
    bad = client.run("run", published(MODEL, tokenizer="org/none"), "--out", tmp_path / "bad", "--format", "json")
    assert bad.code == 3 and "org/none: holds no tokenizer.json; transformers writes one from vocab.json" in bad.stderr, bad.stderr
    older = {"vocab.json": json.dumps({chr(97 + i): i for i in range(26)} | {"<|endoftext|>": 26}).encode(), "merges.txt": b"#version: 0.2\n",
             "config.json": b'{"model_type": "gpt2"}'}  # fmt: skip
    hub.repository("org/oldest").commit("main", older)
    result = client.run("run", published(MODEL, tokenizer="org/oldest"), "--out", tmp_path / "older", "--format", "json")
    assert result.code == 0, result.stderr
    assert (tmp_path / "older" / "qk.csv").read_bytes() == (tmp_path / "out" / "qk.csv").read_bytes()


def test_the_next_downloads_meanwhile(hub, client, published, tmp_path):
    """The second checkpoint's bytes are requested before the first is measured."""
    rows = [{"tokens": [(i + j) % breakable.VOCAB for j in range(48)]} for i in range(3000)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    process = subprocess.Popen([engine.program(), "run", published(MODEL), "--out", tmp_path / "out", "--format", "json"],
                               env={**os.environ, **client.environment}, stderr=subprocess.PIPE)  # fmt: skip
    first = tmp_path / "out" / "checkpoints" / "step1"
    seen = False
    while process.poll() is None and not first.exists():
        seen = seen or len({r.path for r in hub.asked("bytes")}) >= 3
        time.sleep(0.005)
    assert process.communicate()[0] is None and process.returncode == 0
    assert seen


def test_subfolders(hub, client, published, tmp_path):
    """Checkpoints in folders of one branch: the same numbers as in branches; audit and eviction work too."""
    files = {"README.md": b"a run\n"}
    for step in (1, 2, 3):
        files |= {f"parts/{step}/{name}": data for name, data in model_files(step, shards=step).items()}
    commit = hub.repository("org/folders").commit("main", files)
    labels = {f"step{i}": f"parts/{i}" for i in (1, 2, 3)}

    def phases(revision=None):
        named = {"revision": revision} if revision else {}
        return [{"name": "P", "context": 48, "checkpoints": [{"label": k, "subfolder": v, **named} for k, v in labels.items()]}]

    assert client.run("run", published(MODEL), "--out", tmp_path / "a", "--format", "json").code == 0
    plan = client.run("run", published("org/folders", phases=phases()), "--out", tmp_path / "b", "--dry-run")
    assert plan.code == 0 and plan.stdout.count("download") == 4, plan.stderr
    done = client.run("run", published("org/folders", phases=phases()), "--out", tmp_path / "b", "--format", "json", "--evict")
    assert done.code == 0, done.stderr
    assert numbers(tmp_path / "a") == numbers(tmp_path / "b")
    manifest = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert [c["hub"] for c in manifest["checkpoints"]] == [f"org/folders@{commit}/{labels[f'step{i}']}" for i in (1, 2, 3)]
    assert [p for p in client.repository("org/folders").rglob("*.safetensors")] == []
    hub.requests.clear()
    again = client.run("run", published("org/folders", phases=phases(commit)), "--out", tmp_path / "b", "--format", "json")
    assert again.stderr.count("measured already") == 3 and not hub.asked("bytes")
    assert client.run("audit", published("org/folders", phases=phases())).code == 0
    del files["parts/2/model-00001-of-00002.safetensors"]
    hub.repository("org/folders").commit("main", files)
    audit = client.run("audit", published("org/folders", phases=phases()))
    assert audit.code == 3 and "'step2': shard model-00001-of-00002.safetensors is missing" in audit.stdout
    labels["step4"] = "hf_ckpt/4.5B"
    missing = client.run("run", published("org/folders", phases=phases()), "--out", tmp_path / "c")
    assert missing.code == 3 and "org/folders@main/hf_ckpt/4.5B: holds no config.json" in missing.stderr
    labels["step4"] = "../x"
    bad = client.run("run", published("org/folders", phases=phases()), "--out", tmp_path / "c")
    assert bad.code == 3 and "'../x' is not a folder inside a repository" in bad.stderr
