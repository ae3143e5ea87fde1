# Task `model` of the companion: runs a model with transformers, and keeps the moments of its queries and keys with the Python
# package ropewalk, at the point where `ropewalk.watch` takes them. Which documents are read is decided by the program.
#
# All requests have "version", the program's. {"do": "describe", "folder", "settings", "changed", "trust"} with `settings`, the
# contents of config.json, which are used instead of the file where they were "changed"; the answer says what the layers with
# attention are like. {"do": "load"} has the same keys and "dtype", "device", "memory" (bytes), "offload" (a folder for
# what does not fit), "random" (a seed for fresh weights, or null), "threads" and "plan": the sizes of the moments. {"do": "document", "index": number} has `ids` (i4).
# {"do": "save", "folder"} writes the moments of the documents so far. {"do": "drop"} frees the model.
import gc
import inspect
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"  # the program has fetched everything
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

current = {}  # the loaded model, its moments and hooks


def package(version):
    install = f"install it, with transformers, in {sys.executable}, or name a Python that has both in ROPEWALK_PYTHON"
    try:
        import ropewalk
    except ImportError as error:
        raise Refused(f"needs the Python package ropewalk {version}: {error}; {install}", "missing") from None
    if ropewalk.__version__ != version:
        raise Refused(f"needs the Python package ropewalk {version}, found {ropewalk.__version__}; {install}", "missing")
    try:
        import transformers
    except ImportError as error:
        raise Refused(f"needs the Python package transformers: {error}; {install}", "missing") from None
    transformers.logging.disable_progress_bar()
    return transformers


def configuration(transformers, words):
    settings = words["settings"]
    kind = settings.get("model_type", "")
    if kind not in transformers.CONFIG_MAPPING and not words["trust"]:
        if "auto_map" in settings:
            raise Refused("needs Python code of its repository, which runs only where an experiment says trust_remote_code: true; read that code first")
        raise Refused(f"model_type '{kind}' is unknown to transformers {transformers.__version__}; install a newer one")
    config = transformers.AutoConfig.from_pretrained(words["folder"], local_files_only=True, trust_remote_code=words["trust"])
    return type(config).from_dict(settings) if words["changed"] else config


def class_of(transformers, config, trust):
    """What makes the model: its language model, or the whole of a model with other parts."""
    for name in ("AutoModelForCausalLM", "AutoModelForImageTextToText", "AutoModelForMultimodalLM"):
        auto = getattr(transformers, name, None)
        if auto is None:
            continue
        if type(config) in auto._model_mapping or trust and name in (getattr(config, "auto_map", None) or {}):
            return auto, auto.from_config, {"trust_remote_code": trust}
    found = getattr(transformers, next(iter(config.architectures or []), ""), None)
    if found is None:
        raise Refused(f"transformers {transformers.__version__} has no language model for model_type '{config.model_type}'")
    return found, found._from_config, {}


def describe(transformers, words, _):
    import torch
    from ropewalk import _layers

    config = configuration(transformers, words)
    _, make, keywords = class_of(transformers, config, words["trust"])
    with torch.device("meta"):
        model = make(config, **keywords)
    text = config.get_text_config()
    return {
        "class": type(model).__name__, "layers": text.num_hidden_layers, "elements": sum(p.numel() for p in model.parameters()),
        "attention": [_layers.described(module, text, layer) for layer, module in _layers.attention_modules(model).items()],
        "embedding_rows": model.get_input_embeddings().num_embeddings, "vocabulary": text.vocab_size,
        "max_positions": next((n for name in ("max_position_embeddings", "n_positions", "max_sequence_length") if (n := getattr(text, name, None))), 0),
        "version": transformers.__version__, "torch": torch.__version__,
    }  # fmt: skip


def loaded_model(transformers, words):
    import torch

    config = configuration(transformers, words)
    dtype, device = getattr(torch, words["dtype"]), torch.device(words["device"])
    kind, make, keywords = class_of(transformers, config, words["trust"])
    if words["random"] is not None:
        torch.manual_seed(words["random"])
        return make(config, dtype=dtype, **keywords).to(device)
    if words["needed"] > words["memory"]:  # what does not fit is read from disk, layer by layer
        place = device.index or 0 if device.type == "cuda" else "cpu"
        keywords |= {"device_map": "auto", "max_memory": {place: words["memory"]}, "offload_folder": words["offload"]}
    elif device.type == "cuda" or getattr(config, "quantization_config", None) is not None:
        keywords |= {"device_map": {"": words["device"]}}
    return kind.from_pretrained(words["folder"], config=config, dtype=dtype, local_files_only=True, **keywords)


def drop(*_):
    if hooks := current.get("hooks"):
        hooks.detach()
    current.clear()
    gc.collect()
    if (torch := sys.modules.get("torch")) and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    return {}


def load(transformers, words, _):
    import torch
    from ropewalk import _hooks, _layers, _module, _moments, errors

    drop()
    torch.set_num_threads(words["threads"])
    plan = words["plan"]
    model = loaded_model(transformers, words).eval()
    modules = _layers.attention_modules(model)
    sizes = [plan[name] for name in ("layers", "q_heads", "kv_heads", "d_head", "blocks")]
    kept = _module.core().SharedMoments(*sizes, plan["scale"], plan["planned"]["context"], plan["config"], json.dumps(plan["planned"]))
    moments, owners = _moments.Moments._of(kept, True), {id(modules[layer]): layer for layer in plan["measured"]}
    unread = {}

    def take(layer, owner, q, k, positions, mask, scale, counted):
        if owners.get(owner) is None:
            return
        stated = plan["scales"][str(layer)]
        if scale is not None and stated and abs(scale - stated) > 1e-6 * stated:
            raise Refused(f"layer {layer}: its attention multiplies q·k by {scale:.6g}, but its module states {stated:.6g}; this class cannot be measured")
        try:
            moments._add_checked(layer, q, k, None, [current["document"]])
        except errors.UsageError as error:
            raise Refused(f"layer {layer}: {error}") from None
        unread.pop(layer, None)

    hooks = _hooks.Hooks(model, take)
    hooks.attach()
    keywords = {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.forward).parameters else {}
    current.update(model=model, moments=moments, hooks=hooks, unread=unread, measured=plan["measured"], device=words["device"], keywords=keywords)
    return {}


def document(_, words, arrays):
    import torch
    from ropewalk import _layers

    _layers.forget_lengths(current["model"])
    ids = torch.frombuffer(bytearray(arrays["ids"]), dtype=torch.int32).long()[None].to(current["device"])
    current["document"] = words["index"]
    current["unread"].update(dict.fromkeys(current["measured"]))
    try:
        with current["hooks"].measured_passes() as model:
            model(input_ids=ids, use_cache=False, **current["keywords"])
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise Refused(str(error), "memory") from None
    if current["unread"]:
        raise Refused(f"layer {min(current['unread'])}: no queries and keys were seen in the attention interface of transformers")
    return {}


def save(_, words, __):
    current["moments"].save(words["folder"], label="backend", model="backend")
    return {}


TASKS = {"describe": describe, "load": load, "document": document, "save": save, "drop": drop}


def answer(words, arrays):
    return TASKS[words["do"]](package(words["version"]), words, arrays), None
