"""Writes the numbers of documents from results/*.json: what stands between `<!-- table:NAME -->` and `<!-- end -->` in
docs/performance.md, docs/method.md, docs/forecast.md, docs/demo.md and README.md. A block whose results are not there yet stays empty. Usage: tables.py"""

import json
import re
from pathlib import Path

import method_tables
import performance_tables

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
DOCUMENTS = ("README.md", "docs/demo.md", "docs/method.md", "docs/forecast.md", "docs/performance.md")
WRITERS = {**vars(method_tables), **vars(performance_tables)}
# Name of the block: (its results, what writes it)
BLOCKS = {"readme": (["end_to_end"], performance_tables.readme), "needs": (["smollm2_ablate"], method_tables.needs),
          "weak_scaling": (["processes"], performance_tables.weak_scaling),
          "studies_gpu": (["study_smollm3", "study_pythia"], performance_tables.studies), "studies_cpu": (["study_smollm2"], performance_tables.studies),
          "many_gpus": (["gpu", "gpu_end_to_end", "processes"], performance_tables.many_gpus),
          **{name: ([name], WRITERS[name]) for name in ("gpu", "gpu_end_to_end", "cpu", "cpu_threads", "end_to_end", "moments_cost", "rows_cost", "rows_cost_gpu", "scaling", "analysis", "smollm2", "smollm2_ablate", "forecast", "frequencies", "coverage", "contexts", "demo")}}  # fmt: skip


def written(text: str, results: Path = RESULTS) -> str:
    """The document with its blocks as the results have them."""

    def block(found: re.Match) -> str:
        sources, write = BLOCKS[found[1]]
        paths = [results / f"{source}.json" for source in sources]
        inside = f"\n{write(*(json.loads(path.read_text()) for path in paths))}\n" if all(path.exists() for path in paths) else ""
        return f"<!-- table:{found[1]} -->\n{inside}\n<!-- end -->"

    return re.sub(r"<!-- table:(\w+) -->\n.*?<!-- end -->", block, text, flags=re.S)


def main():
    for name in DOCUMENTS:
        path = ROOT / name
        path.write_text(written(path.read_text()))


if __name__ == "__main__":
    main()
