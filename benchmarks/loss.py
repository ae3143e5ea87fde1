"""The loss of a model: `ropewalk loss` against transformers' own loss, in turn, round by round, after the numbers were found equal. On two CPU cores
SmolLM2-135M (or random weights of its shapes) in float32, documents of 1,024 tokens; on a GPU SmolLM3-3B's shapes in bfloat16, documents of 4,096. Of the
program, the time of some documents less that of a few, so that starting and reading weights do not count. Writes loss.json or loss_gpu.json. Usage:
loss.py [TOKENS [ROUNDS]]."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import cpu_threads  # noqa: E402
import gpu_model  # noqa: E402
import machine  # noqa: E402
import torch  # noqa: E402
from transformers import AutoModelForCausalLM  # noqa: E402

THREADS = 2


@dataclass
class Setting:
    name: str
    model: str
    folder: Path
    device: str
    dtype: str
    tokens: int
    few: int  # documents
    more: int
    tolerance: float  # of a loss, as a share of it


def setting(work: Path) -> Setting:
    if torch.cuda.is_available():
        return Setting("loss_gpu", "SmolLM3-3B's shapes, random weights", gpu_model.make(work / "model"), "cuda", "bfloat16", 4096, 8, 40, 0.01)
    name, folder = cpu_threads.model()
    torch.set_num_threads(THREADS)
    return Setting("loss", name, folder, "cpu", "float32", 1024, 2, 8, 1e-4)


def measured(chosen: Setting, corpus: Path, documents: int) -> tuple[float, float]:
    """Seconds, and nats per token."""
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "loss"
        command = [machine.BUILD / "ropewalk", "loss", chosen.folder, "--corpus", corpus, "--out", out, "--context", chosen.tokens, "--documents", documents,
                   "--dtype", chosen.dtype, "--device", chosen.device, "--threads", THREADS, "--log-level", "error"]  # fmt: skip
        subprocess.run([str(word) for word in command], check=True)
        total = (out / "loss.csv").read_text().splitlines()[1].split(",")
        return json.loads((out / "capture.json").read_text())["seconds"], float(total[6])


def logits_bytes(chosen: Setting) -> int | None:
    """Bytes of the GPU that logits and loss take beyond the layers before them, and the head's weights."""
    if chosen.device != "cuda":
        return None
    found = []
    for end in ("layers", "loss"):
        command = [machine.BUILD / "benchmarks" / "logits", chosen.folder, chosen.tokens, 1, chosen.device, chosen.dtype, end]
        found.append(json.loads(subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True).stdout))
    layers, loss = found
    return max(0, loss["peak_gpu_bytes"] - layers["peak_gpu_bytes"] - loss["head_bytes"])


class Peer:
    """transformers' own loss."""

    def __init__(self, chosen: Setting):
        self.device = chosen.device
        dtype = getattr(torch, chosen.dtype)
        self.model = AutoModelForCausalLM.from_pretrained(chosen.folder, dtype=dtype, attn_implementation="sdpa").to(chosen.device).eval()

    def loss(self, ids) -> float:
        return float(self.model(ids, labels=ids, use_cache=False).loss)

    def seconds(self, documents) -> float:
        start = time.perf_counter()
        for ids in documents:
            self.loss(ids)
        return (time.perf_counter() - start) / len(documents)

    def logits_bytes(self, ids) -> int | None:
        """Bytes of the GPU that logits and loss take beyond the pass before them."""
        if self.device != "cuda":
            return None
        peaks = []
        for step in (lambda: self.model.model(ids, use_cache=False), lambda: self.loss(ids)):
            torch.cuda.reset_peak_memory_stats()
            step()
            peaks.append(torch.cuda.max_memory_allocated())
        return peaks[1] - peaks[0]


def compare(chosen: Setting, work: Path, rounds: int) -> dict:
    peer = Peer(chosen)
    corpus = machine.write_corpus(work / "corpus.jsonl", chosen.more, chosen.tokens, peer.model.config.vocab_size)
    documents = [torch.tensor([json.loads(line)["tokens"]], device=chosen.device) for line in corpus.open()]
    expected = sum(map(peer.loss, documents)) / len(documents)
    _, ours = measured(chosen, corpus, chosen.more)
    assert abs(ours - expected) < chosen.tolerance * expected, (ours, expected)
    seconds = {"ropewalk": [], "transformers": []}
    for _ in range(rounds):
        few, more = (measured(chosen, corpus, count)[0] for count in (chosen.few, chosen.more))
        seconds["ropewalk"].append((more - few) / (chosen.more - chosen.few))
        seconds["transformers"].append(peer.seconds(documents[chosen.few :]))
        print({name: round(times[-1], 4) for name, times in seconds.items()}, flush=True)
    return {"model": chosen.model, "tokens": chosen.tokens, "dtype": chosen.dtype, "threads": THREADS, "loss": {"ropewalk": ours, "transformers": expected},
            "seconds": seconds, "times_faster": machine.ratio(seconds["transformers"], seconds["ropewalk"]),
            "bytes_of_logits": {"ropewalk": logits_bytes(chosen), "transformers": peer.logits_bytes(documents[0])}}  # fmt: skip


def main(tokens=None, rounds=machine.ROUNDS):
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        chosen = setting(Path(folder))
        chosen.tokens = tokens or chosen.tokens
        result = compare(chosen, Path(folder), rounds)
    if chosen.device == "cuda":
        result["gpu"] = gpu_model.describe_gpu()
    print(result["times_faster"])
    machine.write(chosen.name, result)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
