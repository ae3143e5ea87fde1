"""`ropewalk audit`: are the checkpoints what they claim to be?"""

import json
import re
import shutil

import pytest

from fake_hub import Fault
from hub_setup import MODEL, client, hub, model_files, pickled_files  # noqa: F401 (fixtures)

STEPS = [1000 * i for i in range(1, 31)]


def write_experiment(folder, model, *patterns, **changes):
    path = folder / "run.yaml"
    path.write_text(json.dumps({
        "name": "Thirty", "model": model, "corpus": {"path": "corpus.jsonl"},
        "phases": [{"name": f"Phase {i}", "context": 48, "revisions": pattern} for i, pattern in enumerate(patterns)],
        **changes}))  # fmt: skip
    return path


@pytest.fixture
def run(hub):
    """Thirty revisions with two shards; returns them, so that a test can damage them before they are published."""
    return {step: model_files(step / 1000) for step in STEPS}


def publish(hub, run):
    for step, files in run.items():
        hub.repository(MODEL).commit(f"step-{step}", files)


def findings(result):
    *lines, last = result.stdout.splitlines()
    found = {0: "no problems found", 1: "1 finding"}.get(len(lines), f"{len(lines)} findings")
    assert re.fullmatch(rf"Thirty: (1 checkpoint|(?!1 )\d+ checkpoints), {found}", last), result
    assert result.code == (3 if lines else 0), result.stderr
    assert result.stderr.endswith(f"run.yaml: {found}, listed on standard output\n" if lines else ""), result.stderr
    return [tuple(re.split(r"\s+", line, maxsplit=1)) for line in lines]


def test_a_good_run(hub, client, run, tmp_path):
    publish(hub, run)
    hub.page = 3
    result = client.run("audit", write_experiment(tmp_path, MODEL, "step-*"))
    assert findings(result) == []
    assert "30 checkpoints, no problems found" in result.stdout


def test_planted_faults(hub, client, run, tmp_path):
    """Duplicates, a missing shard, a changed theta and a gap, found by requests for refs, tree and config only."""
    second = "model-00002-of-00002.safetensors"
    for step in (12000, 25000):  # the weights of another step under their own name
        run[step].update({name: data for name, data in run[30000].items() if name.endswith(".safetensors")})
    del run[5000][second]
    run[8000]["config.json"] = model_files(rope_theta=50000.0)["config.json"]
    run[9000]["config.json"] = model_files(rms_norm_eps=1e-6)["config.json"]
    run[20000][second] = run[19000][second]
    for step in (22000, 23000):  # pickled weights are compared like others
        run[step] = {"config.json": run[step]["config.json"], "pytorch_model.bin": b"pickled"}
    run[15000] = pickled_files(15)
    run[16000] = pickled_files(16) | {"pytorch_model-00001-of-00002.bin": run[15000]["pytorch_model-00001-of-00002.bin"]}
    run[17000] = pickled_files(17)
    del run[17000]["pytorch_model-00002-of-00002.bin"]
    del run[28000]
    publish(hub, run)
    result = client.run("audit", write_experiment(tmp_path, MODEL, "step-*"))
    assert findings(result) == [
        ("missing", f"'step-5000': shard {second} is missing"),
        ("missing", "'step-17000': shard pytorch_model-00002-of-00002.bin is missing"),
        ("duplicate", "'step-12000', 'step-25000' and 'step-30000' have the same weights"),
        ("duplicate", "'step-15000' and 'step-16000' share pytorch_model-00001-of-00002.bin"),
        ("duplicate", f"'step-19000' and 'step-20000' share {second}"),
        ("duplicate", "'step-22000' and 'step-23000' have the same weights"),
        ("config", "rope.0.theta changes from 10000.0 at 'step-7000' to 50000.0 at 'step-8000'"),
        ("config", "norm_eps changes from 1e-05 at 'step-8000' to 1e-06 at 'step-9000'"),
        ("config", "rope.0.theta changes from 50000.0 at 'step-8000' to 10000.0 at 'step-9000'"),
        ("config", "norm_eps changes from 1e-06 at 'step-9000' to 1e-05 at 'step-10000'"),
        ("gap", "step-…: step 28000 is missing from the series"),
    ]
    assert not hub.asked("bytes")
    paths = [request.path for request in hub.requests]
    kinds = [len([p for p in paths if re.search(kind, p)]) for kind in ("/refs$", "/tree/", "/config.json$")]
    assert kinds[:2] == [1, 29] and kinds[2] <= 29 and sum(kinds) == len(paths), "nothing else is asked for"


def test_configs_are_fetched_once(hub, client, run, tmp_path):
    publish(hub, run)
    assert findings(client.run("audit", write_experiment(tmp_path, MODEL, "step-*"))) == []
    hub.requests.clear()
    assert findings(client.run("audit", write_experiment(tmp_path, MODEL, "step-*"))) == []
    assert not hub.asked("resolve")


