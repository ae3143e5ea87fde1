"""Bad corpora, tokenizers and command lines, unreadable files and full disks."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

import engine
from breakable import INPUT, SYSTEM, USAGE, VOCAB, WEIGHTS, assert_one_line, fails, setup  # noqa: F401

# The set-up works, so that a failure below has exactly one reason


def test_unbroken(setup):
    result = setup.run()
    assert (result.code, result.stderr) == (0, "")
    assert (setup.out / "vectors/l01h03q/data.parquet").is_file()
    assert os.listdir(setup.parent) == ["out"]
    assert os.listdir(setup.scratch) == []


def test_unbroken_shards(setup):
    setup.shard()
    result = setup.run()
    assert (result.code, result.stderr) == (0, "")


# Corpora of token ids


def line(**document):
    return json.dumps(document).encode() + b"\n"


CORPORA = {
    "id beyond the vocabulary": (line(id=5, tokens=[1, VOCAB, 2]), rf"\b{VOCAB}\b"),
    "id far beyond the vocabulary": (line(id=5, tokens=[1, 2**31, 2]), "2147483648"),
    "id beyond 64 bits": (line(id=5, tokens=[1, 2**64 + 1]), r"tokens\.jsonl.*1"),
    "id negative": (line(id=5, tokens=[1, -1]), "-1"),
    "id fractional": (line(id=5, tokens=[1, 2.5]), r"tokens\.jsonl.*1"),
    "id is text": (line(id=5, tokens=[1, "2"]), r"tokens\.jsonl.*1"),
    "bad id in the second document": (line(id=5, tokens=[1] * 9) + line(id=6, tokens=[VOCAB + 7]), rf"\b{VOCAB + 7}\b"),
    "tokens is a number": (line(id=5, tokens=7), r"tokens\.jsonl.*1"),
    "neither tokens nor text": (line(id=5, words=[1, 2]), r"tokens\.jsonl.*1"),
    "line is a list": (b"[1, 2]\n", r"tokens\.jsonl.*1"),
    "line is not JSON": (line(id=5, tokens=[1]) + b"{oops\n", r"tokens\.jsonl.*2"),
    "line has NaN": (b'{"id": NaN, "tokens": [1, 2]}\n', r"tokens\.jsonl.*1"),
    "line is not UTF-8": (b'{"id": "\xff\xfe", "tokens": [1, 2]}\n', r"tokens\.jsonl.*1"),
    "empty document": (line(id=5, tokens=[]), r"tokens\.jsonl"),
    "no documents": (b"", r"tokens\.jsonl"),
    "blank lines": (b"\n\n", r"tokens\.jsonl"),
}


@pytest.mark.parametrize("case", CORPORA)
def test_corpus(setup, case):
    text, pattern = CORPORA[case]
    setup.corpus.write_bytes(text)
    fails(setup, INPUT, pattern)


def test_documents_too_short(setup):
    """The message states the length of the longest document."""
    setup.write_corpus([dict(id=1, tokens=[1] * 11), dict(id=2, tokens=[2] * 13)])
    result = engine.run("capture", setup.model, "--corpus", setup.corpus, "--out", setup.out, "--context", 48,
                        "--min-tokens", 40, "--vectors", "all", "--quiet")  # fmt: skip
    assert_one_line(result, (INPUT,), r"\b13\b", setup.root)
    assert os.listdir(setup.parent) == []


def test_corpus_of_unknown_format(setup):
    setup.corpus = setup.corpus.rename(setup.corpus.with_suffix(".docx"))
    fails(setup, (USAGE, INPUT), r"tokens\.docx")


# Corpora of text, and tokenizers

TOKENIZER = dict(
    version="1.0", truncation=None, padding=None, added_tokens=[], normalizer=None, post_processor=None, decoder=None,
    pre_tokenizer=dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True),
    model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None,
               fuse_unk=False, byte_fallback=False, merges=[],
               vocab={letter: index for index, letter in enumerate("abcdefghijĠ")}),
)  # fmt: skip


def use_text(setup, text: bytes, tokenizer):
    setup.corpus = setup.corpus.with_name("corpus.txt")
    setup.corpus.write_bytes(text)
    if tokenizer is not None:
        content = tokenizer if isinstance(tokenizer, bytes) else json.dumps(tokenizer).encode()
        (setup.model / "tokenizer.json").write_bytes(content)


def test_unbroken_text(setup):
    use_text(setup, b"abc def a bad cab", TOKENIZER)
    result = setup.run()
    assert (result.code, result.stderr) == (0, "")


TOKENIZERS = {
    "none": (None, r"tokenizer\.json"),
    "not JSON": (b"{", r"tokenizer\.json"),
    "not UTF-8": (b'{"version": "\xff"}', r"tokenizer\.json"),
    "no model": ({key: TOKENIZER[key] for key in TOKENIZER if key != "model"}, "model"),
    "unknown model": (dict(TOKENIZER, model=dict(TOKENIZER["model"], type="Quantum")), r"tokenizer\.json: .*Model"),
    "unknown normalizer": (dict(TOKENIZER, normalizer=dict(type="Scramble")), r"tokenizer\.json: .*Normalizer"),
    "unknown pre-tokenizer": (dict(TOKENIZER, pre_tokenizer=dict(type="Slice")), r"tokenizer\.json: .*PreTokenizer"),
    "unknown post-processor": (dict(TOKENIZER, post_processor=dict(type="Polish")), r"tokenizer\.json: .*PostProcessor"),
    "id beyond the model's vocabulary": (
        dict(TOKENIZER, model=dict(TOKENIZER["model"], vocab=dict(TOKENIZER["model"]["vocab"], a=VOCAB + 3))),
        rf"\b{VOCAB + 3}\b",
    ),
}


@pytest.mark.parametrize("case", TOKENIZERS)
def test_tokenizer(setup, case):
    tokenizer, pattern = TOKENIZERS[case]
    use_text(setup, b"abc def a bad cab", tokenizer)
    fails(setup, INPUT, pattern)


def test_text_that_is_not_utf8(setup):
    use_text(setup, b"abc \xff\xfe def", TOKENIZER)
    fails(setup, INPUT, r"corpus\.txt.*UTF-8")


def test_empty_text(setup):
    use_text(setup, b"", TOKENIZER)
    fails(setup, INPUT, r"corpus\.txt")


# The command line

COMMANDS = {
    "unknown dtype": (["--dtype", "float8"], "float8"),
    "unknown device": (["--device", "abacus"], "abacus"),
    "unknown sampling": (["--vectors", "some"], "some"),
    "unknown option": (["--frobnicate"], "frobnicate"),
    "context 0": (["--context", "0"], "context"),
    "context negative": (["--context", "-5"], "context"),
    "context is text": (["--context", "long"], "context"),
    "context beyond 32 bits": (["--context", str(2**31)], "context"),
    "context beyond 64 bits": (["--context", str(2**64)], "context"),
    "memory without a unit that is known": (["--memory", "64XB"], "memory"),
    "memory negative": (["--memory", "-1GiB"], "memory"),
    "no heads": (["--heads", "0"], "heads"),
    "no documents": (["--documents", "0"], "documents"),
    "shard beyond the number of shards": (["--shard", "3/2"], "shard"),
    "an option that there was": (["--target-se", "0.01"], "the option --target-se was removed; analyze says how many --documents"),
    **{f"{option} {value}": ([option, value], rf"{option}: found '{value}'; expected a (whole )?number")
       for option in ("--rate", "--heads", "--documents", "--min-tokens", "--bucket-size")
       for value in ("nan", "inf", "-1", "0", "1e999", "one", "")},
    **{f"{option} {value}": ([option, value], option)
       for option in ("--blocks", "--threads", "--context", "--seed", "--memory") for value in ("nan", "inf", "-1", "")},
}


@pytest.mark.parametrize("case", COMMANDS)
def test_command_line(setup, case):
    options, pattern = COMMANDS[case]
    given = ["capture", setup.model, "--corpus", setup.corpus, "--out", setup.out]
    given += ["--context", setup.context] if "--context" not in options else []
    result = engine.run(*given, "--min-tokens", 1, "--quiet", *options, *([] if "--vectors" in options else ["--vectors", "all"]))
    assert_one_line(result, (USAGE,), pattern, setup.root)
    assert len(result.stderr) < 200, "short enough to be read"
    assert os.listdir(setup.parent) == []


@pytest.mark.parametrize("arguments, pattern", [(["capture"], "MODEL|model"), (["catpure", "x"], "catpure"),
                                                (["capture", "x", "--out", "y"], "corpus"),
                                                (["capture", "x", "--corpus", "y"], "out"),
                                                (["capture", "x", "--corpus", "y", "--out", ""], "--out: is empty"),
                                                (["demo", "--out", ""], "--out: is empty")])
def test_incomplete_command_line(arguments, pattern, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_one_line(engine.run(*arguments), (USAGE,), pattern, tmp_path)
    assert os.listdir(tmp_path) == []


def test_no_model(setup):
    setup.model = setup.model.with_name("nowhere")
    fails(setup, (INPUT, SYSTEM), "nowhere")


def test_model_is_a_file(setup):
    setup.model = setup.corpus
    fails(setup, (INPUT, SYSTEM), r"tokens\.jsonl")


def test_no_corpus(setup):
    setup.corpus = setup.corpus.with_name("nothing.jsonl")
    fails(setup, (INPUT, SYSTEM), r"nothing\.jsonl")


# Unreadable and full disks


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


def replace_by_dangling_link(path):
    path.unlink()
    path.symlink_to(path.with_name("gone"))


@pytest.mark.parametrize("replace", [replace_by_folder, replace_by_dangling_link])
@pytest.mark.parametrize("name", ["config.json", WEIGHTS])
def test_unreadable_model_file(setup, replace, name):
    replace(setup.model / name)
    fails(setup, (INPUT, SYSTEM), re.escape(name))


def replace_by_pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("replace", [replace_by_folder, replace_by_dangling_link, replace_by_pipe])
def test_unreadable_corpus(setup, replace):
    replace(setup.corpus)
    fails(setup, (INPUT, SYSTEM), r"tokens\.jsonl")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything; the cases above stand in for it")
@pytest.mark.parametrize("name", ["config.json", WEIGHTS])
def test_no_permission(setup, name):
    (setup.model / name).chmod(0)
    fails(setup, SYSTEM, re.escape(name))


def test_output_is_a_file(setup):
    setup.out.write_text("mine")
    fails(setup, (USAGE, INPUT, SYSTEM), "out")
    assert setup.out.read_text() == "mine"


def test_output_inside_a_file(setup):
    (setup.parent / "file").write_text("mine")
    setup.out = setup.parent / "file" / "out"
    fails(setup, (USAGE, INPUT, SYSTEM), "file")


@pytest.mark.parametrize("size", [0, 100, 1000, 2000])
def test_full_disk(setup, size):
    """No byte fits; the beginning of a file; most of a vectors file."""
    fails(setup, SYSTEM, r"place/\.?out", before=engine.limit_files(size))


@pytest.mark.parametrize("limit", ["size=4k", "size=16k", "size=32k", "nr_inodes=2", "nr_inodes=9"])
def test_full_small_disk(setup, limit):
    """A real full file system, where this machine allows creating one."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", limit, "tmpfs", setup.parent], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount; test_full_disk covers the same")
    try:
        fails(setup, SYSTEM, r"place/\.?out")
    finally:
        subprocess.run(["umount", setup.parent], check=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(setup, number):
    """Nothing is left of a capture that stopped halfway."""
    setup.write_corpus([dict(id=key, tokens=[key % VOCAB] * setup.context) for key in range(20_000)])
    command = [engine.program(), "capture", setup.model, "--corpus", setup.corpus, "--out", setup.out, "--context",
               str(setup.context), "--vectors", "all", "--dtype", "float32", "--quiet"]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not os.listdir(setup.parent) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not setup.out.exists(), "the output's own name comes last"
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout, stderr) == (128 + number, "", f"error: interrupted by signal {number.value}\n")
    assert os.listdir(setup.parent) == []


def test_memory_budget_too_small(setup):
    setup.options = ["--memory", "1KiB"]
    fails(setup, (USAGE, SYSTEM), "memory")
