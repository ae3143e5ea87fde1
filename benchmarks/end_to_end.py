"""From a checkpoint on disk to the table of heads: Ropewalk against the script one would write with transformers and
scikit-learn. Both take every token of the same documents in float32, and the tables must agree before anything is timed."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine

sys.path.insert(0, str(machine.ROOT / "tests" / "golden"))
os.environ.setdefault("ROPEWALK", str(machine.BUILD / "ropewalk"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import analysis_reference  # noqa: E402
import engine  # noqa: E402
import numpy as np  # noqa: E402
import pandas  # noqa: E402

DOCUMENTS, CONTEXT = 6, 2048


def peer(model: Path, corpus: Path, table: Path):
    """Keeps the queries and keys that a hook sees, then runs PCA head by head."""
    import reference

    texts = {i: json.loads(line)["tokens"] for i, line in enumerate(corpus.open())}
    streams = reference.capture(model, texts, CONTEXT, fresh=False)
    position = np.tile(np.arange(CONTEXT), len(texts))
    joined = {stream: np.concatenate(list(documents.values())) for stream, documents in streams.items()}
    config = json.loads((model / "config.json").read_text())
    group = config["num_attention_heads"] // config["num_key_value_heads"]
    rows = []
    for layer, head, kind in sorted(joined):
        if kind == "q":
            numbers, _ = analysis_reference.analyze_head(joined[layer, head, "q"], position, joined[layer, head // group, "k"], position,
                                                         solver="covariance_eigh")
            rows += [(layer, head, pc, *row) for pc, row in enumerate(numbers)]
    pandas.DataFrame(rows, columns=["layer", "q_head", "pc", "explained_variance", "r_q", "r_k"]).to_csv(table, index=False)


def timed(note: Path, *command) -> tuple[float, int]:
    """Seconds from start to end of a program, and the most memory it held."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-I", "-S", "-c", engine._MEASURE, str(note), *map(str, command)], check=False)
    assert done.returncode == 0, command
    return time.perf_counter() - start, int(note.read_text())


def main():
    model = machine.SMOLLM2
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        from tokenizers import Tokenizer

        tokenizer, texts = Tokenizer.from_file(str(model / "tokenizer.json")), []
        for manual in sorted((machine.ROOT / ".cache" / "perl-manuals").glob("*.txt")):
            ids = tokenizer.encode(manual.read_text()).ids
            if len(ids) >= CONTEXT and len(texts) < DOCUMENTS:
                texts.append(ids[:CONTEXT])
        corpus = root / "tokens.jsonl"
        corpus.write_text("".join(json.dumps({"tokens": ids}) + "\n" for ids in texts))
        runs = {"ropewalk": [], "peer": []}
        for i in range(machine.ROUNDS):
            out, note = root / f"out{i}", root / "note"
            capture = timed(note, engine.program(), "capture", model, "--corpus", corpus, "--context", CONTEXT, "--dtype", "float32",
                            "--quiet", "--out", out)  # fmt: skip
            analyze = timed(note, engine.program(), "analyze", out, "--out", out / "tables", "--quiet")
            runs["ropewalk"].append((capture[0] + analyze[0], max(capture[1], analyze[1])))
            runs["peer"].append(timed(note, sys.executable, __file__, "peer", model, corpus, root / "peer.csv"))
            if i == 0:
                ours = pandas.read_csv(out / "tables" / "qk.csv").query("pc == 0").set_index(["layer", "q_head"])
                theirs = pandas.read_csv(root / "peer.csv").query("pc == 0").set_index(["layer", "q_head"])
                worst = float((ours.r_q.abs() - theirs.r_q.abs()).abs().quantile(0.99))
                assert worst < 1e-3, f"not the same numbers: {worst}"
    result = {"model": model.name, "documents": DOCUMENTS, "tokens": CONTEXT, "heads": len(ours), "difference_r_q_99_percent": worst}
    for name, measured in runs.items():
        seconds, memory = zip(*measured)
        result[name] = {"seconds": seconds, "median_seconds": statistics.median(seconds), "peak_memory_bytes": max(memory)}
    result["times_faster"] = machine.ratio(result["peer"]["seconds"], result["ropewalk"]["seconds"])
    result["times_less_memory"] = result["peer"]["peak_memory_bytes"] / result["ropewalk"]["peak_memory_bytes"]
    machine.write("end_to_end", result)
    print(f"{result['times_faster']['median']:.2f} times faster, {result['times_less_memory']:.1f} times less memory")


if __name__ == "__main__":
    peer(*map(Path, sys.argv[2:])) if sys.argv[1:2] == ["peer"] else main()