def test_between_phases_settings_may_change(hub, client, run, tmp_path):
    for step in STEPS:
        if step >= 20000:
            run[step]["config.json"] = model_files(rope_theta=50000.0, max_position_embeddings=128)["config.json"]
    publish(hub, run)
    two = write_experiment(tmp_path, MODEL, "step-?000", "step-[23]0000")
    assert findings(client.run("audit", two)) == []
    one = client.run("audit", write_experiment(tmp_path, MODEL, "step-??000"))
    assert [kind for kind, _ in findings(one)] == ["config", "config"]
    assert "max_position_embeddings changes from 64 at 'step-19000' to 128 at 'step-20000'" in one.stdout
    overridden = write_experiment(tmp_path, MODEL, phases=[{
        "name": "P", "context": 48, "config": {"rope_theta": 1e4, "max_position_embeddings": 64}, "revisions": "step-??000"}])  # fmt: skip
    assert findings(client.run("audit", overridden)) == []


def test_revisions_that_are_not_there(hub, client, run, tmp_path):
    publish(hub, run)
    phases = [{"name": "P", "context": 48, "checkpoints": [
        {"label": "init", "random": 0}, {"label": "A", "revision": "step-1000"}, {"label": "B", "revision": "step-10001"},
        {"label": "C", "revision": hub.repository(MODEL).refs["step-2000"]}]}]  # fmt: skip
    result = client.run("audit", write_experiment(tmp_path, MODEL, phases=phases))
    [(kind, text)] = findings(result)
    assert kind == "missing" and re.fullmatch(r"'B': org/model has no revision 'step-10001'; did you mean 'step-10000?'\?", text)
    assert "3 checkpoints" in result.stdout
    none = client.run("audit", write_experiment(tmp_path, MODEL, "stage-*"))
    assert none.code == 3 and 'revisions "stage-*" matches none of the 30 of org/model' in none.stderr
    absent = client.run("audit", write_experiment(tmp_path, "org/absent", "step-*"))
    assert absent.code == 3 and "run.yaml:1: org/absent: the Hub has no such repository" in absent.stderr


def test_lists_with_hostile_names(hub, client, run, tmp_path):
    publish(hub, {1000: {**run[1000], "../../evil.safetensors": b"x"}})
    assert findings(client.run("audit", write_experiment(tmp_path, MODEL, "step-*"))) == []
    assert not list(tmp_path.rglob("evil*"))
    hub.plan("api", None, Fault(headers={"Link": '<http://localhost:9/next>; rel="next"'}))
    elsewhere = client.run("audit", write_experiment(tmp_path, MODEL, "step-*"))
    assert elsewhere.code == 3 and "on another host" in elsewhere.stderr


def test_folders(client, run, tmp_path):
    for step in (1000, 2000, 3000, 4000, 6000, 7000, 8000, 9000):
        folder = tmp_path / "local" / f"step-{step}"
        folder.mkdir(parents=True)
        for name, data in (pickled_files(9, shards=1) if step == 8000 else run[step]).items():  # those of step 9000
            (folder / name).write_bytes(data)
    shutil.copytree(tmp_path / "local" / "step-2000", tmp_path / "local" / "step-3000", dirs_exist_ok=True)
    (tmp_path / "local" / "step-4000" / "config.json").write_bytes(model_files(rope_theta=5.0)["config.json"])
    (tmp_path / "local" / "step-7000" / "model-00001-of-00002.safetensors").unlink()
    found = findings(client.run("audit", write_experiment(tmp_path, "local", "step-*")))
    assert [kind for kind, _ in found] == ["missing", "duplicate", "duplicate", "config", "config", "gap"]
    assert "shard model-00001-of-00002.safetensors is missing" in found[0][1]
    assert found[1][1] == "'step-2000' and 'step-3000' have the same weights"
    assert found[2][1] == "'step-8000' and 'step-9000' have the same weights", "pickled or not"
    assert found[5][1] == "step-…: step 5000 is missing from the series"


def test_run_says_so_first(hub, client, run, tmp_path):
    publish(hub, {1000: run[1000], 2000: run[1000]})
    rows = [{"tokens": [(i + j) % 32 for j in range(48)]} for i in range(9)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    experiment = write_experiment(tmp_path, MODEL, "step-*")
    result = client.run("run", experiment, "--out", tmp_path / "out", "--format", "json")
    assert result.code == 0, result.stderr
    assert result.stderr.startswith("warning: audit: 'step-1000' and 'step-2000' have the same weights\n")
    del run[3000]["model-00001-of-00002.safetensors"]
    publish(hub, {3000: run[3000]})
    hub.requests.clear()
    stopped = client.run("run", experiment, "--out", tmp_path / "out", "--format", "json")
    assert stopped.code == 3 and "'step-3000': shard model-00001-of-00002.safetensors is missing" in stopped.stderr
    assert not hub.asked("bytes")
