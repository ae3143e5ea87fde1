"""Hub models and datasets wherever a path works, and a cache shared with Python's `huggingface_hub`."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import time

import pyarrow
import pyarrow.parquet
import pytest
import tokenizers

import breakable
import engine
from fake_hub import FakeHub, Fault
from hub_setup import MODEL, client, hub, model_files, needed, pickled_files  # noqa: F401 (fixtures)

TOKEN = "hf_SecretOfTheTest"
CORPUS = "".join(json.dumps({"tokens": [(7 * i + j) % breakable.VOCAB for j in range(48)]}) + "\n" for i in range(10))


def parquet() -> bytes:
    table = pyarrow.table({"tokens": [json.loads(line)["tokens"] for line in CORPUS.splitlines()]})
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue().to_pybytes()


# Cache


def test_layout(hub, client):
    """Bytes once, under their etag; relative links in the snapshot; the branch's commit in refs."""
    files = model_files()
    commit = hub.repository(MODEL).commit("main", files)
    result = client.fetch()
    assert result.code == 0, result.stderr
    folder = client.repository()
    assert result.stdout == str(folder / "snapshots" / commit)
    assert client.files(commit) == needed(files), "only what is needed"
    assert (folder / "refs" / "main").read_text() == commit
    for path in (folder / "snapshots" / commit).iterdir():
        assert os.readlink(path).startswith("../../blobs/")
    blobs = {path.name for path in (folder / "blobs").iterdir()}
    assert all(len(name) in (40, 64) for name in blobs) and len(blobs) == len(needed(files))
    hub.requests.clear()
    assert client.fetch().code == 0
    assert [r.method for r in hub.requests] == ["HEAD"], "the branch's commit; that it has no tokenizer is known"


def test_shared_blobs(hub, client):
    """What two revisions share is downloaded once."""
    repository = hub.repository(MODEL)
    first, second = model_files(0), model_files(1)
    second["model-00001-of-00002.safetensors"] = first["model-00001-of-00002.safetensors"]
    repository.commit("step1", first)
    commit = repository.commit("step2", second)
    assert client.fetch(revision="step1").code == 0
    hub.requests.clear()
    assert client.fetch(revision="step2").code == 0
    assert len(hub.asked("bytes")) == 1
    assert client.files(commit) == needed(second)


def test_python_finds_ours(hub, client):
    files = model_files()
    hub.repository(MODEL).commit("main", files)
    assert client.fetch().code == 0
    hub.requests.clear()
    names = sorted(needed(files))
    code = f"for name in {names!r}: print(hub.hf_hub_download({MODEL!r}, name, local_files_only=True))"
    paths = client.python(code).splitlines()
    assert [open(path, "rb").read() for path in paths] == [files[name] for name in names]
    online = client.python(code.replace(", local_files_only=True", "")).splitlines()
    assert online == paths
    assert not hub.asked("bytes") and not hub.asked("resolve", "GET"), "nothing is downloaded again"
    scan = client.python("info = hub.scan_cache_dir(); print(len(info.warnings), [r.repo_id for r in info.repos])")
    assert scan == f"0 ['{MODEL}']"


@pytest.mark.parametrize("kind", ["file", "snapshot"])
def test_ours_finds_pythons(hub, client, kind):
    files = model_files()
    commit = hub.repository(MODEL).commit("main", files)
    names = sorted(needed(files))
    client.python(f"for name in {names!r}: hub.hf_hub_download({MODEL!r}, name)")
    hub.requests.clear()
    result = client.fetch(**({"HF_HUB_OFFLINE": "1"} if kind == "snapshot" else {}))
    assert result.code == 0, result.stderr
    assert result.stdout.endswith(commit)
    assert not hub.asked("bytes") and not hub.asked(method="GET")
    if kind == "snapshot":
        assert hub.requests == []


# Environment


def test_places_from_the_environment(hub, client):
    commit = hub.repository(MODEL).commit("main", model_files())
    home = client.root / "elsewhere"
    assert client.fetch(HF_HUB_CACHE="", HF_HOME=str(home)).stdout == str(home / f"hub/models--org--model/snapshots/{commit}")
    nest = client.root / "xdg"
    found = client.fetch(HF_HUB_CACHE="", HF_HOME="", XDG_CACHE_HOME=str(nest)).stdout
    assert found.startswith(str(nest / "huggingface" / "hub"))
    user = client.root / "user"
    found = client.fetch(HF_HUB_CACHE="~/hub", HOME=str(user)).stdout
    assert found.startswith(str(user / "hub" / "models--org--model"))


