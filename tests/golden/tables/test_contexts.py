"""One checkpoint at several contexts: separate rows on the same documents, cut; paired differences; what is measured again."""

import json
import re

import pandas
import pytest
import torch

import engine
import tiny_models
from test_changes import STATISTICS, paired_errors
from tiny_study import write_checkpoint

SHORT, MIDDLE, LONG, DOCUMENTS, BLOCKS = 24, 40, 64, 16, 8


class Study:
    """Two checkpoints and a baseline in one phase; documents of LONG tokens and more."""

    def __init__(self, root):
        self.root = root
        root.mkdir(exist_ok=True)
        for seed, name in enumerate("AB"):
            write_checkpoint(root / name, seed, num_hidden_layers=2)
        generator = torch.Generator().manual_seed(1)
        self.rows = [torch.randint(tiny_models.VOCAB, (LONG + i % 5,), generator=generator).tolist() for i in range(DOCUMENTS)]
        self.write_corpus(self.rows)

    def write_corpus(self, rows, name="corpus.jsonl"):
        (self.root / name).write_text("".join(json.dumps({"id": i, "tokens": row}) + "\n" for i, row in enumerate(rows)))

    def checkpoints(self, *labels):
        return [{"label": "init", "random": 0}, *({"label": label, "path": label} for label in labels or "AB")]

    def write(self, context, name="study.yaml", **changes):
        phases = [{"name": "P", "context": context, "checkpoints": self.checkpoints()}]
        settings = {"name": "Contexts", "corpus": {"path": "corpus.jsonl"}, "dtype": "float32", "components": 3, "blocks": BLOCKS, "phases": phases}
        (self.root / name).write_text(json.dumps({**settings, **changes}, indent=1))
        return self.root / name

    def run(self, experiment, out, *options):
        return engine.run("run", experiment, "--out", out, "--format", "json", *options)


def good(result):
    assert result.code == 0, result.stderr
    return result


def captures(out):
    """Identities of the files: a measured one is new, a moved one is the same."""
    found = out.glob("checkpoints/[!.]*/moments.safetensors")
    return {path.parent.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def table(out, name="qk.csv"):
    return pandas.read_csv(out / name, keep_default_na=False)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("contexts") / "study")


@pytest.fixture(scope="module")
def finished(study):
    """With vectors, to compute errors in another way."""
    out = study.root / "finished"
    good(study.run(study.write([LONG, SHORT], vectors="all"), out))  # in any order
    return out


def test_rows_of_their_own(study, finished):
    labels = [f"{name}@{context}" for context in (SHORT, LONG) for name in ("init", "A", "B")]
    for name in ("qk.csv", "heads.csv"):
        rows = table(finished, name)
        assert list(rows.checkpoint.drop_duplicates()) == labels, "each context reads as a run"
        assert list(rows.order.drop_duplicates()) == list(range(6))
    summary = json.loads((finished / "summary.json").read_text())
    assert [one["label"] for one in summary["checkpoints"]] == labels
    assert {path.name for path in (finished / "checkpoints").iterdir()} == set(labels)
    result = good(study.run(study.root / "study.yaml", finished))
    assert [line.split()[0] for line in result.stdout.splitlines()[1:7]] == labels
    assert "have the same weights" not in result.stderr
    for line in result.stdout.splitlines()[1:7]:
        label = line.split()[0]
        share, heads = summary["taxonomy"][label]["position-dominated"], summary["heads"][label]["measured"]
        assert line.endswith(share_text(share["value"], share["se"], heads)), line


def share_text(value, se, heads):
    """With ± where this stays between 0 and 1, else with Wilson's interval."""
    if se is not None and 0 <= value - 2 * se and value + 2 * se <= 1:
        return f"   {value:.3f} ± {se:.3f}"
    z = 1.959964
    middle, half = value + z * z / 2 / heads, z * (value * (1 - value) / heads + z * z / 4 / heads**2) ** 0.5
    low, high = ((middle + side * half) / (1 + z * z / heads) for side in (-1, 1))
    return f"   {value:.3f} ({max(low, 0):.2f} to {min(high, 1):.2f})"


