"""Every ready-made experiment, unedited, on a local Hub that serves tiny models, texts and captures under the public names."""

import csv
import dataclasses
import io
import json
import re
import shutil
import tempfile
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import safetensors.torch
import tokenizers
import torch
import yaml

import engine
import plain_models
import published_captures
import tiny_models
from hub_setup import client, hub  # noqa: F401 (fixtures)

FOLDER = engine.repository() / "experiments"
# Those with their own models or texts in the repository.
LOCAL = {"demo", "demo-contexts", "smollm2-135m", "smollm2-135m-ablate"}
# What the others need: a tiny model of the family, and how its repository stores weights.
FAMILIES = {
    "smollm3": ("smollm3_interval", "safetensors"), "pythia-160m": ("gpt_neox_parallel", "bin"),
    "olmo2-1b": ("olmo2_gqa", "shards"), "amber": ("llama_gqa", "bin shards"), "olmoe-1b-7b": ("olmoe", "shards"),
    "bloom-560m": ("bloom", "bin"), "gpt2-small": ("gpt2", "bin"), "gpt2-small-seeds": ("gpt2", "bin"),
    "long-context-models": ({"llama3.1": "llama_llama3_mha", "llama3.2": "llama_gqa", "llama3.2-11b": "mllama", "ministral3": "mistral3",
                             "qwen3": "qwen3_sliding", "mistral": "mistral_full"}, "shards"),
}  # fmt: skip
# Files in these repositories that are not for transformers, and are not read.
BESIDE = {"meta-llama": "original/consolidated.00.pth", "mistralai": "consolidated.safetensors"}
TOKEN = "hf_of_the_licence"
DOCUMENTS = 3


def read(name):
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text())


def test_each_is_tested_and_says_what_it_takes():
    names = {path.stem for path in FOLDER.glob("*.yaml")} - LOCAL
    assert names == set(FAMILIES) | {"smollm3-published"}
    for name in names:
        opening = re.match(r"(#.*\n)+", (FOLDER / f"{name}.yaml").read_text())[0]
        assert re.search(r"Download: (about )?[\d.]+ GB", opening) and "GPU: " in opening and "Run as\n# it is" in opening.replace(
            "Run as it is", "Run as\n# it is"), name  # fmt: skip


def tokenizer() -> bytes:
    """Letters, and nothing else."""
    letters = {chr(97 + i): i for i in range(26)}
    return tokenizers.Tokenizer(tokenizers.models.BPE(vocab=letters, merges=[])).to_str().encode()


def texts(first, count, length) -> bytes:
    table = pyarrow.table({
        "text": ["".join(chr(97 + (i * 7 + j * (i + 3)) % 26) for j in range(length)) for i in range(first, first + count)],
        "id": [f"text-{i}" for i in range(first, first + count)], "score": [1.5] * count})  # fmt: skip
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink, row_group_size=2)
    return sink.getvalue()


def serve_texts(hub, corpus, length):
    """Two documents per file, so that one file is not enough."""
    repository = hub.repository(corpus["dataset"], "datasets")
    if "config" in corpus:
        folder = corpus["config"].replace("-", "/")
        header = f"---\nconfigs:\n- config_name: default\n  data_files:\n  - {{split: train, path: data/*/*}}\n- config_name: {corpus['config']}\n"
        header += f"  data_files:\n  - {{split: train, path: {folder}/*}}\n---\n"
        files = {"README.md": header.encode(), "data/CC/0.parquet": b"not read"}
        names = [f"{folder}/000_00000.parquet", f"{folder}/001_00000.parquet"]
    else:
        files = {"README.md": b"# Long texts\n"}
        names = [f"data/{corpus['split']}-0000{i}-of-00002.parquet" for i in range(2)]
    files |= {names[0]: texts(0, 2, length), names[1]: texts(2, DOCUMENTS - 2, length)}
    repository.commit("main", files)


def resized(model, context, longest):
    """The tiny model for a long context is shallow: the last layer's queries and keys need no attention of this layer."""
    config, layers = dict(model.config), 2 if longest < 10000 else 1
    for key, value in (("num_hidden_layers", layers), ("n_layer", layers), ("max_position_embeddings", context), ("n_positions", context)):
        if key in config:
            config[key] = value
    if "cross_attention_layers" in config:  # the first of two
        config |= {"num_hidden_layers": layers + 1, "cross_attention_layers": [0]}
    return dataclasses.replace(model, config=config, shard="5GB")