def test_offline(hub, client):
    hub.repository(MODEL).commit("main", model_files())
    result = client.fetch(HF_HUB_OFFLINE="1")
    assert result.code == 3 and "HF_HUB_OFFLINE is set" in result.stderr
    assert hub.requests == []
    assert client.fetch().code == 0
    hub.requests.clear()
    assert client.fetch(HF_HUB_OFFLINE="1").code == 0
    assert hub.requests == []


def test_unreachable_hub(hub, client):
    """A cached revision is taken as it was, with a warning."""
    hub.repository(MODEL).commit("main", {**model_files(), "tokenizer.json": b"{}"})
    assert client.fetch().code == 0
    hub.plan("resolve", *[Fault(status=503, headers={"RateLimit": '"api";r=0;t=0'})] * 6)
    result = client.fetch()
    assert result.code == 0, result.stderr
    assert "warning" in result.stderr and "org/model@main" in result.stderr


def test_moved_branch_and_a_cache_that_cannot_be_written(hub, client):
    """What the Hub answers holds, although the cache goes on saying otherwise."""
    repository = hub.repository(MODEL)
    old = repository.commit("main", {**model_files(), "tokenizer.json": b"{}"})
    assert client.fetch().stdout.endswith(old)
    new = repository.commit("main", {**model_files(1), "tokenizer.json": b"{}"})
    assert client.fetch(revision=new).code == 0
    full = engine.limit_files(10)
    result = client.fetch(before=full)
    assert result.code == 0 and result.stdout.endswith(new), result.stderr
    assert f"org/model@main: is at commit {new}" in result.stderr
    assert (client.repository() / "refs" / "main").read_text() == old
    repository.commit("main", model_files(2))
    result = client.fetch(before=full)
    assert result.code == 3 and "cannot write" in result.stderr.splitlines()[-1], "not measured at another commit"


def test_certificates(client, hub, tmp_path):
    """SSL_CERT_FILE and its kin name certificates to trust; others are not."""
    certificate = hub.encrypt(tmp_path)
    hub.repository(MODEL).commit("main", {"config.json": b"{}"})
    trusting = client.fetch(HF_ENDPOINT=hub.endpoint, SSL_CERT_FILE=str(certificate))
    assert trusting.code == 3 and "holds neither model.safetensors nor" in trusting.stderr
    assert hub.requests
    hub.requests.clear()
    wary = client.fetch(HF_ENDPOINT=hub.endpoint)
    assert wary.code == 3 and re.search("error: .*certificate", wary.stderr), wary.stderr
    assert "trying again" not in wary.stderr and hub.requests == []


def test_proxy(hub, client):
    """Where proxies are named, requests go through them, but for the hosts that are excepted."""
    hub.repository(MODEL).commit("main", model_files())
    result = client.fetch(HF_ENDPOINT="http://hub.example.org", http_proxy=hub.endpoint, no_proxy="localhost")
    assert result.code == 0, result.stderr
    assert {r.headers["host"] for r in hub.asked("resolve")} == {"hub.example.org"} and hub.asked("bytes")


# What the Hub states of weights


def test_stated_weights(hub, client):
    """From the Hub's list of files or from the cache, the same; of the weights alone, and never guessed."""

    def stated(revision, **environment):
        result = client.fetch(MODEL, revision, "stated", **environment)
        assert result.code == 0, result.stderr
        return result.stdout

    repository = hub.repository(MODEL)
    for shards in (1, 3):
        files = model_files(shards=shards)
        revision, readme, other = (f"{name}{shards}" for name in ("first", "readme", "other"))
        repository.commit(revision, files)
        repository.commit(readme, {**files, "README.md": b"another text", "onnx.safetensors": b"not the weights"})
        repository.commit(other, {**files, "model.safetensors" if shards == 1 else "model-00003-of-00003.safetensors": b"x" * 99})
        lines = [f"{hashlib.sha256(data).hexdigest()} {name}\n" for name, data in sorted(files.items())
                 if name.endswith(".safetensors")]  # fmt: skip
        expected = hashlib.sha256("".join(lines).encode()).hexdigest()
        assert stated(revision) == stated(readme) == expected
        assert stated(other) not in ("", expected)
        assert not hub.asked("bytes"), "no weights are downloaded for it"
        assert stated(revision, HF_HUB_OFFLINE="1") == "", "the cache has none of them"
        hub.plan("api", Fault(status=404))
        assert stated(revision) == "", "a mirror without lists of files"
        assert client.fetch(revision=revision).code == 0
        hub.requests.clear()
        assert stated(revision, HF_HUB_OFFLINE="1") == expected
        assert stated(revision) == expected and not hub.asked("api"), "the cache tells"
        next(iter(client.repository().glob("snapshots/*/model*.safetensors"))).unlink()
        assert stated(revision) == expected
        assert stated(revision, HF_HUB_OFFLINE="1") == "", "one is missing"
        shutil.rmtree(client.cache)
        hub.requests.clear()


