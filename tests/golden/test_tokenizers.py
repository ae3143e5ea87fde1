"""The C++ tokenizer gives the ids that the `tokenizers` library gives."""

import json
import os
import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tokenizer_parts as parts
import tokenizer_texts as texts
import transformers
from tokenizer_families import FAMILIES, assemble, train
from tokenizers import Regex, Tokenizer, pre_tokenizers

TOOL = Path(os.environ["ROPEWALK_BUILD"]) / "tests" / "tokenize_tool"
STRINGS = 20_000
PART_STRINGS = 400
PART_TEXTS = ["aab abab ba xaxb aaaa", "line one\nline two\n", "\n", "12345 1234567 1,2", "bcx ax Abc ABC'S 'LL"]
LONG = 1_000_000  # bytes


def run_tool(arguments, strings):
    encoded = [text.encode() for text in strings]
    data = b"".join(struct.pack("<I", len(text)) + text for text in encoded)
    return subprocess.run([TOOL, *arguments], input=data, capture_output=True, check=False)


def tokenize(paths, strings):
    """The ids that the C++ tokenizer gives, for each of the files."""
    done = run_tool(paths, strings)
    assert done.returncode == 0, done.stderr.decode()
    numbers = np.frombuffer(done.stdout, dtype="<i4")
    result, at = [], 0
    while at < len(numbers):
        count = int(numbers[at])
        result.append(numbers[at + 1 : at + 1 + count])
        at += 1 + count
    assert len(result) == len(strings) * len(paths)
    return [result[i * len(strings) : (i + 1) * len(strings)] for i in range(len(paths))]


def seconds_for(path, strings):
    return float(run_tool(["--time", path], strings).stderr)


def difference(ours, reference, strings):
    """The first string on which the library disagrees, or nothing."""
    for start in range(0, len(strings), 2000):  # the library's encodings are large
        batch = strings[start : start + 2000]
        theirs = reference.encode_batch_fast(batch)
        for text, mine, encoding in zip(batch, ours[start:], theirs):
            if not np.array_equal(mine, encoding.ids):
                shown = repr(text if len(text) < 300 else text[:300] + "…")
                same = next((i for i, (a, b) in enumerate(zip(mine, encoding.ids)) if a != b), 0)
                near = slice(max(same - 5, 0), same + 20)
                return f"{shown}\n  from id {same}: ours {mine[near].tolist()}\n  theirs {encoding.ids[near]}"
    return None


def compare(path, reference, strings):
    (ours,) = tokenize([path], strings)
    found = difference(ours, reference, strings)
    assert found is None, found


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


# Ideographs and private use, which no part of a tokenizer tells apart, and none changes.
ALIKE = re.compile("[\u3400-\u9fff\ue000-\uf8ff\U00020000-\U0002f7ff\U00030000-\U0003ffff\U000f0000-\U0010ffff]{9}")


@pytest.fixture(scope="session")
def assigned_shares(assigned):
    """What is assigned, for eight families: all that differs for each, and a share of what is alike."""
    alike = [ALIKE.search(re.sub("[x1a ]", "", text)) is not None for text in assigned]
    return [[text for i, text in enumerate(assigned) if not alike[i] or i % 8 == share] for share in range(8)]


@pytest.mark.parametrize("name", FAMILIES)
def test_family(name, tmp_path, corpus, assigned_shares):
    family = FAMILIES[name]
    assigned = assigned_shares[list(FAMILIES).index(name) % 8]
    path = write(tmp_path, name, assemble(family, *train(family, corpus)))
    reference = Tokenizer.from_file(str(path))
    special = [entry["content"] for entry in family["added_tokens"]]
    strings = texts.strings(name, STRINGS, special) + assigned
    strings += [texts.document(f"{name} document", LONG, special)] + texts.long_words(name, LONG // 10)
    compare(path, reference, strings)
    words = texts.long_words(name, LONG)
    assert seconds_for(path, words) < len(words), "a word of 1 MB must take well under a second"


def test_vocabulary_and_merges_alone(tmp_path, corpus):
    """As older checkpoints of GPT-2 have them: refused with what to do, which then works."""
    family = FAMILIES["gpt2"]
    published = assemble(family, *train(family, corpus))
    folder, better = tmp_path / "model", tmp_path / "better"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    vocabulary = published["model"]["vocab"] | {entry["content"]: entry["id"] for entry in published["added_tokens"]}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{merge}\n" for merge in published["model"]["merges"]))
    refused = run_tool([folder], ["text"])
    assert refused.returncode != 0
    assert refused.stderr.decode().startswith(f"{folder}: holds no tokenizer.json; transformers writes one from vocab.json")
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(better)
    strings = texts.strings("gpt2", PART_STRINGS, ["<|endoftext|>"])
    compare(better, Tokenizer.from_str(json.dumps(published)), strings)


def compare_all(folder, cases, strings):
    paths = [write(folder, f"part{i}", case) for i, case in enumerate(cases)]
    failures = []
    for case, path, ours in zip(cases, paths, tokenize(paths, strings)):
        found = difference(ours, Tokenizer.from_file(str(path)), strings)
        if found:
            shown = {key: value for key, value in case.items() if key not in ("version", "model")}
            failures.append(f"{json.dumps(shown, ensure_ascii=False)}\n  {found}")
    assert not failures, f"{len(failures)} of {len(cases)} differ\n" + "\n".join(failures)


def test_parts(tmp_path):
    """Every supported part on its own, with ids that show each cut."""
    strings = texts.strings("parts", PART_STRINGS, parts.ADDED) + PART_TEXTS
    compare_all(tmp_path, parts.all_cases(), strings)


def test_first_character_that_grows(tmp_path):
    compare_all(tmp_path, [parts.with_parts(*case) for case in parts.GROWING], parts.GROWING_TEXTS)


def test_classes(tmp_path, assigned):
    # Ideographs, syllables and private use are all alike; the families have seen each of them.
    alike = re.compile("[\u3400-\u9fff\uac00-\ud7a3\ue000-\uf8ff\U00020000-\U0003ffff\U000f0000-\U0010ffff]{9}")
    strings = [text for text in assigned if not alike.search(re.sub("[x1a ]", "", text))]
    compare_all(tmp_path, parts.class_cases(), strings)