def as_served(folder: Path, layout: str) -> dict[str, bytes]:
    """The files of a checkpoint as in its repository: shards or one file, safetensors or pickled."""
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    files = {"config.json": (folder / "config.json").read_bytes(), "README.md": b"a model\n"}
    pickled, shards = "bin" in layout, 2 if "shards" in layout else 1
    base, ending = ("pytorch_model", ".bin") if pickled else ("model", ".safetensors")
    names, placed = sorted(tensors), {}
    for i in range(shards):
        part = {name: tensors[name].contiguous() for name in names[i::shards]}
        file = f"{base}-{i + 1:05}-of-{shards:05}{ending}" if shards > 1 else base + ending
        placed |= dict.fromkeys(part, file)
        if pickled:
            buffer = io.BytesIO()
            torch.save(part, buffer)
            files[file] = buffer.getvalue()
        else:
            files[file] = safetensors.torch.save(part, metadata={"format": "pt"})
    if shards > 1:
        files[f"{base}{ending}.index.json"] = json.dumps({"metadata": {}, "weight_map": placed}).encode()
    return files


def serve_models(hub, name):
    """Each of the compared models, and the tokenizers that they name."""
    experiment = read(name)
    families, layout = FAMILIES[name]
    longest = max(model["context"] for model in experiment["models"])
    for seed, entry in enumerate(experiment["models"]):
        label = entry["label"]
        family = families if isinstance(families, str) else families.get(label) or families[label.split("-")[0]]
        model = dataclasses.replace(resized(tiny_models.MODELS[family], entry["context"], longest), seed=seed)
        with tempfile.TemporaryDirectory() as folder:
            written = plain_models.write(model, Path(folder) / "m")
            if family == "mllama":
                written = tiny_models.write_old_spelling(model, written, Path(folder) / "old")
            files = as_served(written, layout)
        owner = entry["model"].split("/")[0]
        if owner in BESIDE:
            files[BESIDE[owner]] = b"not read"
            hub.repository(entry["model"]).gated = owner == "meta-llama"
        if entry.get("tokenizer", entry["model"]) == entry["model"]:
            files["tokenizer.json"] = tokenizer()
        hub.repository(entry["model"]).commit(entry.get("revision", "main"), files)
    if "tokenizer" in experiment:
        hub.repository(experiment["tokenizer"]).commit("main", {"tokenizer.json": tokenizer()})
    serve_texts(hub, experiment["corpus"], longest)
    return [model["label"] for model in experiment["models"]]


def serve(hub, name):
    experiment = read(name)
    if "models" in experiment:
        return serve_models(hub, name)
    family, layout = FAMILIES[name]
    longest = max(phase["context"] for phase in experiment["phases"])
    repository = hub.repository(experiment["model"])
    for phase in experiment["phases"]:
        for entry in phase["checkpoints"]:
            if "revision" not in entry:
                continue
            seed = len(repository.refs)
            model = dataclasses.replace(resized(tiny_models.MODELS[family], phase["context"], longest), seed=seed)
            with tempfile.TemporaryDirectory() as folder:
                plain_models.write(model, Path(folder) / "m")
                commit = repository.commit(entry["revision"], as_served(Path(folder) / "m", layout))
            if name == "bloom-560m":  # tags there
                repository.tags[entry["revision"]] = commit
                del repository.refs[entry["revision"]]
    files = {"tokenizer.json": tokenizer()}
    if experiment["tokenizer"] == experiment["model"]:
        files |= repository.commits[next(iter({**repository.tags, **repository.refs}.values()))]
    hub.repository(experiment["tokenizer"]).commit("main", files)
    serve_texts(hub, experiment["corpus"], longest)
    return [entry["label"] for phase in experiment["phases"] for entry in phase["checkpoints"]]


def checkpoints_of(table: Path):
    with table.open() as file:
        return list(dict.fromkeys(row["checkpoint"] for row in csv.DictReader(file)))


