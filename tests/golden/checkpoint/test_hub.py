"""Hub models and datasets can be used like paths, with a cache that Python's `huggingface_hub` shares."""

import hashlib
import os
import re
import shutil

import pytest

import engine
from fake_hub import Fault
from hub_setup import MODEL, client, hub, model_files, needed  # noqa: F401 (fixtures)


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
    """Files that two revisions share are downloaded once."""
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
    """A cached revision is used unchanged, with a warning."""
    hub.repository(MODEL).commit("main", {**model_files(), "tokenizer.json": b"{}"})
    assert client.fetch().code == 0
    hub.plan("resolve", *[Fault(status=503, headers={"RateLimit": '"api";r=0;t=0'})] * 6)
    result = client.fetch()
    assert result.code == 0, result.stderr
    assert "warning" in result.stderr and "as of the last request" in result.stderr


def test_moved_branch_and_a_cache_that_cannot_be_written(hub, client):
    """The Hub's answer counts, even if the cache has another one."""
    repository = hub.repository(MODEL)
    old = repository.commit("main", {**model_files(), "tokenizer.json": b"{}"})
    assert client.fetch().stdout.endswith(old)
    new = repository.commit("main", {**model_files(1), "tokenizer.json": b"{}"})
    assert client.fetch(revision=new).code == 0
    full = engine.limit_files(10)
    result = client.fetch(before=full)
    assert result.code == 0 and result.stdout.endswith(new), result.stderr
    assert f"org/model@main: is at commit {new}, which cannot be stored in the cache" in result.stderr
    assert (client.repository() / "refs" / "main").read_text() == old
    repository.commit("main", model_files(2))
    result = client.fetch(before=full)
    assert result.code == 3 and "cannot write" in result.stderr.splitlines()[-1], "not measured at another commit"


def test_certificates(client, hub, tmp_path):
    """SSL_CERT_FILE and similar variables name the certificates to trust; others are not trusted."""
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
    """Where a proxy is set, requests go through it, except to excluded hosts."""
    hub.repository(MODEL).commit("main", model_files())
    result = client.fetch(HF_ENDPOINT="http://hub.example.org", http_proxy=hub.endpoint, no_proxy="localhost")
    assert result.code == 0, result.stderr
    assert {r.headers["host"] for r in hub.asked("resolve")} == {"hub.example.org"} and hub.asked("bytes")


# What the Hub states about weights


def test_stated_weights(hub, client):
    """The Hub's list of files and the cache give the same; it depends on the weights only, and is never guessed."""

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
