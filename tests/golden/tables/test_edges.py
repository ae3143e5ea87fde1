"""edges.csv: what heads link, with the words around it, from capture to table and page."""

import csv
import json

import numpy as np
import pandas
import pytest
from safetensors.numpy import load_file

import engine
import plain_models
import tiny_models

CONTEXT, DOCUMENTS = 60, 5
# Among the words are those that a table or a page might take for something else.
STRANGE = ["<script>alert(1)</script>", "=1+1", 'say"it"', "a,b", "line\nend", "\u202eturned", "&amp;", "-", "é"]


def write_tokenizer(path):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = STRANGE + [f"w{i}" for i in range(90 - len(STRANGE))]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("|", "removed")
    tokenizer.decoder = decoders.Sequence([decoders.Fuse()])
    path.write_text(tokenizer.to_str())
    return words


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    root = tmp_path_factory.mktemp("edges")
    model = plain_models.write(tiny_models.MODELS["llama_gqa"], root / "model")
    words = write_tokenizer(root / "tokenizer.json")
    rng = np.random.default_rng(4)
    texts = [rng.integers(0, len(words), CONTEXT).tolist() for _ in range(DOCUMENTS)]
    (root / "corpus.jsonl").write_text("".join(json.dumps({"text": "|".join(words[i] for i in text)}) + "\n" for text in texts))
    (root / "study.yaml").write_text(json.dumps({
        "name": "Edges", "corpus": {"path": "corpus.jsonl"}, "tokenizer": "tokenizer.json", "dtype": "float32", "components": 2, "blocks": 2, "rows": "all",
        "phases": [{"name": "P", "context": CONTEXT, "checkpoints": [{"label": "init", "random": 0}, {"label": "A", "path": model.name}]}],
    }))  # fmt: skip
    done = engine.run("run", root / "study.yaml", "--out", root / "out", "--format", "json")
    assert done.code == 0, done.stderr
    return root, words, texts


def visible(text):
    return text.replace("\n", "\\n").replace("\u202e", "\\u{202e}")


def guarded(text):
    return "'" + text if text.lstrip("'")[:1] in tuple("=+-@\t\r") else text


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_words_are_those_of_the_documents(study):
    root, words, texts = study
    rows = read(root / "out" / "edges.csv")
    heads = pandas.read_csv(root / "out" / "heads.csv")
    assert len(rows) == len(heads) * 2 * DOCUMENTS, "two of each head and document"
    for row in rows:
        ids, t, key = texts[int(row["document"])], int(row["t"]), int(row["key"])
        assert 4 <= key < t and int(row["distance"]) == t - key and 0 < float(row["p"]) <= 1
        assert (int(row["query_id"]), int(row["key_id"])) == (ids[t], ids[key])
        for name, at in (("query", t), ("key", key)):
            before, after = ("".join(visible(words[i]) for i in part) for part in (ids[max(0, at - 12) : at], ids[at + 1 : at + 13]))
            found = [row[f"{name}_{part}"] for part in ("before", "text", "after")]
            assert found == [guarded(text) for text in (before, visible(words[ids[at]]), after)]
    order = [(row["checkpoint"], int(row["layer"]), int(row["q_head"]), -float(row["p"])) for row in rows]
    assert order == sorted(order, key=lambda one: (["init", "A"].index(one[0]), *one[1:]))


def test_they_are_those_of_the_capture(study):
    root, _, _ = study
    tensors = load_file(root / "out" / "checkpoints" / "A" / "moments.safetensors")
    rows = [row for row in read(root / "out" / "edges.csv") if row["checkpoint"] == "A"]
    for i, (layer, head) in enumerate(zip(tensors["query.layer"], tensors["query.head"])):
        own = [row for row in rows if (int(row["layer"]), int(row["q_head"])) == (layer, head)]
        stored = tensors["rows.query.edges"][i].reshape(24, 4)
        stored = stored[stored[:, 3] > 0]
        assert [[float(row[name]) for name in ("document", "t", "key")] for row in own] == stored[:, :3].tolist()
        assert np.allclose([float(row["p"]) for row in own], stored[:, 3], rtol=1e-8)


def test_analyze_finds_the_tokenizer_or_does_without(study, tmp_path):
    root, _, _ = study
    capture = ["capture", root / "model", "--corpus", root / "corpus.jsonl", "--context", CONTEXT, "--dtype", "float32", "--rows", "all", "--quiet"]
    done = engine.run(*capture, "--tokenizer", root / "tokenizer.json", "--out", tmp_path / "capture")
    assert done.code == 0, done.stderr
    assert engine.run("analyze", tmp_path / "capture", "--out", tmp_path / "tables", "--quiet").code == 0
    texts = lambda folder: [{key: value for key, value in row.items() if key.startswith(("query_", "key_"))} for row in read(folder / "edges.csv")]
    known = texts(tmp_path / "tables")
    assert known == [row for row, full in zip(texts(root / "out"), read(root / "out" / "edges.csv")) if full["checkpoint"] == "A"]
    # Another tokenizer must not say what these tokens mean.
    described = tmp_path / "capture" / "capture.json"
    described.write_text(described.read_text().replace(json.loads(described.read_text())["tokenizer"], "0" * 64))
    done = engine.run("analyze", tmp_path / "capture", "--out", tmp_path / "others")
    assert done.code == 0, done.stderr
    assert all(row["query_text"] == row["key_after"] == "" and row["query_id"] for row in texts(tmp_path / "others"))


def test_an_edge_that_is_none_is_refused(study, tmp_path):
    import shutil

    from safetensors import safe_open
    from safetensors.numpy import save_file

    root, _, _ = study
    with safe_open(root / "out" / "checkpoints" / "A" / "moments.safetensors", "numpy") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    for position, wrong in ((0, -1), (0, 1e300), (1, CONTEXT + 1), (1, 2.5), (2, 59), (3, 1.5), (3, np.nan)):
        edges = tensors["rows.query.edges"].copy()
        edges[0, position] = wrong
        save_file({**tensors, "rows.query.edges": edges}, tmp_path / "moments.safetensors", metadata)
        done = engine.run("analyze", tmp_path / "moments.safetensors", "--out", tmp_path / "tables", "--quiet")
        assert done.code == 3 and "rows.query.edges" in done.stderr, (position, wrong, done.stderr)
    tokens = tensors["rows.query.edge_tokens"].astype(np.float64)
    tokens[0, 0] = -3
    save_file({**tensors, "rows.query.edge_tokens": tokens}, tmp_path / "moments.safetensors", metadata)
    done = engine.run("analyze", tmp_path / "moments.safetensors", "--out", tmp_path / "tables", "--quiet")
    assert done.code == 3 and "rows.query.edge_tokens" in done.stderr
    shutil.rmtree(tmp_path / "tables", ignore_errors=True)


def test_none_stays_where_there_are_none(study, tmp_path):
    """Tables of captures without rows leave no edges of others beside them."""
    root, _, _ = study
    capture = ["capture", root / "model", "--corpus", root / "corpus.jsonl", "--tokenizer", root / "tokenizer.json", "--context", CONTEXT, "--dtype", "float32", "--quiet"]
    for rows in ("4", "0"):
        done = engine.run(*capture, "--rows", rows, "--out", tmp_path / rows)
        assert done.code == 0, done.stderr
    for rows, there in (("4", True), ("0", False)):
        assert engine.run("analyze", tmp_path / rows, "--out", tmp_path / "tables", "--quiet").code == 0
        assert (tmp_path / "tables" / "edges.csv").exists() == there
