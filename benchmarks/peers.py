"""Other ways to get at every token's queries and keys, each in a process of its own and with the packages of .venv-peers.
Usage: peers.py NAME MODEL TOKENS, NAME being one of PEERS. Prints JSON: seconds of one pass over a document of that many
tokens, after a short one that warms up and whose queries and keys must be those that transformers' attention receives."""

import importlib.metadata
import json
import os
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "golden"))

import reference  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from transformers import AutoModel, AutoModelForCausalLM  # noqa: E402

SHORT, TOLERANCE = 200, 1e-3  # tokens of the first document; largest difference, in root mean squares of a stream


def transformer_lens(folder: Path):
    """`run_with_cache` of queries and keys after rotation; the whole cache of a long document fits in no memory. It stops
    before the output matrix, which nobody else multiplies by."""
    from transformer_lens.model_bridge import TransformerBridge

    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    bridge = TransformerBridge.boot_transformers(str(folder), hf_model=loaded, dtype=torch.float32, device="cpu")
    layers = bridge.cfg.n_layers
    names = [[f"blocks.{layer}.attn.hook_rot_{kind}" for kind in "qk"] for layer in range(layers)]

    def run(ids):
        _, cache = bridge.run_with_cache(ids, names_filter=sum(names, []), stop_at_layer=layers)
        return [[cache[name][0] for name in pair] for pair in names]

    return run


def nnsight(folder: Path):
    """A trace that saves what the rotation of every layer returns."""
    from nnsight import NNsight

    model = NNsight(AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa").eval())

    def run(ids):
        with model.trace(ids, use_cache=False):
            taken = []
            for layer in model.layers:
                taken.append(layer.self_attn.source.apply_rotary_pos_emb_0.output)
            taken.save()
        return [[kind[0] for kind in pair] for pair in taken]

    return run


PEERS = {"transformer_lens": (transformer_lens, "transformer-lens"), "nnsight": (nnsight, "nnsight")}


def difference(folder: Path, ids: torch.Tensor, taken: list) -> float:
    """Between what a peer took and what transformers' own attention receives, in root mean squares of the stream."""
    streams = reference.capture(folder, {0: ids[0].tolist()}, ids.shape[1])
    worst, seen = 0.0, 0
    for layer, pair in enumerate(taken):
        for kind, heads in zip("qk", pair):
            truth = torch.stack([torch.from_numpy(documents[0]) for (at, _, which), documents in streams.items() if (at, which) == (layer, kind)])
            if heads.shape != truth.shape:
                heads = heads.transpose(0, 1)  # [T, H, d]: TransformerLens'
            assert heads.shape == truth.shape, f"layer {layer}, {kind}: {tuple(heads.shape)} instead of {tuple(truth.shape)}"
            worst = max(worst, float((heads - truth).abs().max() / truth.square().mean().sqrt()))
            seen += len(truth)
    assert seen == len(streams), f"{seen} of {len(streams)} streams"
    return worst


def main():
    name, folder, tokens = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    load, package = PEERS[name]
    run = load(folder)
    vocabulary = json.loads((folder / "config.json").read_text())["vocab_size"]
    torch.manual_seed(0)
    short, ids = (torch.randint(0, vocabulary, (1, length)) for length in (SHORT, tokens))
    with torch.inference_mode():
        worst = difference(folder, short, run(short))
        assert worst <= TOLERANCE, f"queries or keys differ from transformers' by {worst:.2g} root mean squares"
        start = time.perf_counter()
        taken = run(ids)
        seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "version": importlib.metadata.version(package), "threads": torch.get_num_threads(),
                      "difference": worst, "layers": len(taken)}))  # fmt: skip


if __name__ == "__main__":
    main()
