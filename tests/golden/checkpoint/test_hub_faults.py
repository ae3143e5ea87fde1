"""Downloads through every fault of network, server and machine: they end with the right bytes, or one clear line."""

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import time

import pytest

import engine
from fake_hub import Fault, git_hash
from hub_setup import MODEL, client, hub, model_files, needed  # noqa: F401 (fixtures)

WEIGHTS = "model.safetensors"
# Requests before the weights: commit; config (HEAD, GET); tokenizer (the same, redirected); an index that is not there
BEFORE_WEIGHTS = 8

DOWNLOADING = ("capture", MODEL, "--corpus", "never-reached.jsonl", "--out", "never-reached")


def publish(hub, size=0):
    """A model of one file, padded to about `size` bytes."""
    files = {**model_files(shards=1), "tokenizer.json": b'{"version": "1.0"}'}
    if size:
        files[WEIGHTS] = random.Random(size).randbytes(size)
    return files, hub.repository(MODEL).commit("main", files)


def succeeds(client, files, commit, **environment):
    result = client.fetch(**environment)
    assert result.code == 0, result.stderr
    assert client.files(commit) == needed(files)
    blobs = client.repository() / "blobs"
    assert [path.name for path in blobs.iterdir() if path.name.endswith(".incomplete")] == []
    for path in blobs.iterdir():
        if len(path.name) == 64:
            assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    return result


def fails(client, pattern, **environment):
    result = client.fetch(**environment)
    assert result.code == 3
    line = result.stderr.splitlines()[-1]
    assert re.search(pattern, line), result.stderr
    assert not [p for p in client.repository().rglob("snapshots/*/*") if p.name == WEIGHTS], "nothing unverified gets its name"
    return line


# Servers that ask for patience


@pytest.mark.parametrize("where", ["resolve", "bytes"])
def test_too_many_requests(hub, client, where):
    files, commit = publish(hub)
    hub.plan(where, Fault(status=429, headers={"Retry-After": "1"}), Fault(status=429, headers={"RateLimit": '"api";r=0;t=1'}))
    start = time.monotonic()
    result = succeeds(client, files, commit)
    assert time.monotonic() - start >= 2, "as long as the server asked"
    assert result.stderr.count("HTTP 429; trying again in 1 s") == 2


def test_time_that_runs_backwards(hub, client):
    files, commit = publish(hub)
    hub.plan("resolve", Fault(status=429, headers={"RateLimit": '"api";r=0;t=-7'}))
    assert "HTTP 429; trying again in 1 s" in succeeds(client, files, commit).stderr


def test_server_errors(hub, client):
    files, commit = publish(hub)
    hub.plan("resolve", None, Fault(status=500, headers={"Retry-After": "0"}))
    hub.plan("bytes", Fault(status=503), Fault(status=502, headers={"Retry-After": "1"}))
    succeeds(client, files, commit)


def test_a_time_beyond_all_time(hub, client):
    publish(hub)
    for longest in (str(901), "99999999999999999999"):
        hub.plan("resolve", Fault(status=429, headers={"RateLimit": f'"api";r=0;t={longest}'}))
        fails(client, r"HTTP 429; the server asks to wait \d+ (h|min) \d\d (min|s); try again later")


def test_giving_up(hub, client):
    publish(hub)
    hub.plan("resolve", Fault(status=429, headers={"Retry-After": "86400"}))
    fails(client, r"HTTP 429; the server asks to wait 24 h 00 min; try again later")
    hub.plan("resolve", *[Fault(status=503, headers={"Retry-After": "0", "RateLimit": '"api";r=0;t=0'})] * 6)
    assert "HTTP 503, 6 times; try again later" in fails(client, "config.json")
    hub.plan("resolve", Fault(status=418))
    fails(client, "org/model@main: the Hub answers HTTP 418, expected 200")


def test_nobody_there(hub, client):
    publish(hub)
    hub.close()
    process = client.start()
    assert re.search(r"onnect.*; trying again in 1 s", process.stderr.readline())
    process.send_signal(signal.SIGTERM)
    start = time.monotonic()
    assert "interrupted by signal 15" in process.communicate()[1]
    assert time.monotonic() - start < 20, "it would try for half a minute"


# Bodies that break off


