"""What many GPUs would give, worked out from measured parts: results/gpu.json (a document on one H200) and
results/processes.json (what does not shrink with more processes). Writes the tables of docs/performance.md, between its
marks; a test checks that they are what the results give. Needs nothing but Python."""

import json
import math
import re
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
DOCUMENT = RESULTS.parent.parent / "docs" / "performance.md"
GPUS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)
DOCUMENTS, LENGTHS, JOB = 1024, (4096, 65536), 8


def smollm3_bytes() -> int:
    """Of the weights in bfloat16: what a process reads."""
    layers, d, mlp, heads, kv_heads, head, vocabulary = 36, 2048, 11008, 16, 4, 128, 128256
    layer = d * head * (heads + 2 * kv_heads) + heads * head * d + 3 * d * mlp + 2 * d
    return 2 * (layers * layer + vocabulary * d)


def read(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())


def parts(gpu: dict, processes: dict) -> dict:
    """Seconds, whatever the number of GPUs; of the join, of two processes."""
    return {
        "start": processes["start"]["median_seconds"],
        "load": smollm3_bytes() / processes["load"]["bytes_a_second"],
        "join": processes["moments"]["bytes_a_process"] / processes["join"]["bytes_a_second"],
        "write": processes["write"]["median_seconds"],
        "analyze": processes["analyze"]["median_seconds"],
        "document": {row["tokens"]: row["milliseconds"]["ropewalk"]["median"] / 1000 for row in gpu["lengths"]},
    }


def seconds(part: dict, tokens: int, gpus: int) -> float:
    """One checkpoint. A sum over n processes moves 2 (n - 1) / n times the bytes of one; over two, once."""
    documents = math.ceil(DOCUMENTS / gpus) * part["document"][tokens]
    join = 2 * (gpus - 1) / gpus * part["join"]
    return part["start"] + part["load"] + documents + join + part["write"] + part["analyze"]


def half_efficient(part: dict, tokens: int) -> int:
    alone = seconds(part, tokens, 1)
    return next(gpus for gpus in range(2, DOCUMENTS + 1) if alone / seconds(part, tokens, gpus) < gpus / 2)


def weak_scaling() -> list[str]:
    measured = read("processes")
    lines = [
        f"{measured['cores']} cores, {measured['model']}, {measured['dtype']}, documents of {measured['tokens_a_document']:,} tokens, {measured['mpi']}:",
        "",
        "| processes | documents | seconds | perfect | efficiency |",
        "|---|---|---|---|---|",
    ]
    for row in measured["weak_scaling"]:
        perfect, share = row["seconds_with_perfect_scaling"], row["efficiency"]
        lines.append(f"| {row['processes']} | {row['documents']} | {row['median_seconds']:.1f} | {perfect:.1f} | {share:.0%} |")
    return lines


def many_gpus() -> list[str]:
    gpu, processes = read("gpu"), read("processes")
    part = parts(gpu, processes)
    lines = ["| part | seconds |", "|---|---|"]
    for tokens in LENGTHS:
        lines.append(f"| a document of {tokens:,} tokens | {part['document'][tokens]:.3f} |")
    lines += [
        f"| start of the processes | {part['start']:.1f} |",
        f"| reading {smollm3_bytes() / 1e9:.1f} GB of weights at {processes['load']['bytes_a_second'] / 1e9:.2f} GB/s | {part['load']:.1f} |",
        f"| summing {processes['moments']['bytes_a_process'] / 1e9:.2f} GB of moments over two processes | {part['join']:.1f} |",
        f"| writing them | {part['write']:.1f} |",
        f"| analysis, {processes['analyze']['cores']} cores | {part['analyze']:.1f} |",
        "",
        "| GPUs | " + " | ".join(f"{tokens:,} tokens: seconds | times faster | checkpoints an hour | in jobs of {JOB}" for tokens in LENGTHS) + " |",
        "|---" * (1 + 4 * len(LENGTHS)) + "|",
    ]
    for gpus in GPUS:
        cells = []
        for tokens in LENGTHS:
            time = seconds(part, tokens, gpus)
            jobs = f"{gpus / JOB * 3600 / seconds(part, tokens, JOB):,.0f}" if gpus >= JOB else ""
            cells += [f"{time:,.0f}", f"{seconds(part, tokens, 1) / time:.1f}", f"{3600 / time:,.0f}", jobs]
        lines.append(f"| {gpus:,} | " + " | ".join(cells) + " |")
    halves = [f"{half_efficient(part, tokens):,} with {tokens:,} tokens" for tokens in LENGTHS]
    lines += ["", f"GPUs at which the speed-up falls to half their number: {', '.join(halves)}."]
    return lines


def fill(text: str) -> str:
    """The document with its tables made anew."""
    for name, lines in (("weak scaling", weak_scaling()), ("many GPUs", many_gpus())):
        marks = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text, found = re.subn(marks, lambda mark: mark[1] + "\n".join(lines) + "\n" + mark[2], text, flags=re.S)
        assert found == 1, name
    return text


if __name__ == "__main__":
    DOCUMENT.write_text(fill(DOCUMENT.read_text()))
