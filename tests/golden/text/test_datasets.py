"""Datasets on the Hub by their name: which files they have, what is downloaded of them, and how a study uses them.

Files are found by the rules of the `datasets` library (its page "Structure your repository"); rows are compared with what pyarrow reads from the
same bytes.
"""

import gzip
import json
import random

import pyarrow
import pyarrow.parquet
import pytest

import breakable
import engine
from fake_hub import Fault
from hub_setup import MODEL, client, hub, model_files  # noqa: F401 (fixtures)

DATASET = "org/texts"
LENGTH = 48
MiB = 1 << 20


def rows(first, count=10):
    return [{"id": f"doc{first + i}", "tokens": [(7 * (first + i) + j) % breakable.VOCAB for j in range(LENGTH)]}
            for i in range(count)]  # fmt: skip


def parquet(some, group=100, junk=0) -> bytes:
    columns = {"id": [row["id"] for row in some]}
    if junk:
        noise = random.Random(junk)
        columns["junk"] = [noise.randbytes(junk) for _ in some]
    columns["tokens"] = pyarrow.array([row["tokens"] for row in some], pyarrow.list_(pyarrow.int32()))
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns), sink, row_group_size=group, compression="none", use_dictionary=False)
    return sink.getvalue().to_pybytes()


def lines(some) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in some).encode()


def card(configs) -> bytes:
    return b"---\nlicense: mit\nconfigs:\n" + configs.encode() + b"---\n# Texts\n"


@pytest.fixture
def study(hub, client, tmp_path):
    """Writes an experiment on a dataset; runs it."""
    hub.repository(MODEL).commit("main", model_files())

    def run(*options, out="out", environment=None, **corpus):
        path = tmp_path / "run.yaml"
        path.write_text(json.dumps({
            "name": "Tiny", "model": MODEL, "dtype": "float32",
            "corpus": {"dataset": DATASET, "field": "tokens", **corpus},
            "phases": [{"name": "P", "context": LENGTH, "checkpoints": [{"label": "main", "revision": "main"}]}]}))  # fmt: skip
        return client.run("run", path, "--out", tmp_path / out, "--format", "json", *options, **(environment or {}))

    return run


def corpus_of(tmp_path, out="out"):
    manifest = json.loads((tmp_path / out / "manifest.json").read_text())
    return manifest["corpus"], manifest["checkpoints"][0]["corpus"]


def digest_of(client, tmp_path, some):
    """The expected description of a capture's documents for exactly these rows."""
    path = tmp_path / "plain.jsonl"
    path.write_bytes(lines(some))
    out = tmp_path / f"plain{len(list(tmp_path.iterdir()))}"
    done = client.run("capture", MODEL, "--corpus", path, "--field", "tokens", "--out", out, "--context", LENGTH, "--dtype", "float32")
    assert done.code == 0, done.stderr
    return json.loads((out / "capture.json").read_text())["corpus"]


A, B, C = rows(0), rows(10), rows(20)