def test_truncated_body(hub, client):
    files, commit = publish(hub, 300_000)
    hub.plan("bytes", Fault(stop_after=100_000), Fault(stop_after=50_000), Fault(stop_after=0))
    result = succeeds(client, files, commit)
    starts = [r.headers.get("range") for r in hub.asked("bytes")]
    assert starts == [None, "bytes=100000-", "bytes=150000-", "bytes=150000-"]
    assert "broke off after 100000 of 300000 bytes" in result.stderr


def test_stall(hub, client):
    files, commit = publish(hub, 300_000)
    hub.plan("bytes", Fault(stall_after=100_000))
    start = time.monotonic()
    succeeds(client, files, commit)
    assert 1 < time.monotonic() - start < 25
    assert [r.headers.get("range") for r in hub.asked("bytes")] == [None, "bytes=100000-"]


def test_server_without_ranges(hub, client):
    files, commit = publish(hub, 300_000)
    hub.plan("bytes", Fault(stop_after=100_000), Fault(ignore_range=True))
    succeeds(client, files, commit)


def test_never_whole(hub, client):
    publish(hub, 300_000)
    hub.always["bytes"] = Fault(stop_after=0, headers={"Retry-After": "0"})
    process = client.start()
    lines = [process.stderr.readline() for _ in range(2)]
    assert all("broke off after 0 of 300000 bytes" in line for line in lines), lines
    process.send_signal(signal.SIGINT)
    process.communicate()


# Bytes that are not what was announced


def test_wrong_hash(hub, client):
    files, _ = publish(hub, 100_000)
    hub.always["bytes"] = Fault(body=files[WEIGHTS][:-1] + b"?")
    line = fails(client, r"model.safetensors: .* hash [0-9a-f]{64}, expected [0-9a-f]{64}; refused")
    assert hashlib.sha256(files[WEIGHTS]).hexdigest() in line
    assert len(hub.asked("bytes")) == 2, "one more try"


def test_wrong_hash_of_a_small_file(hub, client):
    files, _ = publish(hub)
    wrong = Fault(body=files["config.json"].replace(b"llama", b"LLAMA"))
    hub.plan("resolve", None, None, wrong, wrong)
    fails(client, r"config.json: .* hash [0-9a-f]{40}, expected [0-9a-f]{40}; refused")


def test_wrong_once(hub, client):
    files, commit = publish(hub, 100_000)
    hub.plan("bytes", Fault(body=bytes(100_000)))
    assert "downloading it again" in succeeds(client, files, commit).stderr


def test_wrong_leftover(hub, client):
    """What an earlier download left may be of another file."""
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
    """A size that no byte ever fills is no reason to download for ever."""
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
    """A server without ranges that breaks off each time a little later never gets there."""
    publish(hub, 100_000)
    hub.plan("bytes", *[Fault(ignore_range=True, stop_after=1000 + i) for i in range(100)])
    fails(client, r"broke off after \d+ of 100000 bytes, 6 times .*; try again later")
    assert len(hub.asked("bytes")) == 7


SHAPES = {"upper": lambda h: f'"{h.upper()}"', "weak": lambda h: f'W/"{h}"', "bare": str, "own": lambda h: '"3f-multipart-7"'}


@pytest.mark.parametrize("shape", SHAPES)
def test_etags_of_mirrors(hub, client, shape):
    """However a server writes a hash, the bytes are held to it; and to the list of files where it writes none."""
    files, commit = publish(hub, 100_000)
    digest = hashlib.sha256(files[WEIGHTS]).hexdigest()
    headers = {"X-Linked-Etag": SHAPES[shape](digest)}
    before = [None] * BEFORE_WEIGHTS
    hub.always["bytes"] = Fault(body=files[WEIGHTS][:-1] + b"?")
    hub.plan("resolve", *before, Fault(headers=headers))
    assert digest in fails(client, ".* hash [0-9a-f]{64}, expected [0-9a-f]{64}; refused")
    hub.always.clear()
    hub.plan("resolve", None, None, None, Fault(headers=headers))
    succeeds(client, files, commit)
    assert (client.repository() / "blobs" / digest).is_file(), "the name it has for all programs"


def test_etags_of_small_files(hub, client):
    files, _ = publish(hub)
    etag = git_hash(files["config.json"]).upper()
    wrong = Fault(body=files["config.json"].replace(b"llama", b"LLAMA"))
    hub.plan("resolve", None, Fault(headers={"ETag": f'W/"{etag}"'}), wrong, wrong)
    fails(client, r"config.json: .* hash [0-9a-f]{40}, expected [0-9a-f]{40}; refused")


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
    fails(client, r"\.incomplete: is a link.*; remove it")
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
    """Free space is looked at before the first byte is asked for."""
    publish(hub)
    hub.plan("resolve", *[None] * BEFORE_WEIGHTS, Fault(headers={"X-Linked-Size": str(10**18)}))
    fails(client, r"cache: download needs 931322574.62 GiB, of which .* are free")
    assert not hub.asked("bytes")


