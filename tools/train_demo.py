"""Trains the demo's model: SmolLM3's architecture and its five training phases, in miniature.

    python tools/train_demo.py --out data/demo          trains and writes ten checkpoints (a GPU, some minutes)
    python tools/train_demo.py --out DIR --smoke        the same path at toy size, on a CPU
    python tools/train_demo.py --out data/demo --check  measures the checkpoints that are there

Writes OUT/LABEL/{config.json,model.safetensors} for each checkpoint, OUT/tokenizer.json, the evaluation
text OUT/eval.jsonl and what training said, OUT/training.json. Every checkpoint is read back as saved and
measured at once, so that the table printed here is about the files and not about the training state.
"""

import argparse
import dataclasses
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import SmolLM3Config, SmolLM3ForCausalLM

from demo_measurement import load, loss_of, measure, print_row
from demo_text import document
from demo_tokens import make_texts, token_rows, train_tokenizer

EVALUATION_SEED = 10**9  # training documents use seeds far below


@dataclass
class Settings:
    layers: int = 12
    hidden: int = 80
    intermediate: int = 160
    heads: int = 4
    kv_heads: int = 1
    head_dim: int = 32
    attention_bias: bool = True  # an option of SmolLM3's that SmolLM3-3B leaves off; data/demo/README.md says why
    vocabulary: int = 768
    learning_rate: float = 6e-3
    long_learning_rate: float = 2e-3
    weight_decay: float = 0.1
    warmup: int = 100
    tokens_per_step: int = 8192
    documents: int = 8000  # per stage; the long phases take fewer, as their contexts are longer
    evaluation_documents: int = 48
    short_theta: float = 10000
    theta_1: float = 34000
    theta_2: float = 116000
    steps: int = 1400  # for each million steps of the published run's stages
    long_steps: int = 500  # in each long-context phase
    context: int = 512  # of the stages; the long phases double it twice
    seed: int = 0


@dataclass
class Phase:
    prefix: str
    mix: str
    context: int
    theta: float
    steps: list[int]  # at which a checkpoint is saved; the last ends the phase
    first_step: int = 0


