"""Whole studies, from process start to the specifications of figures, the file cache cold: against the larger of reading all weights once and computing
all documents, and against the script one would write with transformers (script.py), on some of the checkpoints. On a GPU: 4 checkpoints of
SmolLM3-3B's shapes, 20 of Pythia-160M's; without one: 3 of SmolLM2-135M's. Usage: study.py [NAME...]"""

import errno
import json
import mmap
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import machine

ROUNDS, READERS, PART = machine.ROUNDS, 8, 4 << 20
WORDS = "the of and to in is it that was for on with as his he be at by this had not are but from or have an they which".split()


@dataclass
class Kind:
    model: str
    checkpoints: int
    documents: int
    tokens: int
    device: str
    dtype: str
    script: int  # checkpoints that the script takes
    script_rounds: int = ROUNDS


KINDS = {
    "smollm3": Kind("SmolLM3-3B", 4, 64, 4096, "cuda", "bfloat16", 1, 0),  # gpu_end_to_end.py has the script's time for one
    "pythia": Kind("Pythia-160M", 20, 32, 2048, "cuda", "bfloat16", 2),
    "smollm2": Kind("SmolLM2-135M", 3, 2, 2048, "cpu", "float32", 3),
}


def make_model(name: str):
    from transformers import AutoModelForCausalLM, GPTNeoXConfig, LlamaConfig, SmolLM3Config

    special = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, use_cache=False)
    config = {
        "SmolLM3-3B": lambda: SmolLM3Config(vocab_size=128256, hidden_size=2048, intermediate_size=11008, num_hidden_layers=36, num_attention_heads=16,
                                            num_key_value_heads=4, max_position_embeddings=65536, rope_theta=5e6, tie_word_embeddings=True, **special),
        "Pythia-160M": lambda: GPTNeoXConfig(vocab_size=50304, hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12,
                                             max_position_embeddings=2048, rotary_pct=0.25, rotary_emb_base=10000, tie_word_embeddings=False, **special),
        "SmolLM2-135M": lambda: LlamaConfig(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
                                            num_key_value_heads=3, max_position_embeddings=8192, rope_theta=1e5, tie_word_embeddings=True, **special),
    }[name]()  # fmt: skip
    return AutoModelForCausalLM.from_config(config)


def unshared(model) -> dict:
    """Weights that are no other's, as a checkpoint has them."""
    shared, kept = set(), {}
    for name, value in model.state_dict().items():
        if value.data_ptr() not in shared:
            shared.add(value.data_ptr())
            kept[name] = value
    return kept


def make_checkpoints(kind: Kind, root: Path) -> list[Path]:
    """All different, as a run's are."""
    import torch
    from safetensors.torch import save_file

    dtype = torch.float16 if kind.model.startswith("Pythia") else torch.bfloat16
    torch.set_default_dtype(dtype)
    with torch.device(kind.device):
        torch.manual_seed(0)
        model = make_model(kind.model)
    torch.set_default_dtype(torch.float32)
    folders = [root / f"step{1000 * (number + 1)}" for number in range(kind.checkpoints)]
    with ThreadPoolExecutor(4) as pool:
        saved = []
        for number, folder in enumerate(folders):
            model.config.save_pretrained(folder)
            tensors = {name: (value * (1 + number / 100)).cpu() for name, value in unshared(model).items()}
            saved.append(pool.submit(save_file, tensors, folder / "model.safetensors", {"format": "pt"}))
        for one in saved:
            one.result()
    del model
    if kind.device == "cuda":
        torch.cuda.empty_cache()
    return folders


def weights(folders):
    return [path for folder in folders for path in sorted(folder.glob("*.safetensors"))]


def forget(folders):
    machine.forget(weights(folders))


def reading(folders, flags=0) -> float | None:
    """Seconds to read all weights once, a few parts at a time; None where the file system refuses these flags."""

    def read(chunk):
        path, begin = chunk
        with mmap.mmap(-1, PART) as part:  # aligned, as O_DIRECT wants it
            file = os.open(path, os.O_RDONLY | flags)
            try:
                for offset in range(begin, min(begin + 16 * PART, path.stat().st_size), PART):
                    os.preadv(file, [part], offset)
            finally:
                os.close(file)

    forget(folders)
    chunks = [(path, begin) for path in weights(folders) for begin in range(0, path.stat().st_size, 16 * PART)]
    start = time.perf_counter()
    try:
        with ThreadPoolExecutor(READERS) as pool:
            list(pool.map(read, chunks))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return None
    return time.perf_counter() - start


def best_reading(folders) -> dict[str, float | None]:
    """Through the system's cache of files, past it, and the faster of the two."""
    cached, direct = reading(folders), reading(folders, os.O_DIRECT)
    return {"reading": min(cached, direct or cached), "reading_cached": cached, "reading_direct": direct}


