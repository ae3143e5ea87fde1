"""What a capture keeps is an accumulator with a switch (CONTRIBUTING.md): no step of adding one is forgotten without a word.

The compiler sees a member of KeepOptions without a row, and the linker a name in the list without an accumulator or without what statistics read of it.
Here is the rest.
"""

import ast
import re

import pytest
import tree

HEADER = "ropewalk/moments/keep_options.h"
VERBS = "python/ropewalk/_verbs.py"
DOCUMENTS = ("docs/cli.md", "docs/experiments.md", "docs/formats.md", "docs/moments.md")
ALONE = {"loss"}  # kept per document from the pass's logits, so there is no accumulator


@pytest.fixture(scope="module")
def texts():
    """Every text in which a step may be done, by name."""
    wanted = re.compile(r"ropewalk/moments/|ropewalk/analysis/|tests/|docs/(cli|experiments|formats|moments)\.md|python/ropewalk/_verbs\.py")
    paths = [path for path in tree.tracked(".h", ".cpp", ".py", ".md", ".txt") if wanted.match(tree.name(path))]
    return {tree.name(path): path.read_text() for path in paths}


def members(text):
    body = re.search(r"struct KeepOptions \{(.*?)\n\n", text, re.S).group(1)
    return {name: value for name, value in re.findall(r"^  (?:bool|KeepCount) (\w+)(?: = |)\{?([\w.]*)\}?;", body, re.M)}


def rows(text):
    return dict(re.findall(r'\{"(\w+)",\s*&KeepOptions::(\w+)', text))


