"""A server that sends something else than it announced, or paths outside the cache: one clear line, and unverified bytes never get a file's name."""

import hashlib
import json
import re

import pytest

import engine
from fake_hub import Fault, git_hash
from hub_downloads import BEFORE_WEIGHTS, DOWNLOADING, WEIGHTS, fails, publish, succeeds
from hub_setup import MODEL, client, hub, model_files  # noqa: F401 (fixtures)


# Bytes that are not what was announced


def test_wrong_hash(hub, client):
    files, _ = publish(hub, 100_000)
    hub.always["bytes"] = Fault(body=files[WEIGHTS][:-1] + b"?")
    line = fails(client, r"model.safetensors: the downloaded bytes have the hash [0-9a-f]{64}, expected [0-9a-f]{64}; refused")
    assert hashlib.sha256(files[WEIGHTS]).hexdigest() in line
    assert len(hub.asked("bytes")) == 2, "one more try"


def test_wrong_hash_of_a_small_file(hub, client):
    files, _ = publish(hub)
    wrong = Fault(body=files["config.json"].replace(b"llama", b"LLAMA"))
    hub.plan("resolve", None, None, wrong, wrong)
    fails(client, r"config.json: the downloaded bytes have the hash [0-9a-f]{40}, expected [0-9a-f]{40}; refused")


def test_wrong_once(hub, client):
    files, commit = publish(hub, 100_000)
    hub.plan("bytes", Fault(body=bytes(100_000)))
    assert "downloading it again" in succeeds(client, files, commit).stderr


def test_wrong_leftover(hub, client):
    """The remains of an earlier download may belong to another file."""
    files, commit = publish(hub, 100_000)
    etag = hashlib.sha256(files[WEIGHTS]).hexdigest()
    blobs = client.repository() / "blobs"
    for left in (b"x" * 40_000, b"x" * 100_000, b"x" * 200_000):
        blobs.mkdir(parents=True, exist_ok=True)
        (blobs / f"{etag}.incomplete").write_bytes(left)
        succeeds(client, files, commit)
        (blobs / etag).unlink()
    (blobs / f"{etag}.incomplete").write_bytes(files[WEIGHTS][:70_000])
    hub.requests.clear()
    succeeds(client, files, commit)
    assert [r.headers.get("range") for r in hub.asked("bytes")] == ["bytes=70000-"]


def test_too_much(hub, client):
    files, _ = publish(hub, 100_000)
    hub.always["bytes"] = Fault(body=files[WEIGHTS] + b"more")
    fails(client, "sends more than the 100000 bytes it announced")


def test_too_little(hub, client):
    """A size that is never reached must not cause an endless download."""
    publish(hub, 100_000)
    hub.plan("resolve", *[None] * BEFORE_WEIGHTS, Fault(headers={"X-Linked-Size": "100001"}))
    fails(client, "model.safetensors: the server has 100000 of the 100001 bytes it announced; refused")
    assert len(hub.asked("bytes")) == 2, "one more try"


def test_pages_in_place_of_the_bytes(hub, client):
    publish(hub, 100_000)
    hub.plan("bytes", *[Fault(body=b"page" * (100 + i), ignore_range=True) for i in range(100)])
    fails(client, r"model.safetensors: the server has 404 of the 100000 bytes it announced; refused")
    assert len(hub.asked("bytes")) == 2


def test_never_further(hub, client):
    """A server without ranges that breaks off a little later each time never sends the whole file."""
    publish(hub, 100_000)
    hub.plan("bytes", *[Fault(ignore_range=True, stop_after=1000 + i) for i in range(100)])
    fails(client, r"broke off after \d+ of 100000 bytes, 6 times .*; try again later")
    assert len(hub.asked("bytes")) == 7


SHAPES = {"upper": lambda h: f'"{h.upper()}"', "weak": lambda h: f'W/"{h}"', "bare": str, "own": lambda h: '"3f-multipart-7"'}


@pytest.mark.parametrize("shape", SHAPES)
def test_etags_of_mirrors(hub, client, shape):
    """The bytes are checked against the hash, in whatever form the server sends it; without one, against the list of files."""
    files, commit = publish(hub, 100_000)
    digest = hashlib.sha256(files[WEIGHTS]).hexdigest()
    headers = {"X-Linked-Etag": SHAPES[shape](digest)}
    before = [None] * BEFORE_WEIGHTS
    hub.always["bytes"] = Fault(body=files[WEIGHTS][:-1] + b"?")
    hub.plan("resolve", *before, Fault(headers=headers))
    assert digest in fails(client, "the downloaded bytes have the hash [0-9a-f]{64}, expected [0-9a-f]{64}; refused")
    hub.always.clear()
    hub.plan("resolve", None, None, None, Fault(headers=headers))
    succeeds(client, files, commit)
    assert (client.repository() / "blobs" / digest).is_file(), "the name it has for all programs"