def computing(kind: Kind, folder: Path) -> float:
    """Seconds to compute all documents with what a capture keeps of them, weights being there."""
    size = min(kind.documents, 32)
    command = [machine.BUILD / "benchmarks" / "forward", folder, str(kind.tokens), "3" if size * kind.tokens > 10**5 else "5", str(size), kind.device, kind.dtype]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return statistics.median(json.loads(done.stdout)["with_all"]) * kind.documents * kind.checkpoints


class Busy:
    """The share of time in which the GPU computes, as its driver says."""

    def __enter__(self):
        self.shares, self._process = [], None
        if shutil.which("nvidia-smi"):
            command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "100"]
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            threading.Thread(target=self._read, daemon=True).start()
        return self

    def _read(self):
        for line in self._process.stdout:
            self.shares.append(float(line) / 100)

    def __exit__(self, *_):
        if self._process:
            self._process.terminate()

    def share(self):
        return statistics.mean(self.shares) if self.shares else None


def write_experiment(kind: Kind, root: Path, folders) -> Path:
    machine.write_corpus(root / "tokens.jsonl", kind.documents, kind.tokens, 40000)  # for the script, which makes no tokens
    chooser = random.Random(0)
    texts = (" ".join(chooser.choices(WORDS, k=2 * kind.tokens)) for _ in range(kind.documents))
    corpus = root / "text.jsonl"
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    tokenizer = machine.ROOT / "data" / "demo" / "tokenizer.json"
    lines = [f"name: {kind.model}'s shapes", f"corpus: {{path: {corpus}}}", f"tokenizer: {tokenizer}", f"device: {kind.device}", f"dtype: {kind.dtype}", "phases:", "  - name: Run",
             f"    context: {kind.tokens}", "    checkpoints:", *(f"      - {{label: {folder.name}, path: {folder}}}" for folder in folders)]  # fmt: skip
    path = root / "experiment.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def ours(root: Path, experiment: Path, folders, number: int):
    out = root / f"out{number}"
    forget(folders)
    environment = {**os.environ, "ROPEWALK_CACHE": str(root / f"cache{number}")}  # no hash is remembered
    with Busy() as busy:
        start = time.perf_counter()
        done = subprocess.run([machine.BUILD / "ropewalk", "run", experiment, "--out", out, "--format", "json", "--log-level", "debug"],
                              env=environment, stderr=subprocess.PIPE, text=True)  # fmt: skip
        seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    stages = json.loads((out / "manifest.json").read_text()).get("seconds")
    if number == 0:
        print("\n".join(line for line in done.stderr.splitlines() if "debug" in line), flush=True)
    shutil.rmtree(out)
    return seconds, busy.share(), stages


def script(kind: Kind, root: Path, folders) -> float:
    some = folders[: kind.script]
    forget(some)
    start = time.perf_counter()
    command = [sys.executable, machine.ROOT / "benchmarks" / "script.py", root / "tokens.jsonl", kind.tokens, kind.device, kind.dtype, root / "script", *some]
    subprocess.run(list(map(str, command)), check=True, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - start) * kind.checkpoints / kind.script


def study(kind: Kind, rounds: int) -> dict:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        folders = make_checkpoints(kind, root)
        experiment = write_experiment(kind, root, folders)
        compute = computing(kind, folders[0])
        runs = {"ropewalk": [], "reading": [], "reading_cached": [], "reading_direct": [], "script": []}
        busy, stages = [], []
        for number in range(rounds):
            for way, seconds in best_reading(folders).items():
                runs[way].append(seconds)
            seconds, share, stage = ours(root, experiment, folders, number)
            runs["ropewalk"].append(seconds)
            busy.append(share)
            stages.append(stage)
            if number < kind.script_rounds:
                runs["script"].append(script(kind, root, folders))
            print({name: round(times[-1], 2) for name, times in runs.items() if times and times[-1]}, "computing", round(compute, 2), "busy", share, flush=True)
    limits = [max(seconds, compute) for seconds in runs["reading"]]
    if None in runs["reading_direct"]:
        del runs["reading_direct"]
    result = {**vars(kind), "seconds": {**runs, "computing": compute}, "stages": stages[-1]}
    if rounds >= machine.ROUNDS:
        result["times_the_limit"] = machine.ratio(runs["ropewalk"], limits)
        if len(runs["script"]) == rounds:
            result["times_faster"] = machine.ratio(runs["script"], runs["ropewalk"])
    if busy[0] is not None:
        result["gpu_busy"] = statistics.median(busy)
    return result


def main():
    import torch

    rounds = int(os.environ.get("ROUNDS", ROUNDS))  # fewer are for a look, and are not written
    device = "cuda" if torch.cuda.is_available() else "cpu"
    names = sys.argv[1:] or [name for name, kind in KINDS.items() if kind.device == device]
    for name in names:
        result = study(KINDS[name], rounds)
        if rounds < machine.ROUNDS:
            print(json.dumps(result))
            continue
        if KINDS[name].device == "cuda":
            import gpu_model

            result["gpu"] = gpu_model.describe_gpu()
        machine.write(f"study_{name}", result)
        print({key: result[key] for key in ("times_the_limit", "times_faster", "gpu_busy") if key in result})


if __name__ == "__main__":
    main()