# Token


def all_output(client, *folders):
    for folder in (client.root, *folders):
        for path in folder.rglob("*"):
            if path.is_file() and path.name != "token":
                yield path.read_bytes()


def test_token_goes_to_the_endpoint_alone(hub, client, tmp_path):
    """Not to the host of the bytes, and into no log, error, manifest or report."""
    hub.token = TOKEN
    hub.repository(MODEL).commit("step1", model_files())
    (tmp_path / "corpus.jsonl").write_text(CORPUS)
    (tmp_path / "e.yaml").write_text(json.dumps({
        "name": "Tiny", "model": MODEL, "corpus": {"path": "corpus.jsonl"},
        "phases": [{"name": "P", "context": 48, "checkpoints": [{"label": "A", "revision": "step1"}]}]}))  # fmt: skip
    result = client.run("run", tmp_path / "e.yaml", "--out", tmp_path / "out", "--format", "json", "--log-level", "debug",
                        HF_TOKEN=TOKEN)  # fmt: skip
    assert result.code == 0, result.stderr
    assert hub.asked("bytes") and hub.asked("resolve")
    for request in hub.requests:
        sent = request.headers.get("authorization")
        assert sent == (None if request.where == "bytes" else f"Bearer {TOKEN}"), request
    missing = client.fetch("org/absent", HF_TOKEN=TOKEN)
    assert missing.code == 3 and "no such repository" in missing.stderr
    secrets = (TOKEN, "signed-secret")
    for text in (result.stdout, result.stderr, missing.stderr):
        assert not any(secret in text for secret in secrets)
    for data in all_output(client):
        assert not any(secret.encode() in data for secret in secrets)


def test_token_files(hub, client):
    hub.token = TOKEN
    hub.repository(MODEL).commit("main", model_files())
    assert client.fetch().code == 3
    (client.root / "home").mkdir()
    (client.root / "home" / "token").write_text(TOKEN + "\n")
    assert client.fetch().code == 0, "HF_HOME/token"
    (client.root / "another").write_text(TOKEN)
    assert client.fetch(HF_HOME="/nowhere", HF_TOKEN_PATH=str(client.root / "another")).code == 0
    hostile = client.fetch(HF_TOKEN="hf_x\r\nX-Evil: 1")
    assert hostile.code == 3 and "HF_TOKEN: " in hostile.stderr and "Evil" not in hostile.stderr


def test_token_is_not_sent_in_the_clear(hub, client):
    result = client.fetch(HF_ENDPOINT="http://hub.example.org", HF_TOKEN=TOKEN)
    assert result.code == 3 and "unencrypted" in result.stderr and TOKEN not in result.stderr
    user = client.fetch(HF_ENDPOINT="https://example.org:password@hub.example.org")
    assert user.code == 3 and "HF_ENDPOINT" in user.stderr and "password" not in user.stderr


def test_loopback_is_not_asked_through_a_proxy(hub, client):
    """Over plain http the token goes to this machine alone, whatever proxy is named."""
    hub.token = TOKEN
    hub.repository(MODEL).commit("main", model_files())
    proxy = FakeHub()
    named = {name: proxy.endpoint for name in ("http_proxy", "all_proxy", "ALL_PROXY")}
    result = client.fetch(HF_TOKEN=TOKEN, no_proxy="", NO_PROXY="", **named)
    proxy.close()
    assert result.code == 0, result.stderr
    assert proxy.requests == [] and hub.asked("resolve")


def test_gated_and_private(hub, client):
    hub.token = TOKEN
    hub.repository(MODEL).commit("main", model_files())
    hub.repository(MODEL).gated = True
    for token in ("", "hf_wrong"):
        result = client.fetch(HF_TOKEN=token)
        assert result.code == 3
        assert "org/model@main: is gated; accept its conditions" in result.stderr
    assert client.fetch(HF_TOKEN=TOKEN).code == 0
    assert "no such revision" in client.fetch(revision="step9", HF_TOKEN=TOKEN).stderr


# Verbs


@pytest.fixture
def published(hub, tmp_path):
    """Three revisions, and the same in folders."""
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
    """A run measures the commit that the Hub answered, not the one that the cache remembers."""
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
    assert result.code == 0 and f"org/model@step1: is at commit {new}" in result.stderr, result.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [c["hub"] for c in manifest["checkpoints"]] == [f"{MODEL}@{new}"]
    assert (client.repository() / "refs" / "step1").read_text() == old


