"""Shards and merging; the reader of a moments file in the documents."""

import dataclasses
import json
import re
import shutil

import numpy as np
import pandas
import pytest
from safetensors import safe_open

from safetensors.torch import load_file, save_file

import engine
import plain_models
import tiny_models

CONTEXT = 96


class Study:
    def __init__(self, root):
        self.root = root
        self.model = plain_models.write(tiny_models.MODELS["llama_gqa"], root / "model")
        vocabulary = json.loads((self.model / "config.json").read_text())["vocab_size"]
        rng = np.random.default_rng(1)
        texts = [rng.integers(0, vocabulary, rng.integers(40, CONTEXT + 1)).tolist() for _ in range(40)]
        self.corpus = root / "tokens.jsonl"
        self.corpus.write_text("".join(json.dumps({"tokens": t}) + "\n" for t in texts))
        self.whole = self.capture("whole")
        self.even = self.capture("even", "--shard", "0/2")
        self.odd = self.capture("odd", "--shard", "1/2")

    def run(self, out, *options, **changed):
        """A capture; `changed` replaces the usual values of options."""
        usual = dict(model=self.model, corpus=self.corpus, context=CONTEXT, label="tiny", dtype="float32") | changed
        named = [word for name, value in usual.items() if name != "model" for word in (f"--{name}", value)]
        return engine.run("capture", usual["model"], "--out", self.root / out, "--min-tokens", 1, *named, *options)

    def capture(self, out, *options, **changed):
        result = self.run(out, "--quiet", *options, **changed)
        assert result.code == 0, result.stderr
        return self.root / out

    def table(self, *captures, name="one"):
        folder = self.root / "tables" / name
        done = engine.run("analyze", *captures, "--out", folder, "--quiet")
        assert done.code == 0, done.stderr
        return pandas.read_csv(folder / "qk.csv")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("merge"))


def merge(study, out, *captures):
    done = engine.run("merge", *captures, "--out", study.root / out, "--quiet")
    return done, study.root / out


def series(study, name):
    """bands.csv and curves.csv in a table's folder."""
    tables = [pandas.read_csv(study.root / "tables" / name / f"{kind}.csv") for kind in ("bands", "curves")]
    assert all(len(table) > 0 for table in tables)
    return tables


def test_two_halves_are_the_whole(study):
    done, merged = merge(study, "merged", study.even, study.odd)
    assert done.code == 0, done.stderr
    one, two = study.table(study.whole, name="a"), study.table(merged, name="b")
    keys = ["layer", "q_head", "pc", "class", "flag", "n_q", "n_k", "n_blocks"]
    assert one[keys].equals(two[keys])
    for column in ["explained_variance", "r_q", "r_k", "r_q_se", "r_k_se", "explained_variance_se", "pc0_stability"]:
        assert np.abs(one[column] - two[column]).max() <= 1e-6, column
    for first, second in zip(series(study, "a"), series(study, "b"), strict=True):
        pandas.testing.assert_frame_equal(first, second, rtol=1e-6, atol=1e-9)
    done, other = merge(study, "other_order", study.odd, study.even)
    assert done.code == 0
    assert (merged / "moments.safetensors").read_bytes() == (other / "moments.safetensors").read_bytes()


def test_what_one_part_lacks_is_said(study):
    less = study.capture("less", "--shard", "1/2", "--no-pre-rope")
    done = engine.run("merge", study.even, less, "--out", study.root / "without")
    assert done.code == 0 and f"warning: {study.even}: has pre_rope, which another input lacks" in done.stderr, done.stderr
    assert json.loads((study.root / "without" / "capture.json").read_text())["kept"] == {"lags": {"numerics": 8}, "rows": {"numerics": 1, "count": 32}}


def test_merging_holds_one_part_at_a_time(study, tmp_path):
    """Merging eight parts takes no more memory than merging two, up to the size of one or two parts."""
    wide = dict(tiny_models.MODELS["llama_gqa"].config, hidden_size=256, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=64)
    model = plain_models.write(dataclasses.replace(tiny_models.MODELS["llama_gqa"], config=wide), tmp_path / "wide")
    parts = [study.capture(f"eighth{i}", "--shard", f"{i}/8", blocks=256, model=model) for i in range(8)]
    size = (parts[0] / "moments.safetensors").stat().st_size
    assert size > 20e6
    two, eight = (engine.peak_memory(tmp_path / "note", "merge", *parts[:count], "--out", tmp_path / str(count), "--quiet")
                  for count in (2, 8))  # fmt: skip
    assert eight < two + 2 * size
    done = study.table(tmp_path / "8", name="eight")
    pandas.testing.assert_frame_equal(done, study.table(study.capture("at_once", blocks=256, model=model), name="at_once"), rtol=1e-6)