def keywords(text, function):
    """Keywords of a function with their defaults, and its calls by name."""
    made = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == function)
    defaults = {one.arg: ast.literal_eval(value) for one, value in zip(made.args.kwonlyargs, made.args.kw_defaults) if value is not None}
    calls = [node for node in ast.walk(made) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_keep"]
    return defaults, {one.arg: getattr(one.value, "id", None) for call in calls for one in call.keywords}


def python_value(default):
    return {"true": True, "false": False}.get(default, int(default) if default.isdigit() else None)


def forgotten(texts):
    """What lacks a step, in words."""
    found = []

    def need(holds, text):
        if not holds:
            found.append(text)

    table = texts[HEADER]
    listed = re.search(r"#define ROPEWALK_ACCUMULATORS\(X\)(.*)", table).group(1)
    accumulators = set(re.findall(r"X\((\w+)\)", listed))
    for name, text in texts.items():
        made = re.match(r"ropewalk/moments/accumulators/(\w+)\.h$", name)
        if made and re.search(rf"^const Accumulator& {made[1]}\(\);", text, re.M) and made[1] != "second_moments":
            need(made[1] in accumulators, f"{made[1]}: an accumulator that the list in {HEADER} lacks")
    sources = {folder: texts[f"ropewalk/{folder}/CMakeLists.txt"] for folder in ("moments", "analysis")}
    for name in accumulators:
        need(f"accumulators/{name}.cpp" in sources["moments"], f"{name}: moments/CMakeLists.txt lacks accumulators/{name}.cpp")
        readers = [path for path, text in texts.items() if re.search(rf"^std::unique_ptr<KeptParts> {name}\(const AnalyzedCapture& ", text, re.M)]
        need(readers, f"{name}: analysis/ has no parts_of::{name}")
        need(all(path.removeprefix("ropewalk/analysis/") in sources["analysis"] for path in readers), f"{name}: analysis/CMakeLists.txt lacks what reads it")
        need(f"tests/moments/accumulators/{name}_test.cpp" in texts, f"{name}: has no tests/moments/accumulators/{name}_test.cpp")
        need(f"accumulators/{name}_test.cpp" in texts["tests/moments/CMakeLists.txt"], f"{name}: tests/moments/CMakeLists.txt lacks its test")
        need(re.search(rf"^\| `{name}\.", texts["docs/moments.md"], re.M), f"{name}: docs/moments.md lacks its tensors")
    need(rows(table).keys() == set(rows(table).values()) == members(table).keys(), "rows of kKeepOptions, their keys and members of KeepOptions differ")
    kept = re.search(r"^\| `kept` \|.*$", texts["docs/formats.md"], re.M).group(0)
    defaults, passed = keywords(texts[VERBS], "capture")
    edits = re.search(r"^EXPERIMENT_EDITS = \{(.*?)^\}", texts["tests/golden/study/test_trust.py"], re.M | re.S).group(1)
    for key, default in members(table).items():
        option = ("--no-" if default == "true" else "--") + key.replace("_", "-")
        need(key in accumulators | ALONE, f"{key}: no accumulator has its name")
        need(re.search(rf"^\| `{option}", texts["docs/cli.md"], re.M), f"{key}: docs/cli.md lacks {option}")
        need(re.search(rf"^\| `{key}` \|", texts["docs/experiments.md"], re.M), f"{key}: docs/experiments.md lacks its row")
        need(f"`{key}`" in kept, f"{key}: the row `kept` of docs/formats.md lacks it")
        need(key in defaults and defaults[key] == python_value(default), f"{key}: capture() in _verbs.py lacks it, or its default {default}")
        need(passed.get(key) == key, f"{key}: capture() in _verbs.py does not pass it on")
        need(f'"{key}": dict({key}=' in edits, f"{key}: EXPERIMENT_EDITS in test_trust.py lacks it")
    return found


def test_no_step_is_forgotten(texts):
    assert forgotten(texts) == []


# Each step of adding plasticity: the file, the text there, and what replaces it in the test.
STEPS = {
    "list": (HEADER, r" X\(plasticity\)", ""),
    "member": (HEADER, r"  bool plasticity = false;\n", ""),
    "row": (HEADER, r'\{"plasticity", &KeepOptions::plasticity', '{"lunch", &KeepOptions::pre_rope'),
    "name of the accumulator": (HEADER, r"(?<=bool |ons::)plasticity|(?<=\{\")plasticity", "lunch"),
    "source": ("ropewalk/moments/CMakeLists.txt", r"  accumulators/plasticity\.cpp\n", ""),
    "analysis": ("ropewalk/analysis/replicates/plasticity.cpp", r"std::unique_ptr<KeptParts> plasticity\(", "std::unique_ptr<KeptParts> lunch("),
    "source of the analysis": ("ropewalk/analysis/CMakeLists.txt", r"  plasticity\.cpp\n|  \w+/plasticity\.cpp\n", ""),
    "test": ("tests/moments/CMakeLists.txt", r"  accumulators/plasticity_test\.cpp\n", ""),
    "test of the experiment": ("tests/golden/study/test_trust.py", r'    "plasticity": dict\(.*\n', ""),
    "keyword": (VERBS, r", plasticity: bool = False", ""),
    "default of the keyword": (VERBS, r", plasticity: bool = False", ", plasticity: bool = True"),
    "option": (VERBS, r"plasticity=plasticity, ", ""),
    "cli.md": ("docs/cli.md", r"\| `--plasticity`.*\n", ""),
    "experiments.md": ("docs/experiments.md", r"\| `plasticity` \|.*\n", ""),
    "moments.md": ("docs/moments.md", r"\| `plasticity\..*\n", ""),
    "kept": ("docs/formats.md", r"`plasticity`, ", ""),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_left_out_is_seen(texts, step):
    name, pattern, rest = STEPS[step]
    without, changes = re.subn(pattern, rest, texts[name])
    assert changes, "the step is no longer where this test takes it out"
    assert forgotten({**texts, name: without})


def test_sources_name_an_accumulator_in_few_files():
    """An accumulator and its analysis, lists and sources, the table, the keyword: generic code names no accumulator."""
    named = [path for path in tree.tracked() if tree.name(path).startswith(("ropewalk/", "python/", "report/src/")) and b"plasticity" in path.read_bytes()]
    assert len(named) <= 12, [tree.name(path) for path in named]