def test_etags_of_small_files(hub, client):
    files, _ = publish(hub)
    etag = git_hash(files["config.json"]).upper()
    wrong = Fault(body=files["config.json"].replace(b"llama", b"LLAMA"))
    hub.plan("resolve", None, Fault(headers={"ETag": f'W/"{etag}"'}), wrong, wrong)
    fails(client, r"config.json: the downloaded bytes have the hash [0-9a-f]{40}, expected [0-9a-f]{40}; refused")


def test_nothing_to_verify_by(hub, client):
    publish(hub)
    hub.plan("resolve", *[None] * BEFORE_WEIGHTS, Fault(headers={"X-Linked-Etag": '"multipart-7"'}))
    hub.repository(MODEL).hidden = True
    fails(client, "gives it the etag 'multipart-7', expected a SHA-256 or git's hash, .*; refused")
    assert not hub.asked("bytes")


def test_config_beyond_any_config(hub, client):
    publish(hub)
    hub.plan("resolve", None, Fault(headers={"Content-Length": str(300 << 20)}))
    fails(client, r"config.json: has 300.0 MiB, expected at most 16.0 MiB; not downloaded")
    assert not hub.asked("resolve", "GET")


def test_leftover_that_is_a_link(hub, client):
    files, _ = publish(hub, 100_000)
    blobs = client.repository() / "blobs"
    blobs.mkdir(parents=True)
    precious = client.root / "precious"
    precious.write_text("mine")
    (blobs / f"{hashlib.sha256(files[WEIGHTS]).hexdigest()}.incomplete").symlink_to(precious)
    fails(client, r"\.incomplete: is a link, which is not followed, expected a regular file; remove it")
    assert precious.read_text() == "mine"


# A server that cannot be trusted


@pytest.mark.parametrize("headers, said", [
    ({"X-Linked-Etag": '"../../../../evil"'}, r"etag '../../../../evil'.*refused"),
    ({"X-Linked-Etag": '"/etc/passwd"'}, r"etag '/etc/passwd'.*refused"),
    ({"X-Linked-Etag": '".."'}, r"etag '\.\.'.*refused"),
    ({"X-Repo-Commit": "../../../evil"}, r"answers for commit '../../../evil' instead; refused"),
    ({"X-Linked-Size": "-5"}, "gives no etag and size"),
    ({"X-Linked-Size": "much"}, "gives no etag and size"),
])  # fmt: skip
def test_names_that_lead_out_of_the_cache(hub, client, headers, said):
    publish(hub)
    assert client.fetch(revision="absent").code == 3
    before = {path for path in client.root.rglob("*")}
    hub.plan("resolve", *[None] * BEFORE_WEIGHTS, Fault(headers=headers))
    fails(client, said)
    assert not [path for path in client.root.rglob("*evil*") if path not in before]
    assert all(client.cache in path.parents for path in client.root.rglob("*") if path.is_file())


def test_commit_that_leads_out_of_the_cache(hub, client):
    publish(hub)
    hub.plan("resolve", Fault(headers={"X-Repo-Commit": "../../../../evil"}))
    fails(client, "does not say which commit this is")


@pytest.mark.parametrize("name", ["../../evil.safetensors", "/tmp/evil.safetensors", "..", "a/b.safetensors"])
def test_index_that_leads_out_of_the_cache(hub, client, name):
    files = model_files()
    index = json.loads(files["model.safetensors.index.json"])
    index["weight_map"]["lm_head.weight"] = name
    files["model.safetensors.index.json"] = json.dumps(index).encode()
    hub.repository(MODEL).commit("main", files)
    fails(client, "names shard .* expected a file name in the same folder")
    assert not hub.asked("bytes")


def test_missing_shard(hub, client):
    files = model_files()
    del files["model-00002-of-00002.safetensors"]
    hub.repository(MODEL).commit("main", files)
    fails(client, r"org/model@main: model.safetensors.index.json names shard model-00002-of-00002.safetensors, which is missing")
    assert not hub.asked("bytes")


def test_redirects_without_end(hub, client):
    publish(hub)
    hub.always["bytes"] = Fault(status=302, headers={"Location": "/again"})
    fails(client, "redirects more than")
    hub.always["bytes"] = Fault(status=302, headers={"Location": "file:///etc/passwd"})
    fails(client, "is neither an http nor an https address")


def test_announced_size_beyond_the_disk(hub, client):
    """The free space is checked before the first byte is requested."""
    publish(hub)
    hub.plan("resolve", *[None] * BEFORE_WEIGHTS, Fault(headers={"X-Linked-Size": str(10**18)}))
    fails(client, r"cache: download needs 931322574.62 GiB, but only .* are free; free some space")
    assert not hub.asked("bytes")


def test_full_disk(hub, client):
    files, commit = publish(hub, 3_000_000)
    result = engine.run(*DOWNLOADING, environment=client.environment, before=engine.limit_files(1_000_000))
    assert result.code == 4
    assert re.search(r"error: \S+\.incomplete: cannot write: ", result.stderr), result.stderr
    hub.requests.clear()
    succeeds(client, files, commit)
    assert [r.headers.get("range") for r in hub.asked("bytes")] == ["bytes=1000000-"]
