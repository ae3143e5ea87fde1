"""`inspect` reads only the headers of a model on the Hub."""

import re
import subprocess

import pytest

from hub_setup import MODEL, client, hub, model_files, pickled_files  # noqa: F401 (fixtures)


# Reads per shard: the header's length and the header; of an archive the beginning, the end, the list, its pickle and the byte order.
@pytest.mark.parametrize("files, reads", [(model_files(), 2), (pickled_files(), 5)], ids=["safetensors", "bin"])
def test_inspect_reads_headers_alone(hub, client, tmp_path, files, reads):
    """Nothing large is downloaded, nothing is left in the cache, and all numbers are the same as for the whole model."""
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