def test_full_disk(hub, client):
    files, commit = publish(hub, 3_000_000)
    result = engine.run(*DOWNLOADING, environment=client.environment, before=engine.limit_files(1_000_000))
    assert result.code == 4
    assert re.search(r"error: \S+\.incomplete: cannot write: ", result.stderr), result.stderr
    hub.requests.clear()
    succeeds(client, files, commit)
    assert [r.headers.get("range") for r in hub.asked("bytes")] == ["bytes=1000000-"]


# Processes that end, and processes that meet


def test_killed_at_random_moments(hub, client):
    """Fifty times; each goes on where the last one was, and the files are right in the end."""
    size = 4_000_000
    files, commit = publish(hub, size)
    hub.always["bytes"] = Fault(rate=4_000_000)
    etag = hashlib.sha256(files[WEIGHTS]).hexdigest()
    dice = random.Random(3)
    grown = 0
    longest = 0.12  # seconds that one lives; more where a busy machine does not get to the file in that
    for _ in range(50):
        asked = len(hub.asked("bytes"))
        process = client.start()
        time.sleep(dice.uniform(0, longest))
        process.kill()
        process.communicate()
        if len(hub.asked("bytes")) == asked:
            longest = min(1.2 * longest, 3)
        partial = client.repository() / "blobs" / f"{etag}.incomplete"
        now = partial.stat().st_size if partial.exists() else 0
        whole = (client.repository() / "blobs" / etag).exists()
        assert whole or now >= grown, "nothing that arrived is lost"
        grown = now
        if whole:  # begin anew
            for path in sorted(client.cache.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
            grown = 0
    hub.always.clear()
    succeeds(client, files, commit)
    resumed = [r for r in hub.asked("bytes") if "range" in r.headers]
    assert len(resumed) > 5


def test_interrupted(hub, client):
    """Ctrl-C ends a download long before its end; the next one goes on."""
    files, commit = publish(hub, 2_000_000)
    hub.always["bytes"] = Fault(rate=20_000)
    process = subprocess.Popen([engine.program(), *DOWNLOADING], env={**os.environ, **client.environment},
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    partial = client.repository() / "blobs" / f"{hashlib.sha256(files[WEIGHTS]).hexdigest()}.incomplete"
    while not partial.exists() or partial.stat().st_size == 0:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    assert "error: interrupted by signal 2" in process.communicate()[1]
    assert process.returncode == 130 and time.monotonic() - start < 20
    hub.always.clear()
    hub.requests.clear()
    succeeds(client, files, commit)
    assert "range" in hub.asked("bytes")[0].headers


def test_two_at_once(hub, client):
    """One downloads, the other waits and takes what is there."""
    files, commit = publish(hub, 2_000_000)
    hub.always["bytes"] = Fault(rate=4_000_000)
    processes = [client.start() for _ in range(2)]
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert out.strip().endswith(commit)
    assert len(hub.asked("bytes")) == 1
    succeeds(client, files, commit)


def test_with_python_at_once(hub, client):
    """Python's client holds the same lock."""
    files, commit = publish(hub, 2_000_000)
    hub.always["bytes"] = Fault(rate=2_000_000)
    process = client.start()
    while not hub.asked("bytes"):
        time.sleep(0.01)
    path = client.python(f"print(hub.hf_hub_download({MODEL!r}, {WEIGHTS!r}))")
    process.communicate(timeout=60)
    assert open(path, "rb").read() == files[WEIGHTS]
    assert len(hub.asked("bytes")) == 1
    succeeds(client, files, commit)


def test_shards_come_in_parallel(hub, client):
    files = model_files(shards=4)
    commit = hub.repository(MODEL).commit("main", files)
    hub.always["bytes"] = Fault(rate=3000)
    succeeds(client, files, commit)
    assert hub.most_sent_at_once > 1, "not one after another"


def test_progress(hub, client):
    publish(hub, 1_000_000)
    hub.always["bytes"] = Fault(rate=400_000)
    result = client.fetch()
    assert re.search(r"download +\d+ %  [\d.]+[kM] bytes/s  \d+ s", result.stderr), result.stderr
