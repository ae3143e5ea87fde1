"""What a capture on the CPU costs as it grows in one direction: documents, tokens per document, layers, heads measured,
threads. Times are of whole processes less that of a capture of a single token (the start); memory is a process's peak.
Everything in turn, round by round. Usage: scaling.py [SHARE OF THE SIZES [ROUNDS]], for a trial"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TQDM_DISABLE", "1")

import machine  # noqa: E402

sys.path.insert(0, str(machine.ROOT / "tests" / "golden"))
os.environ.setdefault("ROPEWALK", str(machine.BUILD / "ropewalk"))

import engine  # noqa: E402
import numpy as np  # noqa: E402

MEMORY = "1GiB"  # not what happens to be free
# With more documents nothing but moments could grow: hidden states of a few documents at a time, all blocks in use.
DOCUMENT_OPTIONS = ("--memory", "650MiB", "--blocks", 2)


class Sizes:
    """What is run; a share of it for a trial."""

    def __init__(self, share: float):
        scaled = lambda tokens: max(16, int(share * tokens))
        self.documents = [2, 4, 8, 16, 32, 64]
        self.document_tokens = scaled(256)
        self.tokens = [scaled(tokens) for tokens in (256, 512, 1024, 2048, 4096, 8192)]
        self.fewest_tokens = scaled(1024)  # of shorter documents, several
        self.layers = [2, 4, 8, 16, 32]
        self.heads = [9, 30, 90, 180, 270]
        self.other_tokens = scaled(1024)  # a document, where tokens do not vary
        self.threads = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= os.cpu_count()]


def make_models(root: Path, layers: list[int]) -> dict[int, Path]:
    """SmolLM2-135M's shapes at several depths, random weights, a small vocabulary."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    folders = {}
    for count in layers:
        torch.manual_seed(0)
        config = LlamaConfig(vocab_size=1024, hidden_size=576, intermediate_size=1536, num_hidden_layers=count, num_attention_heads=9,
                             num_key_value_heads=3, max_position_embeddings=8192, tie_word_embeddings=True)  # fmt: skip
        folders[count] = root / f"layers{count}"
        LlamaForCausalLM(config).save_pretrained(folders[count])
    return folders


class Captures:
    def __init__(self, root: Path):
        self.root, self.count = root, 0

    def corpus(self, documents: int, tokens: int) -> Path:
        """Random tokens below 1,024, which every model here knows; the same every time."""
        path = self.root / f"{documents}x{tokens}.jsonl"
        if not path.exists():
            random = np.random.default_rng(0)
            path.write_text("".join(json.dumps({"tokens": random.integers(1024, size=tokens).tolist()}) + "\n" for _ in range(documents)))
        return path

    def run(self, model: Path, documents: int, tokens: int, *options) -> tuple[float, int]:
        """Seconds of a whole process and the most memory it held."""
        self.count += 1
        corpus, note = self.corpus(documents, tokens), self.root / "note"
        command = [engine.program(), "capture", model, "--corpus", corpus, "--context", tokens, "--dtype", "float32",
                   "--device", "cpu", "--quiet", "--out", self.root / f"out{self.count}", *options]  # fmt: skip
        if "--memory" not in options:
            command += ["--memory", MEMORY]
        start = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-S", "-c", engine._MEASURE, str(note), *map(str, command)], check=True)
        return time.perf_counter() - start, int(note.read_text())


def settings(sizes: Sizes, models: dict[int, Path]) -> list[tuple]:
    """(what varies, its value, tokens in all, arguments of Captures.run)"""
    smollm2, tokens = machine.SMOLLM2, sizes.other_tokens
    found = [("documents", n, n * sizes.document_tokens, (smollm2, n, sizes.document_tokens, *DOCUMENT_OPTIONS)) for n in sizes.documents]
    for n in sizes.tokens:
        documents = max(1, sizes.fewest_tokens // n)
        found.append(("tokens", n, documents * n, (smollm2, documents, n)))
    for n in sizes.layers:
        documents = max(1, 8 // n)  # of few layers, one alone would take no time to speak of
        found.append(("layers", n, documents * tokens, (models[n], documents, tokens)))
    found += [("heads", n, tokens, (smollm2, 1, tokens, "--heads", n)) for n in sizes.heads]
    found += [("threads", n, tokens, (smollm2, 1, tokens, "--threads", n)) for n in sizes.threads]
    return found


def main(share=1.0, rounds=3):
    sizes = Sizes(share)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        models, captures = make_models(root, sizes.layers), Captures(root)
        runs = settings(sizes, models)
        starts, measured = {}, [[] for _ in runs]
        captures.run(machine.SMOLLM2, 1, 1)  # the weights come into the file cache
        for _ in range(int(rounds)):
            for model in dict.fromkeys(arguments[0] for *_, arguments in runs):
                starts.setdefault(model, []).append(captures.run(model, 1, 1)[0])
            for (axis, value, _, arguments), results in zip(runs, measured):
                results.append(captures.run(*arguments))
                print(axis, value, results[-1], flush=True)
    result = {"model": machine.SMOLLM2.name, "memory_budget": MEMORY, "options_of_documents": DOCUMENT_OPTIONS, "document_tokens": sizes.document_tokens, "other_tokens": sizes.other_tokens,
              "start_seconds": statistics.median(starts[machine.SMOLLM2])}  # fmt: skip
    for (axis, value, tokens, arguments), results in zip(runs, measured):
        start = statistics.median(starts[arguments[0]])
        costs = [1000 * (seconds - start) / tokens for seconds, _ in results]
        result.setdefault(axis, []).append({
            axis: value, "tokens_in_all": tokens, "seconds": [seconds for seconds, _ in results], "start_seconds": start,
            "milliseconds_a_token": statistics.median(costs), "spread": [min(costs), max(costs)],
            "peak_memory_bytes": max(memory for _, memory in results),
        })  # fmt: skip
    machine.write("scaling", result)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