def phases_of(s: Settings) -> list[Phase]:
    """SmolLM3's stages with its checkpoints at the same fractions of the way, then its two long-context phases."""
    stage = [round(million * s.steps) for million in (0.04, 1.2, 2.4, 3.44, 4.2, 4.72)]
    long = [s.long_steps // 5, s.long_steps]
    return [
        Phase("S1", "stage1", s.context, s.short_theta, stage[:4]),
        Phase("S2", "stage2", s.context, s.short_theta, stage[4:5], stage[3]),
        Phase("S3", "stage3", s.context, s.short_theta, stage[5:], stage[4]),
        Phase("LC1", "long", 2 * s.context, s.theta_1, long),
        Phase("LC2", "long", 4 * s.context, s.theta_2, long),
    ]


def label_of(phase: Phase, step: int) -> str:
    return f"{phase.prefix}-{step}" if step < 1000 else f"{phase.prefix}-{step / 1000:g}K"


def make_corpus(s: Settings, phases, out: Path, cache: Path):
    """Writes the tokenizer and the evaluation text to `out`, the training tokens of each phase to `cache`."""
    if not (cache / "tokenizer.json").exists():
        cache.mkdir(parents=True, exist_ok=True)
        texts = [text for i, phase in enumerate(phases) for text in make_texts((i * 10**7, 100, 8000, phase.mix))]
        tokenizer = train_tokenizer(texts, s.vocabulary)
        for i, phase in enumerate(phases):
            count = s.documents * s.context // phase.context
            np.save(cache / f"{phase.prefix}.npy", token_rows(tokenizer, i * 10**7, count, phase.context, phase.mix))
        tokenizer.save(str(cache / "tokenizer.json"))
    (out / "tokenizer.json").write_bytes((cache / "tokenizer.json").read_bytes() + b"\n")
    longest = phases[-1].context
    with (out / "eval.jsonl").open("w", encoding="utf-8") as file:
        for i in range(s.evaluation_documents):
            text = document(EVALUATION_SEED + i, int(4.2 * longest) + 400)
            print(json.dumps({"id": f"chronicle-{i:02}", "text": text}), file=file)


def evaluation_rows(out: Path, context: int):
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    texts = [json.loads(line)["text"] for line in (out / "eval.jsonl").open(encoding="utf-8")]
    return torch.tensor([encoding.ids[:context] for encoding in tokenizer.encode_batch(texts)])


def config_of(s: Settings, phase: Phase) -> SmolLM3Config:
    return SmolLM3Config(
        vocab_size=s.vocabulary, hidden_size=s.hidden, intermediate_size=s.intermediate, num_hidden_layers=s.layers,
        num_attention_heads=s.heads, num_key_value_heads=s.kv_heads, head_dim=s.head_dim,
        attention_bias=s.attention_bias,
        max_position_embeddings=phase.context, rope_parameters={"rope_type": "default", "rope_theta": phase.theta},
        pad_token_id=None, bos_token_id=None, eos_token_id=None, use_cache=False,
    )  # fmt: skip


def training_step(model, shape, device, compiled):
    """A function batch → loss that leaves the gradients in the parameters."""
    tokens = torch.zeros(shape, dtype=torch.long, device=device)

    def forward_backward():
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = loss_of(model, tokens)
        loss.backward()
        return loss.detach()

    if device != "cuda":

        def run(batch):
            model.zero_grad()
            tokens.copy_(batch)
            return forward_backward()

        return run
    # A model this small spends its time on launches, so the whole pass is recorded once and replayed.
    if compiled:
        for layer in model.model.layers:
            layer.compile(dynamic=False)
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            model.zero_grad()
            forward_backward()
    torch.cuda.current_stream().wait_stream(aside)
    model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = forward_backward()

    def run(batch):
        tokens.copy_(batch)
        graph.replay()
        return loss

    return run


def learning_rate(s: Settings, phase: Phase, step: int) -> float:
    """Warm up and hold through stages 1 and 2, fall to zero over stage 3; each long phase rises and falls."""
    total = phase.steps[-1] - phase.first_step
    left = (phase.steps[-1] - step) / total
    if phase.prefix in ("S1", "S2"):
        return s.learning_rate * min(1, (step + 1) / s.warmup)
    if phase.prefix == "S3":
        return s.learning_rate * left
    return s.long_learning_rate * min(1, (step + 1) / (0.1 * total), left / 0.9)


def train(s: Settings, out: Path, cache: Path, device: str, compiled: bool, probes: list[int]):
    phases = phases_of(s)
    out.mkdir(parents=True, exist_ok=True)
    make_corpus(s, phases, out, cache)
    torch.manual_seed(s.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch._dynamo.config.recompile_limit = 64
    # The long phases change the configuration of the same weights, so each phase builds its model anew.
    weights = SmolLM3ForCausalLM(config_of(s, phases[0])).state_dict()
    optimizer_state = None
    rows = [measure_random(s, phases[0], out, device)]
    print_row(rows[-1], header=True)
    for phase in phases:
        model = SmolLM3ForCausalLM(config_of(s, phase)).to(device)
        model.load_state_dict(weights)
        matrices = [p for p in model.model.layers.parameters() if p.dim() == 2]
        others = [p for p in model.parameters() if not any(p is m for m in matrices)]
        groups = [{"params": matrices, "weight_decay": s.weight_decay}, {"params": others, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.95), fused=device == "cuda")
        if optimizer_state and not phase.prefix.startswith("LC"):
            optimizer.load_state_dict(optimizer_state)
        data = torch.from_numpy(np.load(cache / f"{phase.prefix}.npy")).to(device)
        batch_size = max(1, s.tokens_per_step // phase.context)
        order = torch.Generator().manual_seed(s.seed + len(rows))
        step_once = training_step(model, (batch_size, phase.context), device, compiled)
        losses, started = [], time.time()
        for step in range(phase.first_step, phase.steps[-1]):
            picks = torch.randint(len(data), (batch_size,), generator=order).to(device)
            losses.append(step_once(data[picks].long()).clone())
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(s, phase, step)
            optimizer.step()
            if step + 1 in phase.steps or (phase.prefix == "S1" and step + 1 in probes):
                label = label_of(phase, step + 1)
                save(model, out / label)
                tokens = (step + 1 - phase.first_step) * s.tokens_per_step
                rows.append({
                    "label": label, "phase": phase.prefix, "step": step + 1, "context": phase.context,
                    "theta": phase.theta, "phase_tokens": tokens,
                    "train_loss": torch.stack(losses[-50:]).mean().item(),
                    **measure(load(out / label, device), evaluation_rows(out, phase.context).to(device)),
                    "seconds": round(time.time() - started, 1),
                })  # fmt: skip
                print_row(rows[-1])
        weights, optimizer_state = model.state_dict(), optimizer.state_dict()
        record = {"settings": dataclasses.asdict(s), "checkpoints": rows}
        (out / "training.json").write_text(json.dumps(record, indent=1) + "\n")


def save(model, folder: Path):
    rounded = SmolLM3ForCausalLM(model.config)
    rounded.load_state_dict(model.state_dict())
    rounded.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)


def measure_random(s: Settings, phase: Phase, out: Path, device: str) -> dict:
    torch.manual_seed(s.seed)
    model = SmolLM3ForCausalLM(config_of(s, phase)).to(device)
    return {"label": "init", **measure(model, evaluation_rows(out, phase.context).to(device))}


def check(out: Path, device: str):
    """Measures the saved checkpoints again and compares with what training wrote down."""
    record = json.loads((out / "training.json").read_text())
    for row in record["checkpoints"]:
        if row["label"] == "init":
            print_row(row, header=True)
            continue
        again = measure(load(out / row["label"], device), evaluation_rows(out, row["context"]).to(device))
        print_row({**row, **again})
        for name in ("eval_loss", "mean_r_q", "mean_r_k"):
            if abs(again[name] - row[name]) > 2e-3:
                raise SystemExit(f"error: {row['label']}: {name} is {again[name]:.4f}, training said {row[name]:.4f}")


def main():
    arguments = argparse.ArgumentParser(description="Trains the demo's model.")
    arguments.add_argument("--out", type=Path, required=True, help="folder for checkpoints, tokenizer and text")
    arguments.add_argument("--cache", type=Path, default=Path(".cache/demo"), help="folder for training tokens")
    arguments.add_argument("--check", action="store_true", help="only measure the checkpoints in OUT")
    arguments.add_argument("--corpus-only", action="store_true", help="only make the text and its tokens")
    arguments.add_argument("--smoke", action="store_true", help="toy size: does everything once, teaches nothing")
    arguments.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    arguments.add_argument("--probe", type=int, nargs="*", default=[], help="further steps of stage 1 to save")
    arguments.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="change a setting")
    chosen = arguments.parse_args()
    settings = Settings()
    if chosen.smoke:
        settings = Settings(tokens_per_step=1024, documents=200, evaluation_documents=8, steps=10, long_steps=10, context=128)
    for assignment in chosen.set:
        name, value = assignment.split("=")
        setattr(settings, name, type(getattr(settings, name))(float(value)))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if chosen.check:
        check(chosen.out, device)
    elif chosen.corpus_only:
        chosen.out.mkdir(parents=True, exist_ok=True)
        make_corpus(settings, phases_of(settings), chosen.out, chosen.cache)
    else:
        train(settings, chosen.out, chosen.cache, device, not chosen.no_compile, chosen.probe)


if __name__ == "__main__":
    main()
