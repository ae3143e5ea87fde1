"""The loss of SmolLM2-135M (or random weights of its shapes) on two CPU cores in float32, documents of 1,024 tokens: `ropewalk loss` against
transformers' own loss, in turn, round by round, after the numbers were found equal. Of the program, the time of some documents
less that of a few, so that starting and reading weights do not count. Writes loss.json. Usage: loss.py [TOKENS [ROUNDS]]."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import cpu_threads  # noqa: E402
import machine  # noqa: E402
import torch  # noqa: E402
from transformers import AutoModelForCausalLM  # noqa: E402

THREADS, FEW, MORE, TOLERANCE = 2, 2, 8, 1e-4  # documents; of a loss


def measured(folder: Path, corpus: Path, tokens: int, documents: int) -> tuple[float, float]:
    """Seconds, and nats per token."""
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "loss"
        command = [machine.BUILD / "ropewalk", "loss", folder, "--corpus", corpus, "--out", out, "--context", tokens, "--documents", documents,
                   "--dtype", "float32", "--device", "cpu", "--threads", THREADS, "--log-level", "error"]  # fmt: skip
        subprocess.run([str(word) for word in command], check=True)
        total = (out / "loss.csv").read_text().splitlines()[1].split(",")
        return json.loads((out / "capture.json").read_text())["seconds"], float(total[6])


def main(tokens=1024, rounds=machine.ROUNDS):
    name, folder = cpu_threads.model()
    torch.set_num_threads(THREADS)
    peer = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa").eval()
    seconds = {"ropewalk": [], "transformers": []}
    with tempfile.TemporaryDirectory() as work, torch.inference_mode():
        corpus = machine.write_corpus(Path(work) / "corpus.jsonl", MORE, tokens, peer.config.vocab_size)
        documents = [torch.tensor([json.loads(line)["tokens"]]) for line in corpus.open()]
        losses = [float(peer(ids, labels=ids, use_cache=False).loss) for ids in documents]
        _, ours = measured(folder, corpus, tokens, MORE)
        expected = sum(losses) / len(losses)
        assert abs(ours - expected) < TOLERANCE * expected, (ours, expected)
        for _ in range(rounds):
            few, more = (measured(folder, corpus, tokens, count)[0] for count in (FEW, MORE))
            seconds["ropewalk"].append((more - few) / (MORE - FEW))
            start = time.perf_counter()
            for ids in documents[FEW:]:
                peer(ids, labels=ids, use_cache=False)
            seconds["transformers"].append((time.perf_counter() - start) / (MORE - FEW))
    result = {"model": name, "tokens": tokens, "threads": THREADS, "loss": {"ropewalk": ours, "transformers": expected}, "seconds": seconds,
              "times_faster": machine.ratio(seconds["transformers"], seconds["ropewalk"])}  # fmt: skip
    print(result["times_faster"])
    machine.write("loss", result)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
