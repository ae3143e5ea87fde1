"""What happens between two runs: nothing stale, nothing mixed."""

import json
import mmap
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

import numpy as np
import pytest

import engine
import tiny_models
from trust_study import DOCUMENTS, LENGTH, YARN, Study, base_name, good, inodes, labels, mark, numbers, pristine, study, tables, write_model  # noqa: F401


def write_tokenizer(folder, **words):
    """One token per letter; `words`: names for some of the vocabulary's entries."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {f"w{i}": i for i in range(tiny_models.VOCAB)}
    for old, new in words.items():
        vocabulary[new] = vocabulary.pop(old)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token=None))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))


def check_against_fresh(study, tmp_path, exactly=True):
    """Runs again after an edit, and afresh: the same numbers, and measured again where they changed.

    `exactly`: and only there. Some settings may change numbers and do not for a model as small as this.
    """
    out, fresh = study.root / "out", tmp_path / "fresh"
    before, old = numbers(out), inodes(out)
    again = good(study.run(out))
    good(study.run(fresh))
    assert tables(out) == tables(fresh)
    now = inodes(out)
    for name, digest in numbers(fresh).items():
        changed = before.get(name) != digest
        measured = old.get(name) != now[name]
        assert measured == changed if exactly else measured >= changed, f"{name}: {again.stderr}"
        if changed and name in before:
            said = again.stderr
            assert f"{name}: measured again: " in said or "documents are there already" in said or "beside what is there" in said
    return again


CONFIG_EDITS = [
    dict(rms_norm_eps=1e-2), dict(hidden_act="gelu"), dict(initializer_range=0.3), dict(max_position_embeddings=256),
    dict(rope_parameters__beta_fast=4.0), dict(rope_parameters__beta_slow=0.5), dict(rope_parameters__attention_factor=1.3),
    dict(rope_parameters__attention_factor=None), dict(rope_parameters__truncate=False), dict(rope_parameters__factor=2.0),
    dict(rope_parameters__rope_theta=5000.0), dict(rope_parameters__original_max_position_embeddings=8),
    dict(rope_parameters__rope_type="linear"), dict(rope_parameters__rope_type="default"),
    dict(rope_parameters__mscale=1.0, rope_parameters__mscale_all_dim=0.5, rope_parameters__attention_factor=None),
    dict(rope_parameters={**YARN, "rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}),
    dict(bos_token_id=5), dict(torch_dtype="bfloat16"), dict(transformers_version="0"), dict(num_attention_heads=2, head_dim=24),
]  # fmt: skip


@pytest.mark.parametrize("edit", CONFIG_EDITS, ids=lambda edit: ",".join(edit))
def test_an_edit_of_the_config(study, tmp_path, edit):
    try:
        study.edit_config(**edit)
        fits = engine.run("inspect", study.root / "A", "--context", LENGTH).code == 0
    except KeyError:
        fits = False
    if not fits:
        assert study.run(study.root / "out").code == 3
        return
    check_against_fresh(study, tmp_path, exactly=not any("rope_parameters" in key for key in edit))


FAMILY_EDITS = [
    ("gemma3_text", dict(query_pre_attn_scalar=7)),
    ("gpt_neox", dict(use_parallel_residual=False)),
    ("ministral3", dict(rope_parameters__llama_4_scaling_beta=0.9)),
    ("granite", dict(residual_multiplier=0.3)),
    ("gemma2", dict(attn_logit_softcapping=0.5)),
    ("olmo", dict(clip_qkv=0.01)),
    ("mixtral", dict(num_experts_per_tok=1)),
    ("smollm3", dict(no_rope_layers=[0, 1, 1, 1, 0])),
]


@pytest.mark.parametrize("family, edit", FAMILY_EDITS, ids=[family for family, _ in FAMILY_EDITS])
def test_an_edit_that_only_one_family_knows(tmp_path, family, edit):
    study = Study(tmp_path / "study")
    shutil.rmtree(study.root / "A")
    base = next(name for name, model in tiny_models.MODELS.items() if model.model_type == family)
    write_model(study.root / "A", 0, base, num_hidden_layers=tiny_models.MODELS[base].config["num_hidden_layers"])
    study.write(sliding=True)
    good(study.run(study.root / "out"))
    study.edit_config(**edit)
    before = numbers(study.root / "out")
    check_against_fresh(study, tmp_path)
    assert numbers(study.root / "out") != before


def test_a_byte_in_the_middle_of_every_tensor(study, tmp_path):
    path = study.root / "A" / "model.safetensors"
    whole = path.read_bytes()
    header = int.from_bytes(whole[:8], "little")
    entries = json.loads(whole[8 : 8 + header])
    out = study.root / "out"
    changed = {}
    for name, tensor in entries.items():
        if name == "__metadata__":
            continue
        begin, end = tensor["data_offsets"]
        middle = 8 + header + (begin + end) // 2 // 4 * 4 + 2
        with open(path, "r+b") as file:  # in place: same size, same inode; on top of the changes before
            file.seek(middle)
            file.write(bytes([whole[middle] ^ 0x20]))
        old = inodes(out)
        result = good(study.run(out))
        changed[name] = old["A"] != inodes(out)["A"]
        assert old["init"] == inodes(out)["init"]
        assert changed[name] == ("A: measured again: the weights changed" in result.stderr)
    # All that the measured heads depend on, and nothing else: what follows the last queries and keys is never used.
    unused = {name for name in entries if "layers.1." in name and any(x in name for x in ("v_proj", "o_proj", "mlp", "post_att"))}
    unused |= {"model.norm.weight", "lm_head.weight"} & entries.keys()
    assert {name for name, hit in changed.items() if not hit} == unused
    good(study.run(out))
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh")


def test_hashes_are_remembered_until_the_file_is_written_to(study, tmp_path):
    """Old enough to be remembered; then a byte is changed and the time set back, which leaves the time of the change."""
    path = study.root / "A" / "model.safetensors"
    environment = {"ROPEWALK_CACHE": str(tmp_path / "cache")}
    time.sleep(max(0, path.stat().st_ctime + 3.1 - time.time()))
    good(study.run(study.root / "out", environment=environment))
    remembered = list((tmp_path / "cache" / "weights").glob("*.json"))
    assert len(remembered) == 1 and "tensors" in json.loads(remembered[0].read_text())
    status = path.stat()
    with open(path, "r+b") as file:
        file.seek(status.st_size // 2)
        byte = file.read(1)[0]
        file.seek(status.st_size // 2)
        file.write(bytes([byte ^ 0x20]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    result = good(study.run(study.root / "out", environment=environment))
    assert "A: measured again: the weights changed" in result.stderr
    remembered[0].write_text("{")
    good(study.run(study.root / "out", environment=environment))


def test_weights_in_memory_are_read_each_time(study, tmp_path):
    """On tmpfs, what a program writes through a mapping leaves all times of a file as they were."""
    path = study.root / "A" / "model.safetensors"
    environment = {"ROPEWALK_CACHE": str(tmp_path / "cache")}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        kept = shutil.copy(path, folder)
        path.unlink()
        path.symlink_to(kept)
        time.sleep(3.1)
        good(study.run(study.root / "out", environment=environment))
        with open(kept, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            mapped[len(mapped) // 2] ^= 0x20
        result = good(study.run(study.root / "out", environment=environment))
    assert "A: measured again: the weights changed" in result.stderr
    assert not (tmp_path / "cache" / "weights").exists()


CORPUS = {"path": "corpus.jsonl", "documents": DOCUMENTS}
EXPERIMENT_EDITS = {
    "name": dict(name="Other"),
    "path": dict(corpus={**CORPUS, "path": "others.jsonl"}),
    "path to the same": dict(corpus={**CORPUS, "path": "same.jsonl"}),
    "field": dict(corpus={**CORPUS, "field": "others"}),
    "id": dict(corpus={**CORPUS, "id": "name"}),
    "fewer documents": dict(corpus={"path": "corpus.jsonl", "documents": 9}),
    "min_tokens": dict(corpus={"path": "corpus.jsonl", "documents": DOCUMENTS, "min_tokens": LENGTH - 1}),
    "heads": dict(heads={"count": 5}),
    "seed of heads": dict(heads={"count": 5, "seed": 1}),
    "tokenizer": dict(tokenizer="tokenizer.json"),
    "model": dict(model="models"),
    "dtype": dict(dtype="bfloat16"),
    "device": dict(device="cpu"),
    "memory": dict(memory="1GiB"),
    "blocks": dict(blocks=5),
    "sliding": dict(sliding=True),
    "pre_rope": dict(pre_rope=False),
    "plasticity": dict(plasticity=True),
    "loss": dict(loss=True),
    "vectors": dict(vectors="uniform"),
    "components": dict(components=2),
    "portraits": dict(portraits=["A"]),
    "axis": dict(axis="log-steps", phases=[{"name": "P", "context": LENGTH, "checkpoints": [
        {"label": "init", "random": 0}, {"label": "A", "path": "A", "step": 5}]}]),
    "figures": dict(figures={"statistics": ["r2cv_q"], "portraits": [["r_q", "r2cv_q"]], "distance": ["L0H1"]}),
    "chunk": dict(corpus={"path": "corpus.jsonl", "documents": DOCUMENTS, "chunk": True}),
}


def write_others(study):
    """Beside the tokens: others of the same length in another field and file, names, a tokenizer, a folder of models."""
    others = [row[::-1] for row in study.rows]
    rows = [{"tokens": row, "others": other, "name": f"n{i}"} for i, (row, other) in enumerate(zip(study.rows, others))]
    (study.root / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (study.root / "same.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (study.root / "others.jsonl").write_text("".join(json.dumps({"tokens": other}) + "\n" for other in others))
    write_tokenizer(study.root)
    (study.root / "models").mkdir()
    write_model(study.root / "models" / "step-1", 3, base_name(), rope_parameters=YARN)
    (study.root / "models" / "step-2").symlink_to(study.root / "A")


# What a setting of the experiment changes in words only, or in what is written beside the numbers.
KEPT = ("name", "path to the same", "id", "min_tokens", "device", "memory", "components", "portraits", "axis", "figures", "tokenizer", "model", "pre_rope")


@pytest.mark.parametrize("edit", EXPERIMENT_EDITS)
def test_an_edit_of_the_experiment(study, tmp_path, edit):
    write_others(study)
    old = inodes(study.root / "out")
    study.write(**EXPERIMENT_EDITS[edit])
    # Vectors have to be written, and cut texts may have other blocks.
    exactly = edit not in ("vectors", "chunk")
    result = check_against_fresh(study, tmp_path, exactly) if edit not in ("name", "pre_rope") else None
    if edit == "pre_rope":  # a capture that keeps more than is wanted will do
        good(study.run(study.root / "out"))
    if edit == "name":
        refused = study.run(study.root / "out")
        assert refused.code == 0, "its own file, under another name"
        good(study.run(tmp_path / "fresh"))
        assert tables(study.root / "out") == tables(tmp_path / "fresh")
        assert b"Other" in (study.root / "out" / "figures" / "position_signal.vl.json").read_bytes()
    if edit == "fewer documents":
        assert "documents: 12 → 9" in result.stderr
    if edit == "axis":  # which `report` reads there
        assert json.loads((study.root / "out" / "manifest.json").read_text())["settings"]["axis"] == "log-steps"
    if edit not in ("sliding", "vectors", "chunk"):  # of no consequence for a model as small as this
        assert (inodes(study.root / "out") == old) == (edit in KEPT)


def test_a_dry_run_says_why_and_touches_nothing(study):
    out = study.root / "out"
    before = {path: mark(path) for path in out.rglob("*")}
    for edit, why in (dict(blocks=5), "blocks: 4 → 5"), (dict(corpus={**CORPUS, "documents": 9}), "documents: 12 → 9, which"):
        study.write(**edit)
        assert good(study.run(out, "--dry-run")).stdout.count(f"measure ({why}") == 2
    assert {path: mark(path) for path in out.rglob("*")} == before


def test_other_numerics_measure_again(study):
    """As a capture says that an older program made."""
    out = study.root / "out"
    description = out / "checkpoints" / "A" / "capture.json"
    info = json.loads(description.read_text())
    description.write_text(json.dumps({**info, "numerics": info["numerics"] - 1}))
    old, whole = inodes(out), tables(out)
    result = good(study.run(out))
    assert f"A: measured again: numerics: {info['numerics'] - 1} → {info['numerics']}" in result.stderr
    assert inodes(out)["A"] != old["A"] and inodes(out)["init"] == old["init"] and tables(out) == whole


PHASE_EDITS = {
    "context": dict(context=LENGTH - 3),
    "contexts": dict(context=[LENGTH - 3, LENGTH]),
    "theta": dict(config={"rope_theta": 77.0}),
    "name": dict(name="Q"),
    "seed": dict(checkpoints=[{"label": "init", "random": 1}, {"label": "A", "path": "A"}]),
    "order": dict(checkpoints=[{"label": "A", "path": "A"}, {"label": "init", "random": 0}]),
    "scaling": dict(config={"rope_scaling": {**YARN, "factor": 3.0}}),
    "longest": dict(config={"max_position_embeddings": 4 * LENGTH}),
    "window": dict(config={"sliding_window": None}),
    "label": dict(checkpoints=[{"label": "init", "random": 0}, {"label": "B", "path": "A"}]),
    "path": dict(checkpoints=[{"label": "init", "random": 0}, {"label": "A", "path": "models/step-1"}]),
    "time": dict(checkpoints=[{"label": "init", "random": 0}, {"label": "A", "path": "A", "step": 7, "tokens": 9000}]),
    "revision": dict(checkpoints=[{"label": "init", "random": 0}, {"label": "A", "revision": "step-2"}]),
    "revisions": dict(checkpoints=None, revisions="step-*"),
}


@pytest.mark.parametrize("edit", PHASE_EDITS)
def test_an_edit_of_a_phase(study, tmp_path, edit):
    write_others(study)
    phase = {**study.settings["phases"][0], **PHASE_EDITS[edit]}
    study.write(model="models", phases=[{key: value for key, value in phase.items() if value is not None}])
    check_against_fresh(study, tmp_path)


def test_every_key_of_an_experiment_is_edited():
    """Keys as the parser spells them, by the function that reads them."""
    study = engine.repository() / "ropewalk" / "study"
    source = "".join((study / f"experiment{part}.cpp").read_text() for part in ("", "_checkpoint", "_corpus", "_phases"))
    # test_datasets, test_published, test_hub, test_several_models, test_ablate
    elsewhere = {"read_corpus": {"dataset"}, "read_checkpoint": {"subfolder", "vectors"}, "read_experiment": {"models", "ablate"}}
    key = r'\{"(\w+)",\s*(?:\[&\]|keep)'
    parts = re.split(r"\n\w[\w:]* (read_\w+)\(", source)
    known = {name: set(re.findall(key, text)) for name, text in zip(parts[1::2], parts[2::2])}
    known = {name: keys - elsewhere.get(name, set()) for name, keys in known.items() if keys and name != "read_model"}
    table = (engine.repository() / "ropewalk" / "moments" / "keep_options.h").read_text()
    known["read_experiment"] |= set(re.findall(r'\{"(\w+)",\s*&KeepOptions::', table))
    phases = [edit for edit in PHASE_EDITS.values()]
    checkpoints = [one for edit in phases for one in edit.get("checkpoints") or []]

    def keys(settings, *outer):
        for name in outer:
            settings = [one[name] for one in settings if one.get(name)]
        return {key for one in settings for key in one}

    edits = [*EXPERIMENT_EDITS.values(), {"phases": PHASE_EDITS}]  # and test_an_edit_of_a_phase
    assert known == {
        "read_experiment": keys(edits), "read_corpus": keys(edits, "corpus"),
        "read_heads": keys(edits, "heads"), "read_phase": keys(phases), "read_config": keys(phases, "config"),
        "read_checkpoint": keys(checkpoints), "read_figures": keys(edits, "figures"),
    }  # fmt: skip


def test_an_edit_of_a_document_and_of_their_order(study, tmp_path):
    rows = [list(row) for row in study.rows]
    rows[3][5] = (rows[3][5] + 1) % tiny_models.VOCAB
    study.write_corpus(rows)
    assert "other documents" in check_against_fresh(study, tmp_path).stderr
    study.write_corpus([rows[1], rows[0], *rows[2:]])
    good(study.run(study.root / "out"))
    good(study.run(tmp_path / "swapped"))
    assert tables(study.root / "out") == tables(tmp_path / "swapped")
    study.write_corpus([rows[1], rows[0], *rows[2:DOCUMENTS], *([[1] * LENGTH])])  # one that is not read
    old = inodes(study.root / "out")
    good(study.run(study.root / "out"))
    assert inodes(study.root / "out") == old


def test_ids_count_where_vectors_are_written(study, tmp_path):
    def write(first):
        lines = [json.dumps({"id": first + i, "tokens": row}) + "\n" for i, row in enumerate(study.rows)]
        (study.root / "corpus.jsonl").write_text("".join(lines))

    write(100)
    out = study.root / "out"
    old = inodes(out)
    good(study.run(out))
    assert inodes(out) == old, "without vectors, ids are nowhere"
    study.write(vectors="all")
    good(study.run(out))
    write(200)
    good(study.run(out))
    assert set(engine.read_streams(out / "checkpoints" / "A")[0, 0, "q"]) == set(range(200, 200 + DOCUMENTS))


def test_more_documents_read_only_the_new_ones(study, tmp_path):
    study.write(corpus={"path": "corpus.jsonl", "documents": 16})
    result = good(study.run(study.root / "out"))
    assert "A: 12 of 16 documents are there already" in result.stderr
    good(study.run(tmp_path / "fresh"))
    ours, theirs = (np.genfromtxt(out / "qk.csv", delimiter=",", names=True, dtype=None, encoding=None)
                    for out in (study.root / "out", tmp_path / "fresh"))  # fmt: skip
    for name in ("explained_variance", "r_q", "r_k"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-8)
    for name in ("r_q_se", "r_k_se", "explained_variance_se"):  # blocks of a file are rounded to float32
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4, atol=1e-7)
    assert (ours["n_q"] == theirs["n_q"]).all()
    again = good(study.run(study.root / "out"))
    assert again.stderr.count("measured already") == 2


def test_a_capture_that_goes_on_has_read_these_documents(tmp_path):
    """A state of other documents is not counted as done."""
    study = Study(tmp_path / "study")
    study.write_corpus(study.rows * 400)
    study.write(corpus={"path": "corpus.jsonl"})
    out = tmp_path / "out"
    process = subprocess.Popen([engine.program(), "run", study.root / "study.yaml", "--out", out, "--format", "json", "--quiet"])
    while process.poll() is None and not (out / "checkpoints" / ".A.state").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert "documents done" in good(study.run(out, "--dry-run")).stdout
    study.write_corpus(list(reversed(study.rows)) * 400)
    assert "documents done" not in good(study.run(out, "--dry-run")).stdout


def test_the_tokenizer_of_another_checkpoint_is_named(tmp_path):
    study = Study(tmp_path / "study", ("A", "B"))
    for model in ("A", "B"):
        write_tokenizer(study.root / model)
    assert "the tokenizer is" not in good(study.run(tmp_path / "whole")).stderr
    (study.root / "A").rename(tmp_path / "unmounted")
    result = study.run(tmp_path / "out", "--keep-going")
    assert result.code == 3 and "the tokenizer is that of 'B', as 'A' could not be opened" in result.stderr


def test_a_tokenizer_counts_where_tokens_change(tmp_path):
    study = Study(tmp_path / "study")

    def write(**words):
        write_tokenizer(study.root / "A", **words)

    letters = {f"w{i}": chr(97 + i) for i in range(26)}
    texts = ["".join(random.Random(i).choices("abcdefghij", k=LENGTH + 5)) for i in range(16)]
    (study.root / "corpus.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    write(**letters)
    good(study.run(study.root / "out"))
    old = inodes(study.root / "out")
    write(**{**letters, "w30": "Z"})  # a letter that no text holds
    good(study.run(study.root / "out"))
    assert inodes(study.root / "out") == old
    write(**{**letters, "w0": "b", "w1": "a"})
    check_against_fresh(study, tmp_path)
    now = inodes(study.root / "out")
    assert now != old
    # By its own key, another file of the same tokens, and one of others.
    write_tokenizer(study.root, **{**letters, "w0": "b", "w1": "a", "w30": "Z"})
    study.write(tokenizer="tokenizer.json")
    good(study.run(study.root / "out"))
    assert inodes(study.root / "out") == now
    write_tokenizer(study.root, **letters)
    assert "other documents" in good(study.run(study.root / "out")).stderr
    good(study.run(tmp_path / "named"))
    assert tables(study.root / "out") == tables(tmp_path / "named")


# Names


def test_renamed_swapped_and_moved_checkpoints_are_reused(tmp_path):
    study = Study(tmp_path / "study", ("A", "B"))
    out = study.root / "out"
    good(study.run(out))
    old = inodes(out)
    labels(study, ("first", "A"), ("B", "B"))
    good(study.run(out))
    assert inodes(out) == {"init": old["init"], "first": old["A"], "B": old["B"]}
    assert json.loads((out / "checkpoints" / "first" / "capture.json").read_text())["label"] == "first"
    labels(study, ("B", "A"), ("first", "B"))
    good(study.run(out))
    assert inodes(out) == {"init": old["init"], "B": old["A"], "first": old["B"]}
    (study.root / "A").rename(study.root / "elsewhere")
    labels(study, ("first", "B"), ("B", "elsewhere"))
    result = good(study.run(out))
    assert inodes(out) == {"init": old["init"], "B": old["A"], "first": old["B"]}
    assert result.stderr.count("measured already") == 3
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh")


def test_what_nothing_refers_to_is_listed_and_pruned(tmp_path):
    study = Study(tmp_path / "study", ("A", "B"))
    out = study.root / "out"
    good(study.run(out))
    labels(study, ("A", "A"))
    result = good(study.run(out))
    assert "checkpoints/B: nothing refers to it any more; --prune removes it" in result.stderr
    assert (out / "checkpoints" / "B").exists()
    (out / "checkpoints" / "mine").mkdir()
    (out / "checkpoints" / "mine" / "notes.txt").write_text("mine")
    good(study.run(out, "--prune"))
    assert sorted(path.name for path in (out / "checkpoints").iterdir()) == ["A", "init", "mine"]


def test_long_work_is_moved_aside(study):
    """It is named, never read again, and found where it is moved back by hand."""
    out = study.root / "out"
    old = inodes(out)["A"]
    description = out / "checkpoints" / "A" / "capture.json"
    description.write_text(json.dumps({**json.loads(description.read_text()), "seconds": 100}))
    study.write(blocks=5)
    said = good(study.run(out)).stderr
    (kept,) = (out / "replaced").glob("????-??-??/A")
    size = sum(file.stat().st_size for file in kept.rglob("*"))
    (line,) = [line for line in said.splitlines() if "moved to" in line]
    assert f"{out}/checkpoints/A: moved to {kept} (" in line and line.endswith("); --prune removes it") and size > 1024
    assert mark(kept / "moments.safetensors") == old
    study.write()
    good(study.run(out))
    assert inodes(out)["A"] != old and mark(kept / "moments.safetensors") == old
    study.write(blocks=5)
    good(study.run(out))
    kept.rename(out / "checkpoints" / "again")
    study.write()
    good(study.run(out))
    assert inodes(out)["A"] == old, "the settings of before: nothing is measured"
