"""Downloads of a model from the fake Hub, which succeed or end with one line."""

import hashlib
import random
import re

from hub_setup import MODEL, client, hub, model_files, needed  # noqa: F401 (fixtures)

WEIGHTS = "model.safetensors"
# Requests before the weights: commit; config (HEAD, GET); tokenizer (the same, redirected); an index that does not exist
BEFORE_WEIGHTS = 8

DOWNLOADING = ("capture", MODEL, "--corpus", "never-reached.jsonl", "--out", "never-reached")


def publish(hub, size=0):
    """A model with one file of about `size` bytes."""
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