def test_numbers_are_those_of_an_experiment_of_one_context(study, finished, tmp_path):
    rows, heads = table(finished), table(finished, "heads.csv")
    for context in (SHORT, LONG):
        study.write_corpus([row[:context] for row in study.rows], "cut.jsonl")
        good(study.run(study.write(context, "one.yaml", corpus={"path": "cut.jsonl"}), tmp_path / str(context)))
        for all_rows, name in ((rows, "qk.csv"), (heads, "heads.csv")):
            alone = table(tmp_path / str(context), name)
            among = all_rows[all_rows.checkpoint.str.endswith(f"@{context}")].assign(order=list(alone.order))
            among["checkpoint"] = [label.split("@")[0] for label in among.checkpoint]
            # Signs at a longer context continue those at the shorter one.
            carried = {"pc0_overlap", "r_q_run", "r_k_run", "flag"} if name == "heads.csv" and context == LONG else set()
            if name == "heads.csv" and context == LONG:
                # Preferences of distance end at the study's smallest context.
                assert set(among.dist_context) - {""} == {str(SHORT)} and set(alone.dist_context) - {""} == {str(LONG)}
                carried |= {column for column in alone.columns if column.startswith(("dist_argmax", "dist_range", "dist_near", "dist_reach", "dist_context"))}
            columns = [column for column in alone.columns if column not in carried]
            assert (among.reset_index(drop=True)[columns] == alone[columns]).all().all()


def test_which_changes_there_are(finished):
    changes = table(finished, "changes.csv")
    pairs = [(f"A@{SHORT}", f"B@{SHORT}", "step"), (f"A@{LONG}", f"B@{LONG}", "step")]
    pairs += [(f"{name}@{SHORT}", f"{name}@{LONG}", "context") for name in ("init", "A", "B")]
    pairs += [(f"init@{context}", f"{name}@{context}", "baseline") for name in "AB" for context in (SHORT, LONG)]
    whole = (f"A@{LONG}", f"B@{LONG}", "whole")
    assert set(zip(changes["from"], changes.to, changes.kind)) == {*pairs, whole}, "the whole run at the last checkpoint's context"
    assert set(changes.paired) == {1}, "the same documents, at contexts shorter than a digest's prefix too"
    summary = json.loads((finished / "summary.json").read_text())
    found = {(one["from"], one["to"], one.get("kind", "step")): one for one in summary["differences"]}
    assert set(found) == {pair for pair in pairs if pair[2] != "baseline"}
    assert all(one["paired"] == 1 for one in found.values())


def test_the_error_between_contexts_is_the_jackknife_of_the_difference(finished):
    changes, heads = table(finished, "changes.csv"), table(finished, "heads.csv").set_index(["checkpoint", "layer", "q_head"])
    labels = [f"A@{SHORT}", f"A@{LONG}"]
    errors = paired_errors([finished / "checkpoints" / label for label in labels], 1, 2)
    rows = changes[(changes["from"] == labels[0]) & (changes.to == labels[1]) & (changes.layer == 1) & (changes.q_head == 2)].set_index("statistic")
    for key in STATISTICS:
        before, after = (heads[key][label, 1, 2] for label in labels)
        assert float(rows.change[key]) == pytest.approx(float(after) - float(before), rel=1e-6, abs=1e-7)
        assert float(rows.change_se[key]) == pytest.approx(errors[key], rel=2e-4), key
        apart = [float(heads[f"{key}_se"][label, 1, 2]) for label in labels]
        assert float(rows.change_se[key]) != pytest.approx((apart[0] ** 2 + apart[1] ** 2) ** 0.5, rel=1e-3), "not as if independent"


def test_lines_over_training_keep_to_a_context(finished):
    spec = json.loads((finished / "figures" / "position_signal.vl.json").read_text())
    rows = spec["datasets"]["means"]
    segments = {(row["segment"], row["checkpoint"].split("@")[1]) for row in rows if not row["baseline"]}
    assert segments == {(0, str(SHORT)), (1, str(LONG))}
    lines = [layer for layer in spec["layer"] if layer["mark"]["type"] in ("line", "area")]
    assert lines and all(layer["encoding"]["detail"]["field"] == "segment" for layer in lines)
    assert {row["position"] for row in spec["datasets"]["separators"]} == {1.5, -0.75}, "between the contexts, and after the baselines"
    # A baseline is drawn along the checkpoints of its own context, which is stated in the names of phases.
    reaches = {(row["checkpoint"], row["x"], row["x_end"]) for row in spec["datasets"]["baselines"]}
    assert reaches == {(f"init@{SHORT}", -0.5, 1.5), (f"init@{LONG}", 1.5, 3.5)}
    assert list(dict.fromkeys(row["phase"] for row in spec["datasets"]["phases"])) == ["baseline", f"P @{SHORT}", f"P @{LONG}"]
    assert "weights at the same context." in " ".join(spec["title"]["subtitle"])