# Files of a repository, the request, and the rows that are read.
LAYOUTS = {
    "shards in data": (
        {"data/test-00000-of-00002.parquet": parquet(A), "data/test-00001-of-00002-5d2a.parquet": parquet(B),
         "data/train-00000-of-00001.parquet": parquet(C)}, {"split": "test"}, A + B),
    "shards of any split": (
        {"data/held_out-00000-of-00001.jsonl": lines(B), "data/train-00000-of-00001.jsonl": lines(C)}, {"split": "held_out"}, B),
    "folders": ({"test/b.jsonl": lines(B), "test/a.jsonl": lines(A), "train/c.jsonl": lines(C)}, {"split": "test"}, A + B),
    "a folder's word": ({"my_dev/b.jsonl.gz": gzip.compress(lines(B)), "training/c.jsonl": lines(C)}, {"split": "validation"}, B),
    "names": ({"test.parquet": parquet(A), "train.parquet": parquet(C), "README.md": b"no header\n"}, {"split": "test"}, A),
    "a name's word": ({"de/texts-eval-1.jsonl": lines(A), "testimony.jsonl": lines(B)}, {"split": "test"}, A),
    "all is train": ({"one.jsonl": lines(A), "sub/two.json": lines(B), ".hidden.jsonl": lines(C)}, {}, A + B),
    "the more frequent format": ({"train/a.parquet": parquet(A), "train/b.parquet": parquet(B), "train/index.jsonl": b"{}\n"}, {}, A + B),
    "the card": (
        {"README.md": card("- config_name: long\n  default: true\n  data_files:\n  - {split: test, path: 'x/*.parquet'}\n"
                           "  - split: more\n    path: ['y/b.jsonl', 'x/c*']\n- config_name: short\n  data_files: 'y/*'\n"),
         "x/a.parquet": parquet(A), "x/c.parquet": parquet(C), "x/deep/b.parquet": parquet(B), "y/b.jsonl": lines(B)},
        {"split": "test"}, A + C),
    "the card's other configuration": (
        {"README.md": card("- config_name: long\n  data_files: 'x/*'\n- config_name: short\n  data_files: 'y/**'\n"),
         "x/a.jsonl": lines(A), "y/z/b.jsonl": lines(B)}, {"config": "short"}, B),
    "the card's folder": (
        {"README.md": card("- config_name: default\n  data_dir: v2\n"), "v2/test.jsonl": lines(B), "test.jsonl": lines(A)},
        {"split": "test"}, B),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_of_a_split(hub, client, study, tmp_path, layout):
    files, asked, expected = LAYOUTS[layout]
    commit = hub.repository(DATASET, "datasets").commit("main", files)
    done = study(**asked)
    assert done.code == 0, done.stderr
    corpus, digest = corpus_of(tmp_path)
    assert corpus["dataset"] == DATASET and corpus["commit"] == commit and not corpus["converted"]
    assert corpus["split"] == asked.get("split", "train")
    assert digest == digest_of(client, tmp_path, expected)


def test_converted_parquet(hub, client, study, tmp_path):
    """A format that this program cannot read exists as Parquet in a branch of the Hub."""
    repository = hub.repository(DATASET, "datasets")
    repository.commit("main", {"test.csv": b"a,b\n"})
    failed = study(split="test")
    assert failed.code == 3 and "holds no Parquet and no JSON lines, and the Hub has not converted it" in failed.stderr
    commit = repository.commit("refs/convert/parquet", {
        "default/test/0001.parquet": parquet(B), "default/test/0000.parquet": parquet(A), "other/partial-train/0000.parquet": parquet(C)})  # fmt: skip
    assert study(split="test").code == 0
    corpus, digest = corpus_of(tmp_path)
    assert (corpus["commit"], corpus["converted"]) == (commit, True)
    assert digest == digest_of(client, tmp_path, A + B)
    assert study(config="other", out="other").code == 0
    assert corpus_of(tmp_path, "other")[1] == digest_of(client, tmp_path, C)


def travelled(hub):
    """The bytes of files that the Hub has sent."""
    total = 0
    for request in hub.asked("bytes", "GET"):
        begin, end = request.headers["range"].removeprefix("bytes=").split("-")
        total += int(end) - int(begin) + 1
    return total


def test_only_what_is_read_travels(hub, client, study, tmp_path):
    """Footers, and the needed columns of the needed row groups; each once."""
    many = rows(0, 120)
    first, second = parquet(many, group=10, junk=MiB // 2), parquet(rows(200, 4), junk=100)
    hub.repository(DATASET, "datasets").commit("main", {"test/0.parquet": first, "test/1.parquet": second})
    hub.requests.clear()
    done = study("--dry-run", split="test", documents=25)
    assert done.code == 0, done.stderr
    few = travelled(hub)
    assert len(first) > 60 * MiB and few <= 8 * MiB, "the end of the file, and one part or two of each row group"
    hub.requests.clear()
    done = study(split="test", documents=25)
    assert done.code == 0, done.stderr
    weights = len(model_files()["model-00001-of-00002.safetensors"]) + len(model_files()["model-00002-of-00002.safetensors"])
    assert not [r for r in hub.asked("resolve", "GET") if "parquet" in r.path], "nothing travels twice"
    assert weights and corpus_of(tmp_path)[1] == digest_of(client, tmp_path, many[:25])
    hub.requests.clear()
    offline = study(split="test", documents=25, out="offline", environment={"HF_HUB_OFFLINE": "1"})
    assert offline.code == 0 and hub.requests == [], offline.stderr
    more = study(split="test", documents=45, out="more", environment={"HF_HUB_OFFLINE": "1"})
    assert more.code == 3 and "are not in the cache, and HF_HUB_OFFLINE is set" in more.stderr
    assert study(split="test", documents=122, out="all").code == 0
    assert corpus_of(tmp_path, "all")[1] == digest_of(client, tmp_path, (many + rows(200, 4))[:122])


def test_parts_that_were_damaged_come_again(hub, client, study, tmp_path):
    hub.repository(DATASET, "datasets").commit("main", {"test.parquet": parquet(A)})
    assert study(split="test").code == 0
    parts = [p for p in (client.cache / "datasets--org--texts" / ".ropewalk" / "parts").rglob("*") if p.is_file()]
    for part in parts:
        bytes_ = bytearray(part.read_bytes())
        bytes_[len(bytes_) // 2] ^= 1
        part.write_bytes(bytes_)
    hub.requests.clear()
    assert study(split="test", out="again").code == 0
    assert travelled(hub) > 0 and corpus_of(tmp_path)[1] == corpus_of(tmp_path, "again")[1]


def test_a_whole_file_in_the_cache_is_read_there(hub, client, study, tmp_path):
    hub.repository(DATASET, "datasets").commit("main", {"test.parquet": parquet(A)})
    client.python(f"hub.hf_hub_download({DATASET!r}, 'test.parquet', repo_type='dataset')")
    hub.requests.clear()
    assert study(split="test").code == 0
    assert len(hub.asked("bytes")) == 2, "the two files of the weights"


def test_a_branch_that_moves(hub, client, study, tmp_path):
    """Other documents are measured again; the same documents at another commit are not."""
    repository = hub.repository(DATASET, "datasets")
    repository.commit("main", {"test.jsonl": lines(A), "train.jsonl": lines(C)})
    assert study(split="test").code == 0
    commit = repository.commit("main", {"test.jsonl": lines(A), "notes.txt": b"new\n"})
    same = study(split="test")
    assert same.code == 0 and "measured already" in same.stderr and corpus_of(tmp_path)[0]["commit"] == commit
    repository.commit("main", {"test.jsonl": lines(B), "train.jsonl": lines(C)})
    assert "measured again: other documents" in study(split="test").stderr
    assert corpus_of(tmp_path)[1] == digest_of(client, tmp_path, B)
    assert "measured again: other documents" in study(split="train").stderr
    assert "measured again: other documents" in study(split="test", revision=commit).stderr
    assert corpus_of(tmp_path)[1] == digest_of(client, tmp_path, A)


@pytest.mark.parametrize(("asked", "said"), [
    ({"split": "dev"}, "org/texts@main: has no split 'dev'; it has 'test', 'train'"),
    ({}, "org/texts@main: has several splits, 'test', 'train'; choose one as the corpus's split"),
    ({"split": "test", "revision": "v9"}, "org/texts@v9: the Hub has no such revision"),
    ({"dataset": "org/nothing"}, "the Hub has no such repository, or it is private"),
    ({"dataset": "texts"}, "'texts' is not a dataset on the Hub; write org/name, or path: FILE"),
    ({"path": "a.jsonl"}, "needs either path: FILE or dataset: org/name"),
    ({"split": "test", "field": "words"}, "has no column 'words'; it has 'id', 'tokens'"),
])  # fmt: skip
def test_what_is_not_there(hub, study, asked, said):
    hub.repository(DATASET, "datasets").commit("main", {"test.parquet": parquet(A), "train.parquet": parquet(B)})
    done = study(**asked)
    assert done.code == 3 and said in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()[-1]) < 400
    assert not hub.asked("bytes", path="model"), "nothing is spent"


def test_a_hub_that_is_away(hub, study, tmp_path):
    """The cached dataset is used, with a warning; also one without a card."""
    hub.repository(DATASET, "datasets").commit("main", {"test.parquet": parquet(A)})
    assert study(split="test").code == 0
    hub.always = {where: Fault(status=503, headers={"RateLimit": '"api";r=0;t=0'}) for where in ("api", "resolve", "bytes")}
    away = study(split="test", out="away")
    assert away.code == 0 and "as of the last request" in away.stderr, away.stderr
    assert corpus_of(tmp_path) == corpus_of(tmp_path, "away")


@pytest.mark.parametrize("path", ["../../../api/whoami-v2", "/api/whoami-v2", "a/../../b/*"])
@pytest.mark.parametrize("key", ["data_files", "data_dir"])
def test_cards_that_lead_out_of_the_repository(hub, study, key, path):
    hub.token = "hf_SecretOfTheTest"
    hub.repository(DATASET, "datasets").commit("main", {"README.md": card(f"- {key}: {path}\n"), "a.jsonl": lines(A)})
    hub.requests.clear()
    done = study(environment={"HF_TOKEN": hub.token})
    assert done.code == 3, done.stderr
    assert f"org/texts@main/README.md: its header contains the path '{path}', which is outside the repository; refused" in done.stderr
    assert all(DATASET in r.path or MODEL in r.path for r in hub.requests), [r.path for r in hub.requests]
    assert not [r.path for r in hub.requests if ".." in r.path or "whoami" in r.path]


def test_cards_that_are_wrong(hub, study):
    repository = hub.repository(DATASET, "datasets")
    for header, said in [("- config_name: a\n  data_files: 'a*'\n- config_name: b\n  data_files: 'b*'\n",
                          "has several configurations, 'a', 'b'; choose one as the corpus's config"),
                         ("- data_files: {a: [[1]]}\n", "its header's data_files: expected patterns"),
                         ("- [x\n", "its header is not YAML")]:  # fmt: skip
        repository.commit("main", {"README.md": card(header), "a.jsonl": lines(A)})
        done = study()
        assert done.code == 3 and said in done.stderr, done.stderr
    repository.commit("main", {"README.md": card("- config_name: a\n  data_files: 'a*'\n"), "a.jsonl": lines(A)})
    assert "has no configuration 'z'; it has 'a'" in study(config="z").stderr


def test_a_gated_dataset(hub, client, study):
    repository = hub.repository(DATASET, "datasets")
    repository.commit("main", {"test.parquet": parquet(A)})
    repository.gated, hub.token, hub.gated_only = True, "hf_SecretOfTheTest", True
    for environment in ({}, {"HF_TOKEN": "hf_wrong"}):
        done = study(split="test", environment=environment)
        assert done.code == 3 and "corpus: org/texts@main: is gated; accept its conditions" in done.stderr, done.stderr
        assert not hub.asked("bytes"), "nothing is spent"
    assert study(split="test", environment={"HF_TOKEN": hub.token}).code == 0


def test_a_server_that_breaks_off(hub, client, study, tmp_path):
    hub.repository(DATASET, "datasets").commit("main", {"test.parquet": parquet(A)})
    hub.plan("bytes", Fault(status=503), Fault(stop_after=10))
    done = study(split="test")
    assert done.code == 0, done.stderr
    assert corpus_of(tmp_path)[1] == digest_of(client, tmp_path, A)


def test_command_line(hub, client, study, tmp_path):
    commit = hub.repository(DATASET, "datasets").commit("main", {"test.parquet": parquet(A), "train.parquet": parquet(B)})
    hub.repository(MODEL).commit("main", model_files())

    def capture(corpus, *more):
        out = tmp_path / f"c{len(list(tmp_path.iterdir()))}"
        return out, client.run("capture", MODEL, "--corpus", corpus, "--field", "tokens", "--out", out, "--context", LENGTH,
                               "--dtype", "float32", *more)  # fmt: skip

    out, done = capture(f"hf://datasets/{DATASET}@{commit}", "--split", "test")
    assert done.code == 0, done.stderr
    assert json.loads((out / "capture.json").read_text())["corpus"] == digest_of(client, tmp_path, A)
    _, done = capture(f"hf://datasets/{DATASET}")
    assert done.code == 3 and "has several splits" in done.stderr
    _, done = capture("texts.jsonl", "--split", "test")
    assert done.code == 2 and "--split and --dataset-config need --corpus hf://datasets/org/name" in done.stderr
    assert engine.run("capture", "--help").stdout.count("--dataset-config") == 1
