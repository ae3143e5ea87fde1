"""The script that one would write with transformers, hooks and scikit-learn: it keeps queries and keys of 16 sampled tokens per document, then runs PCA
head by head. Checkpoints one after the other, in one process. Usage: script.py CORPUS CONTEXT DEVICE DTYPE OUT MODEL..."""

import json
import random
import sys
from pathlib import Path

SAMPLES = 16  # tokens per document


def measure(folder: Path, corpus: Path, context: int, device: str, dtype: str, table: Path):
    import numpy as np
    import torch
    from sklearn.decomposition import PCA
    from transformers import AutoModel
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    step, kept, times = context // SAMPLES, {}, []
    chosen = None

    def attention(module, query, key, value, *arguments, **options):
        kept.setdefault(module.layer_idx, []).append((query[0, :, chosen].float().cpu(), key[0, :, chosen].float().cpu()))
        return sdpa_attention_forward(module, query, key, value, *arguments, **options)

    ALL_ATTENTION_FUNCTIONS.register("sampling", attention)
    model = AutoModel.from_pretrained(folder, dtype=getattr(torch, dtype), attn_implementation="sampling", device_map=device).eval()
    sampler = random.Random(0)
    with torch.inference_mode():
        for line in corpus.open():
            positions = [bucket * step + sampler.randrange(step) for bucket in range(SAMPLES)]
            chosen = torch.tensor(positions, device=device)
            times += positions
            model(torch.tensor([json.loads(line)["tokens"]], device=device), use_cache=False)
    t = np.array(times, dtype=float)
    with table.open("w") as out:
        out.write("layer,q_head,r_q,r_k\n")
        for layer, documents in kept.items():
            queries = torch.cat([q for q, _ in documents], dim=1).numpy()
            keys = torch.cat([k for _, k in documents], dim=1).numpy()
            group = len(queries) // len(keys)
            for head in range(len(queries)):
                q, k = queries[head], keys[head // group]
                pca = PCA(n_components=10).fit(np.concatenate([q, k]))
                r_q, r_k = (np.corrcoef(pca.transform(x)[:, 0], t)[0, 1] for x in (q, k))
                out.write(f"{layer},{head},{r_q},{r_k}\n")


if __name__ == "__main__":
    corpus, context, device, dtype, out, *models = sys.argv[1:]
    Path(out).mkdir(exist_ok=True)
    for number, model in enumerate(models):
        measure(Path(model), Path(corpus), int(context), device, dtype, Path(out) / f"{number}.csv")