def test_adding_a_context_measures_only_that_one(study, tmp_path):
    out = tmp_path / "out"
    good(study.run(study.write(SHORT, "grow.yaml"), out))
    one = captures(out)
    assert set(one) == {"init", "A", "B"}, "a single context leaves labels and folders as they are"
    dry = good(study.run(study.write([SHORT, LONG], "grow.yaml"), out, "--dry-run")).stdout
    todo = {line.split()[0]: line for line in dry.splitlines() if "@" in line.split("  ")[0]}
    for name in ("init", "A", "B"):
        assert "measured already" in todo[f"{name}@{SHORT}"]
        assert "measured already" not in todo[f"{name}@{LONG}"] and "measure" in todo[f"{name}@{LONG}"]
    good(study.run(study.root / "grow.yaml", out))
    two = captures(out)
    assert {name: two[f"{name}@{SHORT}"] for name in one} == one and len(two) == 6
    # A third context, then back to the first.
    good(study.run(study.write([SHORT, MIDDLE, LONG], "grow.yaml"), out))
    three = captures(out)
    assert {label: three[label] for label in two} == two and len(three) == 9
    kinds = table(out, "changes.csv").query("kind == 'context' and to == 'A@64'")
    assert set(kinds["from"]) == {f"A@{MIDDLE}"}, "from the next shorter one"
    result = good(study.run(study.write(SHORT, "grow.yaml"), out))
    assert {name: captures(out)[name] for name in one} == one
    assert f"checkpoints/A@{LONG}" in result.stderr and "--prune" in result.stderr
    good(study.run(study.root / "grow.yaml", out, "--prune"))
    assert captures(out) == one


def test_documents_too_short_for_the_longest_are_why_others_are_measured_again(study, tmp_path):
    study.write_corpus([row if i % 2 else row[:MIDDLE] for i, row in enumerate(study.rows)], "mixed.jsonl")
    corpus, out = {"path": "mixed.jsonl"}, tmp_path / "out"
    good(study.run(study.write(SHORT, "mixed.yaml", corpus=corpus), out))
    before = captures(out)
    result = good(study.run(study.write([SHORT, LONG], "mixed.yaml", corpus=corpus), out))
    reason = f"A@{SHORT}: measured again: documents: {DOCUMENTS} → {DOCUMENTS // 2}"
    line = next(line for line in result.stderr.splitlines() if reason in line)
    assert f"documents are chosen for the longest context, {LONG}" in line
    assert captures(out)[f"A@{SHORT}"] != before["A"]
    for label in (f"A@{SHORT}", f"A@{LONG}"):
        assert json.loads((out / "checkpoints" / label / "capture.json").read_text())["documents"] == DOCUMENTS // 2


def test_only_and_portraits(study, tmp_path):
    phases = [{"name": "P", "context": [SHORT, LONG], "checkpoints": study.checkpoints()}]
    study.write([SHORT, LONG], "some.yaml", phases=phases, portraits=["A", f"B@{LONG}"])
    good(study.run(study.root / "some.yaml", tmp_path / "only", "--only", f"A@{LONG}"))
    assert f"A@{LONG}" in captures(tmp_path / "only") and f"B@{LONG}" not in captures(tmp_path / "only")
    good(study.run(study.root / "some.yaml", tmp_path / "only", "--only", "A"))
    assert {f"A@{SHORT}", f"A@{LONG}"} == set(captures(tmp_path / "only")), "a label stands for all its contexts"
    missing = study.run(study.root / "some.yaml", tmp_path / "only", "--only", "A@7")
    assert missing.code == 2 and "--only A@7" in missing.stderr
    good(study.run(study.root / "some.yaml", tmp_path / "all"))
    spec = json.loads((tmp_path / "all" / "figures" / "phase_portraits.vl.json").read_text())
    assert [panel["title"]["text"] for panel in spec["concat"]] == [f"A@{SHORT}", f"A@{LONG}", f"B@{LONG}"]


def test_pieces_of_long_texts(study, tmp_path):
    study.write_corpus([sum(study.rows, [])[: 12 * LONG]], "long.jsonl")
    good(study.run(study.write([SHORT, LONG], "pieces.yaml", corpus={"path": "long.jsonl", "chunk": True}), tmp_path / "out"))
    for context in (SHORT, LONG):
        info = json.loads((tmp_path / "out" / "checkpoints" / f"A@{context}" / "capture.json").read_text())
        assert info["documents"] == 12 and info["tokens"] == 12 * context, "pieces of the longest context, cut"