def test_evict(hub, client, published, tmp_path):
    """A measured checkpoint's weights go, and are not missed when the run is repeated or its tables are lost."""
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
    """A random baseline borrows its neighbour's config; step2's weights serve another branch too."""
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
    """The cache is shared: only this program's downloads go, and the record of them disturbs nobody."""

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
    assert result.stderr.count("stay in the cache, as this program did not download them") == 2
    assert "removed from the cache" not in result.stderr and not hub.asked("bytes")
    assert before.items() <= there().items(), "nothing is removed"
    result = client.run("run", published(MODEL), "--out", tmp_path / "three", "--format", "json", "--evict")
    assert result.code == 0, result.stderr
    assert result.stderr.count("removed from the cache") == 1, "the third"
    assert before.items() <= there().items()
    assert client.fetch(revision="step3").code == 0
    assert client.python("i = hub.scan_cache_dir(); print(i.warnings, *sorted(len(r.revisions) for r in i.repos))") == "[] 3"


# Reads of a shard: the header's length and the header; beginning, end and list of an archive, its pickle and byte order.
@pytest.mark.parametrize("files, reads", [(model_files(), 2), (pickled_files(), 5)], ids=["safetensors", "bin"])
def test_inspect_reads_headers_alone(hub, client, tmp_path, files, reads):
    """Nothing large is downloaded, nothing enters the cache or stays behind, and all numbers are those of the whole."""
    hub.repository(MODEL).commit("main", files)
    (tmp_path / "scratch").mkdir()

    def inspect():
        result = client.run("inspect", MODEL, "--json", "--memory", "1GiB", TMPDIR=str(tmp_path / "scratch"))
        assert result.code == 0, result.stderr
        return result.stdout

    shown = inspect()
    assert len(hub.asked("bytes")) == 2 * reads and all(r.status == 206 for r in hub.asked("bytes"))
    assert [len(path.name) for path in (client.repository() / "blobs").iterdir()] == [40, 40]
    assert not any((tmp_path / "scratch").iterdir())
    assert client.fetch().code == 0
    hub.requests.clear()
    assert inspect() == shown and not hub.asked("bytes")
    shard = next(name for name in files if "00001-of" in name)
    odd = {"safetensors": (b"\xff" * 100, "claims a header of 18446744073709551615 bytes"),
           "bin": (b"\x80\x02}q\x00." * 300, "is not a zip archive; if torch before version 1.6 wrote it")}  # fmt: skip
    content, said = odd[shard.split(".")[-1]]
    hub.repository(MODEL).commit("odd", {**files, shard: content})
    result = client.run("inspect", MODEL, "--revision", "odd", TMPDIR=str(tmp_path / "scratch"))
    assert result.code == 3 and said in result.stderr, result.stderr
    hub.repository(MODEL).commit("cut", {**files, shard: files[shard][:-1]})
    result = client.run("inspect", MODEL, "--revision", "cut", TMPDIR=str(tmp_path / "scratch"))
    assert result.code == 3 and result.stderr.count("\n") == 1, result.stderr
    assert not any((tmp_path / "scratch").iterdir())


@pytest.mark.parametrize("limit", ["size=4k", "nr_inodes=2", "nr_inodes=4"])
@pytest.mark.parametrize("files", [model_files(), pickled_files()], ids=["safetensors", "bin"])
def test_inspect_without_room_for_headers(hub, client, tmp_path, files, limit):
    hub.repository(MODEL).commit("main", files)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", limit, "tmpfs", scratch], capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount")
    try:
        result = client.run("inspect", MODEL, TMPDIR=str(scratch))
        assert not any(scratch.iterdir())
    finally:
        subprocess.run(["umount", scratch], check=True)
    assert result.code == 4, result.stderr
    assert re.fullmatch(rf"error: {scratch}/\S+: cannot (write|create|create folder): No space left on device.*\n", result.stderr), result.stderr


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
    for corpus, said in (("hf://datasets/org/texts/absent.jsonl", "no such file"), ("hf://spaces/a/b/c", "is no place in a dataset"),
                         ("hf://datasets/org/none/x.jsonl", "no such repository")):  # fmt: skip
        bad = client.run("capture", MODEL, "--revision", "step2", "--corpus", corpus, "--out", tmp_path / "bad")
        assert bad.code == 3 and said in bad.stderr, bad.stderr
    run = client.run("run", published(MODEL, corpus={"path": "hf://datasets/org/texts/absent.jsonl"}), "--out", tmp_path / "bad")
    assert run.code == 3 and "run.yaml:1: corpus: hf://datasets/org/texts/absent.jsonl: the dataset has no such" in run.stderr
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
    assert bad.code == 3 and "run.yaml:" in bad.stderr and "tokenizer 'org/absent' is not there" in bad.stderr
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
    """Bytes of the second checkpoint are asked for before the first is measured."""
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
    """Checkpoints in folders of one branch: the same numbers as in branches, audited and evicted alike."""
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
    assert bad.code == 3 and "'../x' is no folder inside a repository" in bad.stderr
