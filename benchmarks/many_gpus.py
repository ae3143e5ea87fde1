"""What many GPUs would give, worked out from what was measured: a document on one (gpu.json), what a capture takes beside
its documents and the analysis (gpu_end_to_end.json), and joining moments (processes.json). For tables.py."""

import math
import statistics

GPUS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)
DOCUMENTS, LENGTHS, JOB = 1024, (4096, 65536), 8


def parts(gpu: dict, study: dict, processes: dict) -> dict:
    """Seconds, whatever the number of GPUs; of the join, of two processes."""
    document = {row["tokens"]: row["milliseconds"]["ropewalk"]["median"] / 1000 for row in gpu["lengths"]}
    captures, analyses = zip(*study["ropewalk"]["seconds"])
    beside = statistics.median(captures) - study["documents"] * document[study["tokens"]]
    return {"document": document, "beside": beside, "join": processes["join"]["median_seconds"], "analysis": statistics.median(analyses)}


def seconds(part: dict, tokens: int, gpus: int) -> float:
    """One checkpoint. Processes are joined in pairs, then pairs of pairs."""
    documents = math.ceil(DOCUMENTS / gpus) * part["document"][tokens]
    return part["beside"] + documents + math.ceil(math.log2(gpus)) * part["join"] + part["analysis"]


def half_efficient(part: dict, tokens: int) -> int:
    alone = seconds(part, tokens, 1)
    return next(gpus for gpus in range(2, DOCUMENTS + 1) if alone / seconds(part, tokens, gpus) < gpus / 2)
