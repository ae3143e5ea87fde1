"""Nothing is timed before it is right: the table of heads against transformers' queries and keys and scikit-learn's PCA."""

import json
import os
import sys
import tempfile
from pathlib import Path

import machine

sys.path.insert(0, str(machine.ROOT / "tests" / "golden"))
os.environ.setdefault("ROPEWALK", str(machine.BUILD / "ropewalk"))

import analysis_reference  # noqa: E402
import engine  # noqa: E402
import numpy as np  # noqa: E402
import pandas  # noqa: E402
import reference  # noqa: E402

DOCUMENTS, TOKENS = 2, 256


def check(model: Path) -> dict:
    """Captures and analyzes short documents of random tokens; stops when a number of any head differs."""
    config = json.loads((model / "config.json").read_text())
    random = np.random.default_rng(0)
    texts = {i: random.integers(config["vocab_size"], size=TOKENS).tolist() for i in range(DOCUMENTS)}
    with tempfile.TemporaryDirectory() as temporary:
        corpus, out = Path(temporary) / "tokens.jsonl", Path(temporary) / "out"
        corpus.write_text("".join(json.dumps({"id": i, "tokens": ids}) + "\n" for i, ids in texts.items()))
        for command in (["capture", model, "--corpus", corpus, "--context", TOKENS, "--dtype", "float32", "--out", out],
                        ["analyze", out, "--out", out / "tables"]):  # fmt: skip
            done = engine.run(*command, "--quiet", timeout=600)
            assert done.code == 0, done.stderr
        table = pandas.read_csv(out / "tables" / "qk.csv")
    joined = {stream: np.concatenate([documents[i] for i in texts]) for stream, documents in
              reference.capture(model, texts, TOKENS, fresh=False).items()}  # fmt: skip
    position = np.tile(np.arange(TOKENS), DOCUMENTS)
    group = config["num_attention_heads"] // config["num_key_value_heads"]
    heads = {(layer, head): analysis_reference.analyze_head(q, position, joined[layer, head // group, "k"], position, solver="covariance_eigh")
             for (layer, head, kind), q in joined.items() if kind == "q"}  # fmt: skip
    analysis_reference.compare_table(table, heads)
    difference = max(abs(abs(row.r_q) - abs(heads[row.layer, row.q_head][0][0][1])) for row in table.query("pc == 0").itertuples()
                     if analysis_reference.separated(heads[row.layer, row.q_head][1], 0))  # fmt: skip
    return {"documents": DOCUMENTS, "tokens": TOKENS, "heads": len(heads), "difference_r_q": float(difference)}
