"""Standard errors of sampled vectors (one token a bucket, 16 buckets a document) and of all tokens, on a real
model, against the number of documents; and how many times fewer documents all tokens need for the same error."""

import glob
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import machine

sys.path.insert(0, str(machine.ROOT / "tests" / "golden"))
import pandas  # noqa: E402

model = Path(sys.argv[1]) if len(sys.argv) > 1 else machine.SMOLLM2
context, counts = 1024, [8, 16, 32, 64]
ropewalk = machine.BUILD / "ropewalk"
rows = []
with tempfile.TemporaryDirectory() as temporary:
    root = Path(temporary)
    corpus = root / "pods"
    corpus.mkdir()
    for path in sorted(glob.glob("/usr/share/perl/*/pod/*.pod")):
        text = Path(path).read_bytes().decode("utf-8", "replace")
        (corpus / (Path(path).stem + ".txt")).write_text(text)
    for count in counts:
        out = root / str(count)
        subprocess.run([ropewalk, "capture", model, "--corpus", corpus, "--out", out, "--context", str(context), "--documents",
                        str(count), "--vectors", "uniform", "--dtype", "float32", "--quiet"], check=True)  # fmt: skip
        row = {"documents": count}
        for source in ("moments", "vectors"):
            tables = root / source / str(count)
            subprocess.run([ropewalk, "analyze", out, "--from", source, "--out", tables, "--quiet"], check=True)
            qk = pandas.read_csv(tables / "qk.csv")
            summary = json.loads((tables / "summary.json").read_text())
            row[source] = {
                "median_r_q_se": float(qk[qk.pc == 0].r_q_se.median()),
                "mean_r_q_se": next(iter(summary["mean_r_q"].values()))["se"],
                "mean_r_q": next(iter(summary["mean_r_q"].values()))["value"],
            }
        row["fewer_documents_head"] = (row["vectors"]["median_r_q_se"] / row["moments"]["median_r_q_se"]) ** 2
        row["fewer_documents_mean"] = (row["vectors"]["mean_r_q_se"] / row["moments"]["mean_r_q_se"]) ** 2
        rows.append(row)
        print(row)
result = {
    "model": model.name, "context": context, "text": "manuals of perl-doc", "rows": rows,
    "fewer_documents_head": statistics.median(r["fewer_documents_head"] for r in rows),
    "fewer_documents_mean": statistics.median(r["fewer_documents_mean"] for r in rows),
}  # fmt: skip
machine.write("sampling_noise", result)