def test_contexts_of_some_phases(study, tmp_path):
    """A checkpoint with one context keeps its label; steps continue at the same context."""
    phases = [
        {"name": "P", "context": SHORT, "checkpoints": [{"label": "A", "path": "A"}]},
        {"name": "Q", "context": [SHORT, LONG], "checkpoints": [{"label": "B", "path": "B"}]},
        {"name": "R", "context": MIDDLE, "checkpoints": [{"label": "again", "path": "A"}]},
    ]  # fmt: skip
    good(study.run(study.write(0, "some.yaml", phases=phases), tmp_path / "out"))
    rows = table(tmp_path / "out")
    assert list(rows.checkpoint.drop_duplicates()) == ["A", f"B@{SHORT}", f"B@{LONG}", "again"]
    # Lines of figures are these steps, also from and to labels without a context.
    spec = json.loads((tmp_path / "out" / "figures" / "position_signal.vl.json").read_text())
    segments = {row["checkpoint"]: row["segment"] for row in spec["datasets"]["means"]}
    assert segments == {"A": 0, f"B@{SHORT}": 0, f"B@{LONG}": 1, "again": 1}
    contexts = {one["label"]: one["context"] for one in json.loads((tmp_path / "out" / "summary.json").read_text())["checkpoints"]}
    assert contexts == {"A": SHORT, f"B@{SHORT}": SHORT, f"B@{LONG}": LONG, "again": MIDDLE}
    changes = table(tmp_path / "out", "changes.csv")
    assert set(zip(changes["from"], changes.to, changes.kind)) == {
        ("A", f"B@{SHORT}", "step"), (f"B@{SHORT}", f"B@{LONG}", "context"), (f"B@{LONG}", "again", "step")}  # fmt: skip


@pytest.mark.parametrize(
    "context, says",
    [
        ([], "context: the list is empty; write context: 4096, or a list of them"),
        ([SHORT, SHORT], f"context: {SHORT} is in the list twice; remove one"),
        ([SHORT, -4], "context: found '-4', expected a whole number from 2 to 2147483647"),
        ([SHORT, 1], "context: found '1', expected a whole number from 2 to 2147483647"),
        ([SHORT, "long"], "context: found 'long', expected a whole number from 2 to 2147483647"),
        (str(SHORT), f"context: found '{SHORT}' in quotes, expected a whole number from 2 to 2147483647; write it without the quotes"),
        ([SHORT, str(LONG)], f"context: found '{LONG}' in quotes, expected a whole number"),
        ([SHORT, [LONG]], "context: found a list, expected a whole number from 2 to 2147483647"),
        ({"a": 1}, "context: found a map, expected a whole number from 2 to 2147483647"),
        (list(range(2, 102)), "context: 100 contexts; at most 64"),
    ],
)  # fmt: skip
def test_bad_lists_are_refused_in_one_line(study, tmp_path, context, says):
    result = study.run(study.write(context, "bad.yaml"), tmp_path / "out")
    assert result.code == 3 and says in result.stderr and "bad.yaml:" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1 and not (tmp_path / "out").exists()


def test_a_list_of_one_is_one(study, finished, tmp_path):
    good(study.run(study.write([SHORT], "one.yaml"), tmp_path / "out"))
    assert set(captures(tmp_path / "out")) == {"init", "A", "B"}


def test_analyze_orders_contexts_as_runs(finished, tmp_path):
    folders = [finished / "checkpoints" / f"{name}@{context}" for name in "AB" for context in (LONG, SHORT)]
    good(engine.run("analyze", *folders, "--out", tmp_path / "tables"))
    assert list(table(tmp_path / "tables").checkpoint.drop_duplicates()) == [f"{name}@{context}" for context in (SHORT, LONG) for name in "AB"]
    kinds = table(tmp_path / "tables", "changes.csv")
    assert set(kinds.kind) == {"step", "context", "whole"}


def test_lines_of_a_checkpoint_follow_each_other(study, tmp_path):
    """The next one begins while this one is written; its messages have been printed by then."""
    result = good(study.run(study.write([LONG, SHORT], "log.yaml"), tmp_path / "out"))
    said = [line.split(":")[0] for line in result.stderr.splitlines() if re.match(r"\S+: (running in|\d+ heads)", line)]
    labels = [f"{name}@{context}" for name in ("init", "A", "B") for context in (LONG, SHORT)]
    assert sorted(said[::2]) == sorted(labels) and said[::2] == said[1::2], result.stderr


def test_a_wrong_label_names_the_labels(study, tmp_path):
    wrong = study.run(study.write([LONG], "only.yaml"), tmp_path / "out", "--only", "nonsense")
    assert wrong.code == 2 and wrong.stderr.endswith("does not have this checkpoint; it has A, B, init\n"), wrong.stderr
    bad = study.run(study.write([LONG], "bad.yaml", portraits=["nonsense"]), tmp_path / "out")
    assert bad.code == 3 and bad.stderr.endswith("portraits: no checkpoint is labelled 'nonsense'; there are A, B, init\n"), bad.stderr