@pytest.mark.parametrize("name", FAMILIES)
def test_unedited(hub, client, tmp_path, name):
    labels = serve(hub, name)
    hub.token, hub.gated_only = TOKEN, True
    client.environment["HF_TOKEN"] = TOKEN
    plan = client.run("run", FOLDER / f"{name}.yaml", "--dry-run", "--out", tmp_path / "out")
    assert plan.code == 0, plan.stderr
    assert "to download; about" in plan.stdout and "GPU hours on one H200, at 550 TFLOP/s" in plan.stdout
    weights = (".safetensors", ".bin")
    digests = {request.path for request in hub.asked("bytes", "GET")}
    assert len(digests) <= (2 if "phases" in read(name) else 5), "texts and tokenizers alone: no weights are downloaded to plan"
    done = engine.run("run", FOLDER / f"{name}.yaml", "--out", tmp_path / "out", "--format", "json", "--evict",
                      environment=client.environment, timeout=600)  # fmt: skip
    assert done.code == 0, done.stderr
    assert checkpoints_of(tmp_path / "out" / "qk.csv") == labels
    assert not any(hub.asked(path=file) for file in BESIDE.values())
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["corpus"]["dataset"] == read(name)["corpus"]["dataset"]
    assert {checkpoint["documents"] for checkpoint in manifest["checkpoints"]} == {DOCUMENTS}
    left = [p for p in client.cache.rglob("*") if p.suffix in weights and ".no_exist" not in p.parts]
    assert left == [], "--evict leaves none"
    hub.requests.clear()
    again = client.run("run", FOLDER / f"{name}.yaml", "--out", tmp_path / "out", "--format", "json")
    assert again.code == 0 and again.stderr.count("measured already") == len(labels) and not hub.asked("bytes")


# The shape in the real config, as far as it describes the vectors.
SMOLLM3 = dict(
    model_type="smollm3", architectures=["SmolLM3ForCausalLM"], vocab_size=128256, hidden_size=2048, intermediate_size=11008,
    num_hidden_layers=36, num_attention_heads=16, num_key_value_heads=4, max_position_embeddings=65536, rms_norm_eps=1e-6,
    rope_theta=5e6, no_rope_layer_interval=4, no_rope_layers=[int((i + 1) % 4 != 0) for i in range(36)],
    tie_word_embeddings=True, torch_dtype="bfloat16", attention_bias=False, mlp_bias=False, hidden_act="silu",
)  # fmt: skip
PUBLISHED = FOLDER / "smollm3-published.yaml"


@pytest.fixture
def published(hub):
    heads = [(0, 5), (3, 0), (17, 9), (35, 15)]
    hub.repository("HuggingFaceTB/SmolLM3-3B").commit("main", {"config.json": json.dumps(SMOLLM3).encode()})
    repository = hub.repository(published_captures.DATASET, "datasets")
    repository.commit("main", {"README.md": b"one branch per capture\n"})
    labels = []
    for phase in read("smollm3-published")["phases"]:
        for entry in phase["checkpoints"]:
            uri, branch = entry["vectors"].split("@")
            assert uri == f"hf://datasets/{published_captures.DATASET}"
            labels.append(entry["label"])
            repository.commit(branch, published_captures.capture_files(len(labels), heads, slope=0.1 * len(labels)))
    return labels


def test_published_vectors_unedited(hub, client, tmp_path, published):
    """The figures and the comparison with the published numbers, in one command each; an interrupted study resumes."""
    plan = client.run("run", PUBLISHED, "--dry-run", "--out", tmp_path / "out")
    assert plan.code == 0 and plan.stdout.count("download") == len(published) + 1 and not hub.asked("bytes"), plan.stderr
    done = client.run("run", PUBLISHED, "--out", tmp_path / "out", "--format", "json", "--evict")
    assert done.code == 0, done.stderr
    assert checkpoints_of(tmp_path / "out" / "qk.csv") == published
    figures = {path.name.split(".")[0] for path in (tmp_path / "out" / "figures").iterdir()}
    assert {"position_signal", "phase_portraits"} <= figures, figures
    shown = client.run("compare", tmp_path / "out" / "qk.csv", "--reference", engine.repository() / "data/reference/smollm3.json")
    assert shown.code in (0, 1) and all(label in shown.stdout for label in published), shown.stderr
    assert "mean_r_q" in shown.stdout
    shutil.rmtree(client.cache)
    parts = tmp_path / "parts"
    for label in published[:3]:  # some now, the rest later
        assert client.run("run", PUBLISHED, "--out", parts, "--format", "json", "--only", label).code == 0
    assert client.run("run", PUBLISHED, "--out", parts, "--format", "json").code == 0
    assert (parts / "qk.csv").read_bytes() == (tmp_path / "out" / "qk.csv").read_bytes()
