"""Texts that must not be in any file of the repository."""

import re

import tree

MAX_LINES = 600
# Hosts to which documents may link. Addresses of package registries and mirrors depend on the machine and are not allowed here.
HOSTS = {"www.apache.org", "arxiv.org", "github.com", "huggingface.co", "example.org", "vega.github.io",
         "www.w3.org"}  # the last one names SVG
# Hosts in tests: this machine, and reserved names.
TEST_HOSTS = re.compile(r"localhost|127(\.\d+){3}|10\.0\.0\.1|([\w.-]+\.)?example\.org")


def texts():
    for path in tree.tracked():
        data = path.read_bytes()
        if b"\0" not in data and not tree.fuzzed(path):
            yield path, data.decode()


def test_files_are_short():
    long = {tree.name(path): text.count("\n") for path, text in texts()
            if path.suffix in {*tree.CODE, ".py", ".ts", ".md", ".sh"} and not tree.generated(path)}  # fmt: skip
    assert not {path: lines for path, lines in long.items() if lines > MAX_LINES}


def test_nothing_is_left_to_do():
    word = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    assert not {tree.name(path) for path, text in texts() if word.search(text)}


def test_no_machine_paths():
    local_paths = re.compile(rf"{re.escape(str(tree.ROOT))}(?![\w-])|/(?:home|Users)/\w|/root/")
    found = {tree.name(path): local_paths.findall(text) for path, text in texts() if path.name != "test_text.py"}
    assert not {path: local_paths for path, local_paths in found.items() if local_paths}


def test_hosts():
    url = re.compile(r"https?://([\w.-]+)")
    found = {tree.name(path): {host for host in set(url.findall(text)) - HOSTS if not TEST_HOSTS.fullmatch(host)}
             for path, text in texts()}  # fmt: skip
    assert not {path: hosts for path, hosts in found.items() if hosts}


# Sentences that readers did not understand, and that were replaced. CHANGELOG.md keeps its former wording.
TAKEN_APART = (
    "one can afford to keep", "still under way at the step", "Steps of several optimizers", "they leave the tables", "is asked what it comes to",
    "trading places does not move", "listed or not, less", "a linear fit to the whole vector;", "disagree about which of two earlier keys",
    "lies between both is content", "both have turned", "of so many heads", "numbers that one of them lacks", "are float32 and small",
    "combined PCA of the vectors",
)  # fmt: skip


def test_sentences_are_read_once():
    exempt = {"CHANGELOG.md", "test_text.py"}
    found = {tree.name(path): [one for one in TAKEN_APART if one in " ".join(text.split())] for path, text in texts() if path.name not in exempt}
    assert not {path: sentences for path, sentences in found.items() if sentences}


def test_headers_are_guarded():
    assert not [tree.name(path) for path, text in texts() if path.suffix in {".h", ".cuh"}
                and not text.startswith("#pragma once\n")]  # fmt: skip
