"""Downloads with every fault of network, server and machine: they end with the right bytes, or with one clear line."""

import hashlib
import os
import random
import re
import signal
import subprocess
import time

import pytest

import engine
from fake_hub import Fault
from hub_downloads import DOWNLOADING, WEIGHTS, fails, publish, succeeds
from hub_setup import MODEL, client, hub, model_files  # noqa: F401 (fixtures)


# Servers that ask to wait


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


# Answers that break off


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


# Processes that are killed, and processes at the same time


def test_killed_at_random_moments(hub, client):
    """Killed fifty times; each download resumes where the last one stopped, and the files are right in the end."""
    size = 4_000_000
    files, commit = publish(hub, size)
    hub.always["bytes"] = Fault(rate=4_000_000)
    etag = hashlib.sha256(files[WEIGHTS]).hexdigest()
    dice = random.Random(3)
    grown = 0
    longest = 0.12  # seconds until the kill; longer where a busy machine does not reach the file in time
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
        if whole:  # start again
            for path in sorted(client.cache.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
            grown = 0
    hub.always.clear()
    succeeds(client, files, commit)
    resumed = [r for r in hub.asked("bytes") if "range" in r.headers]
    assert len(resumed) > 5


def test_interrupted(hub, client):
    """Ctrl-C ends a download early; the next one resumes."""
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
    """One process downloads; the other waits and uses the file."""
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