def test_a_missing_part_is_named(study):
    thirds = [study.capture(f"third{i}", "--shard", f"{i}/3") for i in range(3)]

    def said(out, *captures):
        done = engine.run("merge", *captures, "--out", study.root / out, "--log-level", "warning")
        assert done.code == 0, done.stderr
        return done.stderr

    assert re.fullmatch(r"warning: no capture has shard 1/3: .*two_thirds is only a part of the corpus\n", said("two_thirds", thirds[0], thirds[2]))
    assert "no capture has shards 0/3, 2/3:" in said("one_third", thirds[1])
    assert said("later", study.root / "two_thirds", thirds[1]) == ""
    assert "no capture has documents 1, 4, 7, 10, 13 and 8 more:" in said("again", study.root / "two_thirds")


def test_refusals(study, tmp_path):
    def refused(pattern, *captures):
        done, out = merge(study, "refused", *captures)
        assert done.code == 3, done.stderr
        assert re.fullmatch(r"error: .*\n", done.stderr) and re.search(pattern, done.stderr), done.stderr
        assert not out.exists()

    refused("both hold document 0", study.even, study.whole)
    for field, options, changed in [
        ("context", [], dict(context=64)),
        ("blocks", ["--blocks", 4], {}),
        ("heads", ["--heads", 2], {}),
        ("dtype", [], dict(dtype="bfloat16")),
    ]:
        other = study.capture(f"other_{field}", "--shard", "1/2", *options, **changed)
        refused(f"cannot be merged: {field} (is|are) ", study.even, other)
    # Other weights of the same shape.
    twin = tmp_path / "model"
    shutil.copytree(study.model, twin)
    tensors = load_file(twin / "model.safetensors")
    tensors["model.layers.0.self_attn.k_proj.weight"][-1, -1] += 1e-3  # one number, of one head
    save_file(tensors, twin / "model.safetensors")
    refused("weights is '[0-9a-f]+…' and '[0-9a-f]+…'\n", study.even, study.capture("twin", "--shard", "1/2", model=twin))
    # A corpus that changed between two parts: its first document was moved to the end, or one document was edited.
    lines = study.corpus.read_text().splitlines(keepends=True)
    for name, changed in dict(moved=lines[1:] + lines[:1], edited=[*lines[:-1], json.dumps({"tokens": [1] * CONTEXT}) + "\n"]).items():
        corpus = tmp_path / f"{name}.jsonl"
        corpus.write_text("".join(changed))
        refused("shards of different documents", study.even, study.capture(name, "--shard", "1/2", corpus=corpus))


