"""The token is sent to the Hub's own endpoint, and nowhere else."""

import json

from fake_hub import FakeHub
from hub_setup import CORPUS, MODEL, client, hub, model_files  # noqa: F401 (fixtures)

TOKEN = "hf_SecretOfTheTest"


def all_output(client, *folders):
    for folder in (client.root, *folders):
        for path in folder.rglob("*"):
            if path.is_file() and path.name != "token":
                yield path.read_bytes()


def test_token_goes_to_the_endpoint_alone(hub, client, tmp_path):
    """It is not sent to the host of the bytes, and not written to any log, error, manifest or report."""
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
    assert hostile.code == 3 and "is not a token" in hostile.stderr and "Evil" not in hostile.stderr


def test_token_is_not_sent_in_the_clear(hub, client):
    result = client.fetch(HF_ENDPOINT="http://hub.example.org", HF_TOKEN=TOKEN)
    assert result.code == 3 and "unencrypted" in result.stderr and TOKEN not in result.stderr
    user = client.fetch(HF_ENDPOINT="https://example.org:password@hub.example.org")
    assert user.code == 3 and "HF_ENDPOINT" in user.stderr and "password" not in user.stderr


def test_loopback_is_not_asked_through_a_proxy(hub, client):
    """Over plain http, the token is only sent to this machine, even if a proxy is set."""
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


def test_a_gated_model_without_a_token_is_said_before_anything_is_spent(hub, client, tmp_path):
    for name in ("open", "gated"):
        hub.repository(f"org/{name}").commit("main", model_files())
    hub.token, hub.gated_only, hub.repository("org/gated").gated = "hf_right", True, True
    (tmp_path / "texts.jsonl").write_text(json.dumps({"tokens": [i % 32 for i in range(48)]}) + "\n")
    listed = [{"label": name, "model": f"org/{name}", "context": 48} for name in ("open", "gated")]
    file = tmp_path / "two.yaml"
    file.write_text(json.dumps({"name": "Two", "corpus": {"path": "texts.jsonl"}, "dtype": "float32", "models": listed}))
    for options in ((), ("--dry-run",)):
        done = client.run("run", file, "--out", tmp_path / "out", "--format", "json", "--quiet", *options)
        assert done.code == 3 and len(done.stderr.splitlines()) == 1, done.stderr
        assert "'gated': model 'org/gated' is not a folder, and org/gated@main: is gated; accept its conditions" in done.stderr and done.stdout == ""
        assert not hub.asked("bytes") and not (tmp_path / "out" / "checkpoints").exists()
    going = client.run("run", file, "--out", tmp_path / "out", "--format", "json", "--keep-going")
    last = going.stderr.strip().splitlines()[-1]
    assert going.code == 3 and "1 of 2 models were not measured: 'gated': " in last and last.count("'gated'") == 1, going.stderr
    good = client.run("run", file, "--out", tmp_path / "out", "--format", "json", HF_TOKEN="hf_right")
    assert good.code == 0 and good.stderr.count("measured already") == 1, good.stderr
