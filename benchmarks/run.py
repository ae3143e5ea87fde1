"""Times `ropewalk capture` against transformers on a model made on the spot.

Verifies first: both must give the same queries and keys. Prints a table and writes JSON with machine, versions,
date, medians and ratios.
"""

import argparse
import dataclasses
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "golden"))
os.environ.setdefault("ROPEWALK", str(ROOT / "build" / "ropewalk"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

import engine  # noqa: E402
import reference  # noqa: E402
import tiny_models  # noqa: E402


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def seconds(work, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def largest_difference(captured, expected) -> float:
    """In units of each stream's root mean square."""
    assert captured.keys() == expected.keys()
    worst = 0.0
    for stream, documents in expected.items():
        for key, truth in documents.items():
            difference = np.abs(captured[stream][key] - truth).max()
            worst = max(worst, float(difference / np.sqrt(np.mean(np.square(truth, dtype=np.float64)))))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench.json")
    parser.add_argument("--tokens", type=int, default=1024, help="tokens a document")
    parser.add_argument("--documents", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        llama = tiny_models.big_llama()
        llama = dataclasses.replace(llama, config=dict(llama.config, max_position_embeddings=options.tokens))
        folder = tiny_models.write(llama, root / "model")
        generator = torch.Generator().manual_seed(0)
        texts = {key: torch.randint(tiny_models.VOCAB, (options.tokens,), generator=generator).tolist()
                 for key in range(options.documents)}  # fmt: skip
        corpus = tiny_models.write_corpus(root / "tokens.jsonl", texts)

        captured = engine.read_streams(engine.capture(folder, corpus, root / "all", context=options.tokens))
        difference = largest_difference(captured, reference.capture(folder, texts, options.tokens, fresh=False))
        assert difference <= 1e-3, f"not the same queries and keys: {difference}"
        del captured

        made = iter(range(10_000))

        def ropewalk():
            # A few vectors a stream, so that what is timed is the model and not the disk.
            result = engine.run("capture", folder, "--corpus", corpus, "--out", root / f"out-{next(made)}", "--context",
                                options.tokens, "--vectors", "uniform", "--dtype", "float32", "--quiet")  # fmt: skip
            assert result.code == 0, result.stderr

        network = reference.load(folder, attention="sdpa")

        @torch.inference_mode()
        def library():
            for tokens in texts.values():
                network.model(input_ids=torch.tensor([tokens]), use_cache=False)

        library()
        ropewalk()
        start_up = seconds(lambda: engine.run("--version"), options.repeats)
        ours, theirs = seconds(ropewalk, options.repeats), seconds(library, options.repeats)

    version = subprocess.run([os.environ["ROPEWALK"], "--version"], capture_output=True, text=True).stdout.strip()
    total = options.tokens * options.documents
    result = dict(
        date=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        machine=dict(cpu=cpu_name(), cores=os.cpu_count(), system=platform.platform()),
        versions=dict(ropewalk=version, transformers=transformers.__version__, torch=torch.__version__),
        model="llama, 12 layers, 512 wide, float32", documents=options.documents, tokens=options.tokens, repeats=options.repeats,
        largest_difference=difference,
        capture=dict(seconds=ours, start_up_seconds=start_up, tokens_per_second=total / ours),
        transformers_forward=dict(seconds=theirs, tokens_per_second=total / theirs),
        ratio=theirs / ours,
    )  # fmt: skip
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    print(f"capture       {ours:8.3f} s  {total / ours:10.0f} tokens/s  (start-up {start_up:.3f} s of it)")
    print(f"transformers  {theirs:8.3f} s  {total / theirs:10.0f} tokens/s  (forward only, model loaded)")
    print(f"ratio         {theirs / ours:8.2f}    largest difference {difference:.1e} of a stream's RMS")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