def test_tables_of_a_shard_say_what_it_lacks(study, tmp_path):
    """Its documents fill every other block; merged, they fill all blocks."""
    alone = engine.run("analyze", study.even, "--out", tmp_path / "even")
    said = re.search(r"is shard 0/2: its documents fill (\d+) of (\d+) blocks, so that errors have (\d+) degrees of freedom, not (\d+); merge", alone.stderr)
    assert alone.code == 0 and said, alone.stderr
    filled, blocks, few, all_of_them = map(int, said.groups())
    assert (filled, few, all_of_them) == (blocks // 2, blocks // 2 - 1, blocks - 1)
    assert " is shard " not in engine.run("analyze", study.whole, "--out", tmp_path / "whole").stderr


def test_names_do_not_count(study, tmp_path):
    """A capture can be merged after its label was changed; the current name is used."""
    odd = study.capture("renamed_odd", "--shard", "1/2", label="another")
    done, merged = merge(study, "of_two_names", study.even, odd)
    assert done.code == 0, done.stderr
    assert json.loads((merged / "capture.json").read_text())["label"] == "tiny"
    done, plain = merge(study, "of_one_name", study.even, study.odd)
    assert (merged / "moments.safetensors").read_bytes() == (plain / "moments.safetensors").read_bytes()
    even = tmp_path / "even"
    shutil.copytree(study.even, even)
    description = json.loads((even / "capture.json").read_text())
    (even / "capture.json").write_text(json.dumps({**description, "label": "now", "model": "moved"}))
    done, merged = merge(study, "of_a_new_name", even, study.odd)
    assert done.code == 0, done.stderr
    description = json.loads((merged / "capture.json").read_text())
    assert (description["label"], description["model"]) == ("now", "moved")
    assert set(study.table(merged, name="now")["checkpoint"]) == {"now"}
    assert set(study.table(even, name="even")["model"]) == {"moved"}
    # Moments without a capture.json have the names under which they were measured.
    done, merged = merge(study, "of_files", even / "moments.safetensors", study.odd / "moments.safetensors")
    assert done.code == 0 and json.loads((merged / "capture.json").read_text())["label"] == "tiny"


def test_documents_and_shards_without_end(study, tmp_path):
    """Numbers in a file are checked before anything is counted up to them."""
    path = study.capture("huge", "--shard", "1/2") / "moments.safetensors"
    (path.parent / "capture.json").unlink()  # it has the file's hash
    whole = path.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])

    def write(info=None, last_index=None):
        stated = json.loads(json.dumps(header))
        if info:
            stated["__metadata__"]["ropewalk"] = json.dumps({**json.loads(header["__metadata__"]["ropewalk"]), **info})
        data = bytearray(whole[8 + size :])
        if last_index is not None:
            end = header["document.index"]["data_offsets"][1]
            data[end - 8 : end] = last_index.to_bytes(8, "little")
        text = json.dumps(stated).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(len(text).to_bytes(8, "little") + text + data)
        return engine.run("merge", path.parent, "--out", tmp_path / f"merged{len(list(tmp_path.iterdir()))}")

    result = write(last_index=2**52)
    assert result.code == 0
    assert re.search(r"no capture has documents 0, 2, 4, 6, 8 and 4503599627\d+ more", result.stderr), result.stderr
    refused = write(last_index=2**63 - 1)
    assert refused.code == 3 and f"tensor 'document.index' holds {2**63 - 1}, expected numbers from 0 to {2**52}" in refused.stderr
    refused = write(info={"shard": [1, 2**62]})
    assert refused.code == 3 and "key 'shard'" in refused.stderr
    result = write(info={"shard": [1, 2**31 - 1]})
    assert result.code == 0 and re.search(r"no capture has shards .* and 21474\d+ more", result.stderr), result.stderr


def test_damaged_moments(study, tmp_path):
    path = tmp_path / "moments.safetensors"
    data = (study.even / "moments.safetensors").read_bytes()
    for damaged in [data[:-8], data[:100], b"", data.replace(b'\\"format\\":1', b'\\"format\\":9'), data.replace(b"query.mean", b"query.mead")]:
        assert damaged != data
        path.write_bytes(damaged)
        done = engine.run("analyze", path, "--out", tmp_path / "tables", "--quiet")
        assert done.code == 3 and re.fullmatch(r"error: .*moments.safetensors.*\n", done.stderr), done.stderr
        assert not (tmp_path / "tables" / "qk.csv").exists()


def test_documented_reader(study):
    """The reader printed in docs/moments.md reads a real file."""
    text = (engine.repository() / "docs" / "moments.md").read_text()
    code = next(block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "moments.safetensors" in block)
    assert len(code.strip().splitlines()) <= 20
    scope = {}
    exec(code.replace("moments.safetensors", str(study.whole / "moments.safetensors")), scope)
    table = study.table(study.whole, name="e")
    pc0 = table[table.pc == 0].set_index(["layer", "q_head"])
    read = scope["table"].set_index(["layer", "q_head"])
    for column in ("explained_variance", "r_q", "r_k"):
        assert np.abs(read[column] - pc0[column]).max() < 1e-6


def test_moments_are_exact(study):
    """Counts, documents and totals in the file itself."""
    with safe_open(study.whole / "moments.safetensors", "np") as file:
        info = json.loads(file.metadata()["ropewalk"])
        blocks = file.get_tensor("block.tokens")
        assert info["tokens"] == blocks.sum() and info["documents"] == len(file.get_tensor("document.index")) == 40
        lengths = [len(json.loads(line)["tokens"]) for line in study.corpus.read_text().splitlines()]
        for b in range(info["blocks"]):
            assert blocks[b] == sum(lengths[b :: info["blocks"]])
