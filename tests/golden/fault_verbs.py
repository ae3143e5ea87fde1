"""Every verb with inputs that keep it busy for a while, and limits under which it runs."""

import json
import os
import random
import resource
import shutil
import subprocess

import pytest

import engine
import synthetic_run as synthetic
from breakable import VOCAB, Setup

CONTEXT, DOCUMENTS = 48, 1500
FSIZE, MEMORY = resource.RLIMIT_FSIZE, resource.RLIMIT_AS


def document(key, length=CONTEXT):
    return dict(id=key, tokens=random.Random(key).choices(range(VOCAB), k=length))


def limited(kind, size):
    def apply():
        resource.setrlimit(kind, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # writing a core dump takes longer than the test

    return apply


class Verbs:
    """Inputs that keep every verb busy for a moment, and the arguments for each."""

    def __init__(self, root):
        self.root = root
        self.setup = Setup(root)
        self.setup.write_corpus([document(key) for key in range(DOCUMENTS)])
        self.model, self.corpus = self.setup.model, self.setup.corpus
        for part in ("0/2", "1/2"):
            self.must("capture", self.model, "--corpus", self.corpus, "--out", root / f"part{part[0]}", "--shard", part,
                      "--context", CONTEXT, "--dtype", "float32", "--label", "half", "--blocks", 256)  # fmt: skip
        for label in ("a", "b"):
            shutil.copytree(self.model, root / label)
        table = root / "table"
        synthetic.write(synthetic.demo_like(), table)
        reference = {"mean_r_q": {"s10000": 0.5}}
        (root / "reference.json").write_text(json.dumps(reference))
        self.experiment = root / "run.yaml"
        self.experiment.write_text(json.dumps({
            "name": "Run", "corpus": {"path": "tokens.jsonl"}, "dtype": "float32",
            "phases": [{"name": "P", "context": CONTEXT, "checkpoints": [
                {"label": "init", "random": 1}, {"label": "a", "path": "a"}, {"label": "b", "path": "b"}]}]}))  # fmt: skip

    def must(self, *arguments):
        result = engine.run(*arguments, "--quiet")
        assert result.code == 0, result.stderr

    def command(self, verb, out):
        root, table = self.root, self.root / "table"
        return {
            "inspect": ["inspect", self.model, "--memory", "1GiB"],
            "capture": ["capture", self.model, "--corpus", self.corpus, "--out", out / "capture", "--context", CONTEXT,
                        "--vectors", "uniform", "--dtype", "float32"],
            "loss": ["loss", self.model, "--corpus", self.corpus, "--out", out / "loss", "--context", CONTEXT, "--dtype", "float32"],
            "analyze": ["analyze", root / "part0", "--out", out / "tables", "--components", 4],
            "merge": ["merge", root / "part1", root / "part0", "--out", out / "merged"],
            "export": ["export", root / "part0", "--to", "q-filters", "--out", out / "export"],
            "compare": ["compare", table / "qk.csv", "--reference", root / "reference.json"],
            "figures": ["figures", table / "qk.csv", "--out", out / "figures", "--format", "svg"],
            "report": ["report", table, "--out", out / "report.html"],
            "run": ["run", self.experiment, "--out", out / "run", "--format", "svg"],
            "audit": ["audit", self.experiment],
        }[verb]  # fmt: skip


@pytest.fixture(scope="module")
def verbs(tmp_path_factory):
    return Verbs(tmp_path_factory.mktemp("verbs"))


@pytest.fixture(scope="module")
def no_report():
    return "built without the report" in engine.run("report", "nowhere", "--out", "nowhere").stderr


@pytest.fixture(autouse=True)
def skip_what_is_not_built(request, no_report):
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    if no_report and parameters.get("verb") == "report":
        pytest.skip("built without the report")


def start(command, **environment):
    return subprocess.Popen([engine.program(), *map(str, command), "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env={**os.environ, **environment})  # fmt: skip
