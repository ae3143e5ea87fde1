"""One file has all messages as users read them, so that a change of words is one diff."""

import runpy

import tree


def test_messages_are_those_of_the_snapshot():
    listed = runpy.run_path(str(tree.ROOT / "tools/messages.py"))["listed"]()
    kept = (tree.ROOT / "tests/hygiene/messages.txt").read_text()
    assert listed == kept, "after a change of words: .venv/bin/python tools/messages.py > tests/hygiene/messages.txt"
