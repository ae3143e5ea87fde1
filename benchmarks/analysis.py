"""What `analyze` takes for a capture of SmolLM3-3B's size (36 layers, 576 query and 144 key heads of 128 dimensions, 16 blocks),
in turn with another build of the program where one is given. Usage: analysis.py [OTHER PROGRAM [CAPTURE]]; a capture that is given is not made anew."""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine

ROUNDS = 5
LAYERS, HEADS, KV_HEADS, DIMENSIONS = 36, 16, 4, 128
DOCUMENTS, TOKENS, VOCABULARY = 64, 1024, 997


def make_model(folder: Path) -> Path:
    """Random weights whose queries and keys fill their dimensions as unevenly as trained ones do, and whose layers add little
    to each other: deep random layers would tell documents apart more than position, which no trained model does."""
    import torch
    from transformers import SmolLM3Config, SmolLM3ForCausalLM

    torch.manual_seed(0)
    config = SmolLM3Config(
        vocab_size=VOCABULARY, hidden_size=512, intermediate_size=512, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS, head_dim=DIMENSIONS, max_position_embeddings=4096, rope_theta=1e5, tie_word_embeddings=True,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    model = SmolLM3ForCausalLM(config)
    for layer in model.model.layers:
        for projection in (layer.self_attn.q_proj, layer.self_attn.k_proj):
            u, s, v = torch.linalg.svd(projection.weight.data, full_matrices=False)
            projection.weight.data = 2 * (u * torch.logspace(0.5, -1, len(s))) @ v
        for projection in (layer.self_attn.o_proj, layer.mlp.down_proj):
            projection.weight.data *= 0.1
    model.save_pretrained(folder)
    return folder


def make_capture(root: Path, program: Path) -> Path:
    corpus = machine.write_corpus(root / "tokens.jsonl", DOCUMENTS, TOKENS, VOCABULARY)
    subprocess.run([program, "capture", make_model(root / "model"), "--corpus", corpus, "--context", str(TOKENS), "--out", root / "capture",
                    "--quiet"], check=True)  # fmt: skip
    return root / "capture"


def processor_seconds() -> float:
    """Of the children so far, which other programs disturb less than they do the time that passes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    programs = {"ropewalk": machine.BUILD / "ropewalk"}  # the build measured
    if len(sys.argv) > 1:
        programs["other"] = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        capture = Path(sys.argv[2]) if len(sys.argv) > 2 else make_capture(root, programs["ropewalk"])
        seconds, processor = {name: [] for name in programs}, {name: [] for name in programs}
        for _ in range(ROUNDS):
            for name, program in programs.items():
                start, before = time.perf_counter(), processor_seconds()
                subprocess.run([program, "analyze", capture, "--out", root / name, "--quiet"], check=True)
                seconds[name].append(time.perf_counter() - start)
                processor[name].append(processor_seconds() - before)
            print({name: (times[-1], processor[name][-1]) for name, times in seconds.items()}, flush=True)
        same = len({(root / name / "qk.csv").read_bytes() for name in programs}) == 1
    result = {"heads": LAYERS * HEADS, "dimensions": DIMENSIONS, "blocks": 16, "seconds": seconds, "processor_seconds": processor,
              "median_seconds": {name: statistics.median(times) for name, times in seconds.items()},
              "median_processor_seconds": {name: statistics.median(times) for name, times in processor.items()}}  # fmt: skip
    if "other" in programs:
        version = subprocess.run([programs["other"], "--version"], capture_output=True, text=True).stdout.strip()
        result |= {"other": version, "same_qk": same, "ratio": machine.ratio(seconds["ropewalk"], seconds["other"]),
                   "processor_ratio": machine.ratio(processor["ropewalk"], processor["other"])}  # fmt: skip
        print(f"{result['ratio']['median']:.2f} times the other program's time, {result['processor_ratio']['median']:.2f} times its processor time; "
              f"qk.csv {'the same' if same else 'differs'}")  # fmt: skip
    machine.write("analysis", result)


if __name__ == "__main__":
    main()
