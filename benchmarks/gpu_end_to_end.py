"""On a GPU, from a checkpoint of SmolLM3-3B's shapes on disk to the table of heads, 64 documents of 4,096 tokens: Ropewalk
on every token, against the script one would write with transformers, hooks and scikit-learn on 16 sampled tokens a
document. Both from process start to finish, the file cache cold. Usage: gpu_end_to_end.py [FOLDER FOR THE MODEL]"""

import json
import random
import statistics
import sys
from pathlib import Path

import gpu_runs
import machine
from gpu_runs import CONTEXT

SAMPLES, REPEATS = 16, 2


def peer(model_folder: Path, corpus: Path, table: Path):
    """Keeps sampled queries and keys of every head, then runs PCA head by head."""
    import numpy as np
    import torch
    from sklearn.decomposition import PCA
    from transformers import AutoModel
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    step, kept, times = CONTEXT // SAMPLES, {}, []
    chosen = None

    def attention(module, query, key, value, *arguments, **options):
        kept.setdefault(module.layer_idx, []).append((query[0, :, chosen].float().cpu(), key[0, :, chosen].float().cpu()))
        return sdpa_attention_forward(module, query, key, value, *arguments, **options)

    ALL_ATTENTION_FUNCTIONS.register("sampling", attention)
    model = AutoModel.from_pretrained(model_folder, dtype=torch.bfloat16, attn_implementation="sampling", device_map="cuda").eval()
    sampler = random.Random(0)
    with torch.inference_mode():
        for line in corpus.open():
            positions = [bucket * step + sampler.randrange(step) for bucket in range(SAMPLES)]
            chosen = torch.tensor(positions, device="cuda")
            times += positions
            model(torch.tensor([json.loads(line)["tokens"]], device="cuda"), use_cache=False)
    group = model.config.num_attention_heads // model.config.num_key_value_heads
    t = np.array(times, dtype=float)
    with table.open("w") as out:
        out.write("layer,q_head,r_q,r_k\n")
        for layer, documents in kept.items():
            queries = torch.cat([q for q, _ in documents], dim=1).numpy()
            keys = torch.cat([k for _, k in documents], dim=1).numpy()
            for head in range(len(queries)):
                q, k = queries[head], keys[head // group]
                pca = PCA(n_components=10).fit(np.concatenate([q, k]))
                r_q, r_k = (np.corrcoef(pca.transform(x)[:, 0], t)[0, 1] for x in (q, k))
                out.write(f"{layer},{head},{r_q},{r_k}\n")


def main():
    runs = {"ropewalk": [], "peer": []}
    with gpu_runs.setting() as (root, model, corpus):
        for i in range(REPEATS):
            out = root / f"out{i}"
            analyze = [gpu_runs.ROPEWALK, "analyze", out, "--out", out / "qk.csv", "--quiet"]
            runs["ropewalk"].append(gpu_runs.seconds(model, gpu_runs.capture(model, corpus, out), analyze))
            runs["peer"].append(gpu_runs.seconds(model, [sys.executable, __file__, "peer", model, corpus, root / "peer.csv"]))
            print(runs["ropewalk"][-1], runs["peer"][-1], flush=True)
    result = {**gpu_runs.describe(), "tokens_used_a_document": {"ropewalk": CONTEXT, "peer": SAMPLES}}
    for name, times in runs.items():
        result[name] = {"seconds": times, "median_seconds": statistics.median(map(sum, times))}
    result["times_faster"] = result["peer"]["median_seconds"] / result["ropewalk"]["median_seconds"]
    machine.write("gpu_end_to_end", result)
    print(f"{result['times_faster']:.2f} times faster")


if __name__ == "__main__":
    peer(*map(Path, sys.argv[2:])) if sys.argv[1:2] == ["peer"] else main()
