"""The program gets the ids that our former tokenizer gave, which were checked against the library on every one of these texts: compared by
digests.
"""

import hashlib
import json
import os
import re
import struct
import subprocess
from pathlib import Path

import pytest
import tokenizer_parts as parts
import tokenizer_texts as texts
import transformers
from tokenizer_families import FAMILIES
from tokenizer_making import assemble, train
from tokenizers import Regex, pre_tokenizers

TOOL = Path(os.environ["ROPEWALK_BUILD"]) / "tests" / "tokenize_tool"
DIGESTS = Path(__file__).parents[1] / "token_digests.json"
STRINGS = 20_000
PART_STRINGS = 400
PART_TEXTS = ["aab abab ba xaxb aaaa", "line one\nline two\n", "\n", "12345 1234567 1,2", "bcx ax Abc ABC'S 'LL"]
LONG = 1_000_000  # bytes


def run_tool(arguments, strings):
    encoded = [text.encode() for text in strings]
    data = b"".join(struct.pack("<I", len(text)) + text for text in encoded)
    return subprocess.run([TOOL, *arguments], input=data, capture_output=True, check=False)


def tokenize(paths, strings):
    """What the program gets for each of the files, from the tool's output: prefix, body and suffix of each text."""
    done = run_tool(paths, strings)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def compare(name, paths, strings):
    check_digest(name, tokenize(paths, strings))


def check_digest(name, output):
    assert hashlib.sha256(output).hexdigest() == json.loads(DIGESTS.read_text())[name]


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


# Ideographs and private use characters, which no part of a tokenizer distinguishes or changes.
ALIKE = re.compile("[\u3400-\u9fff\ue000-\uf8ff\U00020000-\U0002f7ff\U00030000-\U0003ffff\U000f0000-\U0010ffff]{9}")


@pytest.fixture(scope="session")
def assigned_shares(assigned):
    """Assigned characters, for eight families: everything that differs for each, and a sample of what is alike."""
    alike = [ALIKE.search(re.sub("[x1a ]", "", text)) is not None for text in assigned]
    return [[text for i, text in enumerate(assigned) if not alike[i] or i % 8 == share] for share in range(8)]


def family_strings(name, assigned_shares):
    special = [entry["content"] for entry in FAMILIES[name]["added_tokens"]]
    strings = texts.strings(name, STRINGS, special) + assigned_shares[list(FAMILIES).index(name) % 8]
    return strings + [texts.document(f"{name} document", LONG, special)] + texts.long_words(name, LONG // 10)


@pytest.mark.parametrize("name", FAMILIES)
def test_family(name, tmp_path, corpus, assigned_shares):
    """Truncation and padding in the file are ignored."""
    family = FAMILIES[name]
    published = assemble(family, *train(family, corpus))
    published["truncation"] = {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}
    published["padding"] = {"strategy": {"Fixed": 40}, "direction": "Left", "pad_to_multiple_of": 8, "pad_id": 0, "pad_type_id": 0, "pad_token": "x"}
    path = write(tmp_path, name, published)
    compare(name, [path], family_strings(name, assigned_shares))


def test_vocabulary_and_merges_alone(tmp_path, corpus):
    """The files of older GPT-2 checkpoints, which transformers reads."""
    family = FAMILIES["gpt2"]
    published = assemble(family, *train(family, corpus))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    vocabulary = published["model"]["vocab"] | {entry["content"]: entry["id"] for entry in published["added_tokens"]}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{merge}\n" for merge in published["model"]["merges"]))
    strings = texts.strings("gpt2", PART_STRINGS, ["<|endoftext|>"])
    assert tokenize([folder], strings) == tokenize([write(tmp_path, "whole", published)], strings)


def test_one_that_transformers_has_in_python(tmp_path):
    """CTRL's files, which the library does not support."""
    vocabulary = ["<unk>", "a</w>", "b</w>", "ab</w>", "a", "b", "b@@", "c"]
    (tmp_path / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(vocabulary)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b</w>\n")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "ctrl"}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "CTRLTokenizer"}))
    strings = ["ab a b", "xab  a\n", "b"]
    output = b""
    for text in strings:
        ids = transformers.AutoTokenizer.from_pretrained(tmp_path)(text)["input_ids"]
        output += struct.pack(f"<{3 + len(ids)}i", 0, len(ids), 0, *ids)
    assert tokenize([tmp_path], strings) == output


def compare_all(name, folder, cases, strings):
    compare(name, [write(folder, f"part{i}", case) for i, case in enumerate(cases)], strings)


def test_parts(tmp_path):
    """Every supported part alone, with ids that show each cut."""
    strings = texts.strings("parts", PART_STRINGS, parts.ADDED) + PART_TEXTS
    compare_all("parts", tmp_path, parts.all_cases(), strings)


def test_first_character_that_grows(tmp_path):
    compare_all("growing", tmp_path, [parts.with_parts(*case) for case in parts.GROWING], parts.GROWING_TEXTS)


def test_classes(tmp_path, assigned):
    # Ideographs, syllables and private use are all alike; the families have seen each of them.
    alike = re.compile("[\u3400-\u9fff\uac00-\ud7a3\ue000-\uf8ff\U00020000-\U0003ffff\U000f0000-\U0010ffff]{9}")
    strings = [text for text in assigned if not alike.search(re.sub("[x1a ]", "", text))]
    compare_all("classes", tmp_path, parts.class_cases(), strings)
