"""Fuzzes every target for FUZZ_SECONDS (600), one after another, and writes benchmarks/results/fuzz.json.

.venv/bin/python tests/fuzz/run.py BUILD_FOLDER [TARGET...]

Findings are stored as tests/fuzz/regressions/TARGET/NAME, for `make test` to replay; the exit code is then 1. Interesting inputs stay in
BUILD_FOLDER/corpus, so that the next run continues from there.
"""
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "benchmarks"))
import machine  # noqa: E402

RESULTS = machine.RESULTS / "fuzz.json"
TARGETS = ["safetensors", "pytorch", "config", "experiment", "dataset_card", "moments", "merge", "parquet", "jsonl", "tables"]
SECONDS_FOR_ONE = 10
MEMORY_MB = 2048


def fuzz(build, target, seconds):
    learnt, found = build / "corpus" / target, build / "findings" / target
    learnt.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True)
    command = [str(build / "tests" / "fuzz" / f"fuzz_{target}"), f"-max_total_time={seconds}", "-max_len=4096",
               f"-timeout={SECONDS_FOR_ONE}", f"-rss_limit_mb={MEMORY_MB}", "-print_final_stats=1",
               f"-artifact_prefix={found}/", str(learnt)]
    command += [str(seeds) for seeds in (HERE / "corpus" / target, HERE / "regressions" / target) if seeds.is_dir()]
    dictionary = HERE / "dictionaries" / target
    if dictionary.exists():
        command.insert(1, f"-dict={dictionary}")
    done = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace",
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    findings = sorted(found.iterdir())
    for finding in findings:
        (HERE / "regressions" / target).mkdir(parents=True, exist_ok=True)
        shutil.copy(finding, HERE / "regressions" / target / finding.name)
    if done.returncode != 0:
        print(done.stderr[-5000:], file=sys.stderr)
    return report(done.stderr) | {"findings": [finding.name for finding in findings], "exit_code": done.returncode}


def report(log):
    """The numbers libFuzzer prints; `coverage` counts edges of the program's own code."""
    def last(pattern):
        numbers = re.findall(pattern, log)
        return int(numbers[-1]) if numbers else None
    return {"seconds": last(r"Done \d+ runs in (\d+) second"), "executions": last(r"number_of_executed_units: (\d+)"),
            "coverage": last(r"cov: (\d+)"), "peak_memory_mb": last(r"peak_rss_mb: +(\d+)")}


def describe(build):
    """The machine, and which code is instrumented (by the compiler) or linked without instrumentation."""
    cache = (build / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.M).group(1)
    clang = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return {"machine": {"cpu": machine.cpu_name(), "cores": os.cpu_count(), "system": platform.platform()},
            "versions": {"compiler": clang, "torch": version("torch"), "pyarrow": version("pyarrow")}}


def main():
    build, seconds = Path(sys.argv[1]), int(os.environ.get("FUZZ_SECONDS", "600"))
    results = (json.loads(RESULTS.read_text()) if RESULTS.exists() else {}) | describe(build)
    failed = False
    for target in sys.argv[2:] or TARGETS:
        (HERE / "regressions" / target).mkdir(parents=True, exist_ok=True)
        print(f"fuzz: {target} for {seconds} s", file=sys.stderr, flush=True)
        outcome = fuzz(build, target, seconds) | {"date": datetime.date.today().isoformat()}
        print(f"fuzz: {target}: {json.dumps(outcome)}", file=sys.stderr, flush=True)
        failed = failed or outcome["exit_code"] != 0
        results.setdefault("targets", {})[target] = outcome
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
