"""What `ropewalk.watch` adds to training on a GPU, a model with SmolLM3-3B's shapes cut to 8 layers, at 4,096 tokens: to steps that are measured; to those
that are not, between two measurements of `every` steps, with the tables that are made beside them; and what attention functions add that keep every query
and key on the host. All in turn, round by round. Needs build/python (`make python`)."""

import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # for deterministic products, while losses are compared

import machine  # noqa: E402

sys.path.insert(0, str(machine.BUILD / "python"))

import gpu_model  # noqa: E402
import ropewalk  # noqa: E402
import torch  # noqa: E402
from ropewalk import _attention  # noqa: E402

LAYERS, TOKENS, BATCHES, ROUNDS = 8, 4096, 8, 11
AFTER = 16  # steps beside which tables are made
EVERY = 500  # as by default
IDLE_STEPS = 2000


class Training:
    def __init__(self):
        self.model = gpu_model.smollm3(LAYERS).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=True)
        self.batch = torch.randint(3, 128256, (1, TOKENS), device="cuda", generator=torch.Generator("cuda").manual_seed(1))

    def step(self):
        loss = self.model(input_ids=self.batch, labels=self.batch).loss
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def seconds(self, steps=BATCHES):
        """Of one step, the mean of some that follow each other, as in training: the host may be ahead."""
        stream = torch.cuda.current_stream()
        stream.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        stream.synchronize()  # others may be at work still
        return (time.perf_counter() - start) / steps


def with_vectors_kept(training):
    """The usual way: every vector goes to the host, for later."""
    kept = []
    interfaces = _attention.interfaces(training.model)

    def keep(module, query, key, mask, named):
        kept.append((query.detach().cpu(), key.detach().cpu()))

    for interface in interfaces:
        interface.add(keep)
    try:
        return training.seconds()
    finally:
        for interface in interfaces:
            interface.remove(keep)


def with_watch(training):
    """Seconds of a measured step, and of a step after them. Bytes of the GPU at the peak."""
    torch.cuda.reset_peak_memory_stats()
    with ropewalk.watch(training.model, every=10**6, batches=BATCHES, errors="raise") as watch:
        measured = training.seconds()
        after = training.seconds(AFTER)
        peak = torch.cuda.max_memory_allocated()
        assert len(watch.study.heads) == LAYERS * 16
    return measured, after, peak


def idle_seconds(training):
    """What a step costs that is not measured: of an optimizer's steps without anything to do, those with a watch less those without. The model itself is
    untouched then, which is checked."""

    def loop():
        start = time.perf_counter()
        for _ in range(IDLE_STEPS):
            training.optimizer.step()
        return (time.perf_counter() - start) / IDLE_STEPS

    without = loop()
    with ropewalk.watch(training.model, every=10**6, step=1, errors="raise"):
        assert all("get_interface" not in vars(interface._interface) for interface in _attention.interfaces(training.model))
        return loop() - without


def check_losses(training):
    """They are the same bits with and without."""
    state = {name: value.clone() for name, value in training.model.state_dict().items()}

    def losses(context):
        training.model.load_state_dict(state)
        training.optimizer.state.clear()
        with context:
            return torch.stack([training.step() for _ in range(3)])

    torch.use_deterministic_algorithms(True)
    plain = losses(torch.enable_grad())
    assert torch.equal(plain, losses(torch.enable_grad())), "training itself is not the same twice"
    assert torch.equal(plain, losses(ropewalk.watch(training.model, batches=2, errors="raise"))), "watch changed the training"
    torch.use_deterministic_algorithms(False)


def check_copies():
    """Nothing of a tensor that is added goes to the host. Last: a profiler that was used once slows what follows."""
    moments = ropewalk.Moments(16, 4, 128, blocks=BATCHES)
    q, k = torch.randn(1, 16, TOKENS, 128, device="cuda"), torch.randn(1, 4, TOKENS, 128, device="cuda")
    moments.add(0, q, k)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        moments.add(0, q, k)
        torch.cuda.synchronize()
    copies = [event.name for event in profile.events() if "DtoH" in event.name]
    assert not copies, f"Moments.add copied to the host: {copies}"


def moments_bytes():
    """Of all fields on the GPU: float64, by block."""
    d, streams = 128, LAYERS * (16 + 4)
    return streams * BATCHES * (d * (d + 1) // 2 + 2 * d) * 8


def main():
    training = Training()
    check_losses(training)
    training.seconds()
    torch.cuda.reset_peak_memory_stats()
    training.seconds()
    before = torch.cuda.max_memory_allocated()
    with_watch(training)
    seconds = {"plain": [], "plain_batches": [], "measured": [], "after": [], "vectors_kept": [], "idle": []}
    grown = []
    for _ in range(ROUNDS):
        plain, batches = training.seconds(AFTER), training.seconds()
        measured, after, peak = with_watch(training)
        # As many steps as are compared: beginning and ending take time too.
        plain, batches = (plain + training.seconds(AFTER)) / 2, (batches + training.seconds()) / 2
        kept, idle = with_vectors_kept(training), idle_seconds(training)
        times = {"plain": plain, "plain_batches": batches, "measured": measured, "after": after, "vectors_kept": kept, "idle": idle}
        for name, time_ in times.items():
            seconds[name].append(time_)
        grown.append(peak - before)
        print({name: round(time_, 7) for name, time_ in times.items()}, flush=True)
    # Of all steps that are not measured, each costs what watch does in it, and the first ones what is done beside them.
    others = EVERY - BATCHES
    between = [plain + idle + (after - plain) * AFTER / others for plain, idle, after in zip(seconds["plain"], seconds["idle"], seconds["after"], strict=True)]
    ways = {"measured": seconds["measured"], "between": between, "vectors_kept": seconds["vectors_kept"]}
    adds = {name: machine.ratio(times, seconds["plain" if name == "between" else "plain_batches"]) for name, times in ways.items()}
    for share in adds.values():
        share.update({end: share[end] - 1 for end in ("median", "low", "high")})
    result = {
        "gpu": gpu_model.describe_gpu(), "model": f"SmolLM3-3B's shapes, {LAYERS} layers, random weights, bfloat16", "tokens": TOKENS, "steps": BATCHES, "every": EVERY,
        "seconds_per_step": seconds, "adds": adds, "gpu_bytes_grown": max(grown), "moments_bytes": moments_bytes(),
    }  # fmt: skip
    check_copies()
    machine.write("watch", result)
    print(", ".join(f"{name}: {100 * share['median']:+.3f} % ({100 * share['low']:+.3f} to {100 * share['high']:+.3f})" for name, share in adds.items()))


if __name__ == "__main__":
    main()
