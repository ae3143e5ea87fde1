"""Numbers in documents and images are those of benchmarks/results."""

import json
import re
import sys

import pytest
import tree

sys.path.insert(0, str(tree.ROOT / "benchmarks"))

import plot  # noqa: E402
import performance_tables  # noqa: E402
import tables  # noqa: E402


@pytest.mark.parametrize("document", tables.DOCUMENTS)
def test_documents_show_the_results(document):
    text = (tree.ROOT / document).read_text()
    assert text == tables.written(text), "run benchmarks/tables.py"


def test_every_block_stands_somewhere():
    there = [name for document in tables.DOCUMENTS for name in re.findall(r"<!-- table:(\w+) -->", (tree.ROOT / document).read_text())]
    assert sorted(there) == sorted(tables.BLOCKS)


def test_blocks_follow_their_results(tmp_path):
    """Another result gives another text; a missing result leaves an empty block."""
    text = "<!-- table:readme -->\nold\n<!-- end -->"
    assert "old" not in tables.written(text, tmp_path)
    result = json.loads((tables.RESULTS / "end_to_end.json").read_text())
    for faster in (1.5, 2.5):
        ratio = {"median": faster, "low": 1.1, "high": 2.9, "rounds": 5}
        (tmp_path / "end_to_end.json").write_text(json.dumps({**result, "times_faster": ratio}))
        assert f"| {faster} (1.1 – 2.9) |" in tables.written(text, tmp_path)
    (tmp_path / "end_to_end.json").write_text(json.dumps({**result, "times_faster": {**ratio, "rounds": 4}}))
    with pytest.raises(SystemExit, match="4 rounds; expected 5 at least"):
        tables.written(text, tmp_path)


def test_a_peer_that_did_not_run_is_named():
    ways = [key for key, _ in performance_tables.WAYS]
    result = {
        "machine": {"cpu": "any", "cores": 2}, "versions": {"torch": "2", "transformers": "5"}, "date": "2026-01-01", "tokens": 4096, "threads": 2,
        "median": {way: 2.0 for way in ways} | {"nnsight": None}, "spread": {way: [1.0, 3.0] for way in ways} | {"nnsight": None},
        "times_ropewalk": {way: {"median": 1.0, "low": 0.9, "high": 1.1, "rounds": 5} for way in ways if way != "nnsight"},
        "peers": {"nnsight": {"reason": "no wheel"}, "transformer_lens": {"reason": None, "version": "9.9"}},
        "equality": {"heads": 270, "difference_r_q": 1e-6}, "floor": {"operations": 1e12, "operations_per_second": 2e11, "seconds": 5.0}, "times_the_floor": 1.25,
    }  # fmt: skip
    text = performance_tables.cpu(result)
    assert "nnsight was not measured: `no wheel`" in text and "| nnsight" not in text
    assert "TransformerLens 9.9" in text and "| TransformerLens" in text
    assert "1.25 times the floor" in text and "80 % of the rate" in text


@pytest.mark.parametrize("name", plot.PLOTS)
def test_images_show_the_results(name):
    source, image = tables.RESULTS / f"{plot.PLOTS[name][0]}.json", plot.IMAGES / f"performance-{name}.svg"
    assert image.exists() == source.exists(), "run benchmarks/plot.py"
    assert not image.exists() or image.read_text().endswith(f"{plot.mark(source)}\n"), "run benchmarks/plot.py"
