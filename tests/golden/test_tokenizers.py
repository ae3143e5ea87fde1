"""The C++ tokenizer gives the ids that the `tokenizers` library gives."""

import json
import os
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tokenizer_texts as texts
from tokenizer_families import FAMILIES, assemble, train
from tokenizers import Regex, Tokenizer, pre_tokenizers

TOOL = Path(os.environ["ROPEWALK_BUILD"]) / "tests" / "tokenize_tool"
STRINGS = 20_000
LONG = 1_000_000  # bytes


def tokenize(path, strings, *options):
    """The ids that the C++ tokenizer gives, and what it wrote to standard error."""
    encoded = [text.encode() for text in strings]
    data = b"".join(struct.pack("<I", len(text)) + text for text in encoded)
    done = subprocess.run([TOOL, path, *options], input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    numbers = np.frombuffer(done.stdout, dtype="<i4")
    result, at = [], 0
    while at < len(numbers):
        count = int(numbers[at])
        result.append(numbers[at + 1 : at + 1 + count])
        at += 1 + count
    assert len(result) == len(strings)
    return result, done.stderr.decode()


def compare(path, reference, strings):
    ours, _ = tokenize(path, strings)
    for start in range(0, len(strings), 2000):  # the library's encodings are large
        batch = strings[start : start + 2000]
        theirs = reference.encode_batch_fast(batch)
        for text, mine, encoding in zip(batch, ours[start:], theirs):
            if not np.array_equal(mine, encoding.ids):
                shown = repr(text if len(text) < 300 else text[:300] + "…")
                pytest.fail(f"{shown}\n  ours   {mine[:60].tolist()}\n  theirs {encoding.ids[:60]}")


def write(folder, name, tokenizer_json):
    path = folder / f"{name}.json"
    path.write_text(json.dumps(tokenizer_json, ensure_ascii=False))
    return path


@pytest.fixture(scope="session")
def assigned():
    """What the library's own tables call assigned."""
    everything = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF)
    pieces = pre_tokenizers.Split(Regex(r"\p{Cn}+"), "removed").pre_tokenize_str(everything)
    known = set().union(*(piece for piece, _ in pieces))
    return texts.assigned_code_points(known.__contains__)


@pytest.fixture(scope="session")
def corpus():
    return [texts.document(seed, 20_000, []) for seed in range(10)]


@pytest.mark.parametrize("name", FAMILIES)
def test_family(name, tmp_path, corpus, assigned):
    family = FAMILIES[name]
    path = write(tmp_path, name, assemble(family, *train(family, corpus)))
    reference = Tokenizer.from_file(str(path))
    special = [entry["content"] for entry in family["added_tokens"]]
    compare(path, reference, texts.strings(name, STRINGS, special))
    compare(path, reference, assigned)
    compare(path, reference, [texts.document(f"{name} document", LONG, special)])
    words = texts.long_words(name, LONG)
    _, seconds = tokenize(path, words, "--time")
    assert float(seconds) < len(words), "a word of 1 MB must take well under a second"
    compare(path, reference, texts.long_words(name, LONG // 10))
