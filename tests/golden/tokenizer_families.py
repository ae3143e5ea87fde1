"""The tokenizer families that the supported models use, as published in their tokenizer.json.

Normaliser, pre-tokenizer, post-processor, model settings and special tokens are each family's own;
vocabulary and merges are trained small on generated text.
"""

import collections
import json
import random

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2_PATTERN = LLAMA3_PATTERN.replace(r"\p{N}{1,3}", r"\p{N}")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TEKKEN_PATTERN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*|\p{{N}}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SHORTENED = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K_PATTERN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{SHORTENED}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{SHORTENED}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BLOOM_PATTERN = r" ?[^(\s|[.,!?…。，、।۔،])]+"


def byte_level(add_prefix_space=False, trim_offsets=True, use_regex=True):
    return {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": trim_offsets,
        "use_regex": use_regex,
    }


def split(pattern, behavior="Isolated", kind="Regex", invert=False):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def pre_sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def token(content, special=True, normalized=False, **flags):
    defaults = {"single_word": False, "lstrip": False, "rstrip": False}
    return {"content": content, "special": special, "normalized": normalized, **defaults, **flags}


def template(*prefix):
    """A post-processor that puts special tokens in front; their ids are filled in by `assemble`."""
    pieces = [{"SpecialToken": {"id": name, "type_id": 0}} for name in prefix]
    text = {"Sequence": {"id": "A", "type_id": 0}}
    pair = {"Sequence": {"id": "B", "type_id": 1}}
    return {
        "type": "TemplateProcessing",
        "single": pieces + [text],
        "pair": pieces + [text] + pieces + [pair],
        "special_tokens": {name: {"id": name, "ids": [], "tokens": [name]} for name in prefix},
    }


def post_sequence(*steps):
    return {"type": "Sequence", "processors": list(steps)}


FAMILIES = {
    "gpt2": {
        "pre_tokenizer": byte_level(),
        "post_processor": byte_level(add_prefix_space=True, trim_offsets=False),
        "added_tokens": [token("<|endoftext|>", normalized=True)],
        "model": {"continuing_subword_prefix": "", "end_of_word_suffix": ""},
        "legacy_merges": True,
    },
    "smollm": {
        "pre_tokenizer": pre_sequence({"type": "Digits", "individual_digits": True}, byte_level()),
        "added_tokens": [
            token(f"<{name}>")
            for name in "|endoftext| |im_start| |im_end| repo_name reponame file_sep filename gh_stars "
            "issue_start issue_comment issue_closed jupyter_start jupyter_text jupyter_code "
            "jupyter_output jupyter_script empty_output".split()
        ],
        "tokens_first": True,
    },
    "llama3": {
        "pre_tokenizer": pre_sequence(split(LLAMA3_PATTERN), byte_level(use_regex=False)),
        "post_processor": post_sequence(
            byte_level(add_prefix_space=True, trim_offsets=False), template("<|begin_of_text|>")
        ),
        "added_tokens": [
            token(f"<|{name}|>")
            for name in "begin_of_text end_of_text reserved_special_token_0 finetune_right_pad_id "
            "start_header_id end_header_id eom_id eot_id python_tag".split()
        ],
        "model": {"ignore_merges": True},
    },
    "qwen2": {
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": pre_sequence(
            split(QWEN2_PATTERN), byte_level(trim_offsets=False, use_regex=False)
        ),
        "post_processor": byte_level(trim_offsets=False, use_regex=False),
        "added_tokens": [
            token(f"<|{name}|>")
            for name in "endoftext im_start im_end object_ref_start box_start vision_pad".split()
        ]
        + [
            token(name, special=False)
            for name in ("<tool_call>", "</tool_call>", "<|fim_prefix|>", "<think>", "</think>")
        ],
    },
    "gpt_neox": {
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": byte_level(),
        "post_processor": byte_level(),
        "added_tokens": [token("<|endoftext|>"), token("<|padding|>")]
        + [token(" " * n, special=False, normalized=True) for n in range(24, 1, -1)],
        "legacy_merges": True,
    },
    "tekken": {
        "pre_tokenizer": pre_sequence(split(TEKKEN_PATTERN), byte_level(use_regex=False)),
        "post_processor": template("<s>"),
        "added_tokens": [
            token(name)
            for name in "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] "
            "[TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS] [IMG] <pad> [PREFIX] [MIDDLE] [SUFFIX] "
            "<SPECIAL_20> <SPECIAL_21>".split()
        ],
        "model": {"ignore_merges": True},
        "tokens_first": True,
    },
    "gemma": {
        "normalizer": replace(" ", "▁"),
        "pre_tokenizer": split(" ", "MergedWithPrevious", "String"),
        "post_processor": template("<bos>"),
        "added_tokens": [token(name) for name in "<pad> <eos> <bos> <unk> <mask>".split()]
        + [
            token(name, special=False)
            for name in "[multimodal] <unused0> <unused1> <start_of_turn> <end_of_turn> <table> "
            "</table> <h1> <i> <blockquote>".split()
            + ["\n" * n for n in range(2, 32)]
            + ["▁" * n for n in range(2, 32)]
        ],
        "model": {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True},
        "tokens_first": True,
        "bytes": True,
    },
    "glm4": {
        "pre_tokenizer": pre_sequence(split(LLAMA3_PATTERN), byte_level(use_regex=False)),
        "post_processor": post_sequence(
            byte_level(trim_offsets=False), template("[gMASK]", "<sop>")
        ),
        "added_tokens": [
            token(name)
            for name in "<|endoftext|> [MASK] [gMASK] [sMASK] <sop> <eop> <|system|> <|user|> "
            "<|assistant|> <|observation|> <|begin_of_image|> <|end_of_image|>".split()
        ],
    },
    "llama2": {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")],
        },
        "post_processor": template("<s>"),
        "added_tokens": [token("<unk>"), token("<s>"), token("</s>", normalized=True)],
        "model": {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True},
        "legacy_merges": True,
        "tokens_first": True,
        "bytes": True,
    },
    "olmo": {
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": byte_level(),
        "post_processor": template(),
        "added_tokens": [token("|||IP_ADDRESS|||", special=False, normalized=True), token("<|padding|>")]
        + [token(" " * n, special=False, normalized=True) for n in range(24, 1, -1)]
        + [token(f"|||{name}|||", special=False, normalized=True) for name in ("EMAIL_ADDRESS", "PHONE_NUMBER")]
        + [token("<|endoftext|>")],
        "legacy_merges": True,
    },
    "mixtral": {
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False},
        "post_processor": template("<s>"),
        "added_tokens": [token("<unk>"), token("<s>"), token("</s>")],
        "model": {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True},
        "tokens_first": True,
        "bytes": True,
    },
    "phi3": {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")],
        },
        "post_processor": template(),
        "added_tokens": [token("<unk>"), token("<s>"), token("</s>", special=False, rstrip=True), token("<|endoftext|>")]
        + [token(f"<|{name}|>", rstrip=True) for name in "assistant placeholder1 system end user".split()],
        "model": {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True},
        "tokens_first": True,
        "bytes": True,
    },
    "phi4": {
        "pre_tokenizer": pre_sequence(split(O200K_PATTERN, "Removed", invert=True), byte_level(use_regex=False)),
        "post_processor": byte_level(trim_offsets=False),
        "added_tokens": [token("<|endoftext|>"), token("<|tool|>", special=False, rstrip=True), token("<|end|>", rstrip=True)],
    },
    "gpt_oss": {
        "pre_tokenizer": pre_sequence(split(O200K_PATTERN), byte_level(use_regex=False)),
        "added_tokens": [
            token(f"<|{name}|>")
            for name in "startoftext endoftext reserved_200000 return constrain channel start end message call".split()
        ],
    },
    "bloom": {
        "pre_tokenizer": pre_sequence(split(BLOOM_PATTERN), byte_level(use_regex=False)),
        "post_processor": byte_level(add_prefix_space=True, trim_offsets=False),
        "added_tokens": [token("<unk>"), token("<s>"), token("</s>"), token("<pad>")],
        "legacy_merges": True,
        "tokens_first": True,
    },
}


def frequent(lines, normalizer, count):
    """The most frequent characters. Of equally frequent ones the library takes others in every run."""
    found = collections.Counter(c for line in lines for c in (normalizer.normalize_str(line) if normalizer else line))
    return sorted(found, key=lambda c: (-found[c], c))[:count]


def train(family, corpus, vocabulary_size=1500):
    """Words and merges, and a few words that no merge makes (only ignore_merges finds those).

    Merges are learned across the places where the family cuts text, so that a cut in the wrong place
    changes ids.
    """
    whole = Tokenizer.from_str(
        json.dumps(
            {
                "version": "1.0",
                "normalizer": family.get("normalizer"),
                "pre_tokenizer": family.get("pre_tokenizer"),
                "model": {"type": "BPE", "vocab": {}, "merges": []},
            }
        )
    )
    is_byte_level = "ByteLevel" in json.dumps(family.get("pre_tokenizer"))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = whole.normalizer
    if is_byte_level:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    else:
        # These have one word a document; what they were trained on was split at spaces.
        tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    lines = [line for text in corpus for line in text.split("\n")]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if is_byte_level else frequent(lines, whole.normalizer, 600),
        limit_alphabet=600,
        max_token_length=16,
    )
    tokenizer.train_from_iterator(lines, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    pieces = set()
    if whole.pre_tokenizer:
        text = corpus[0] if not whole.normalizer else whole.normalizer.normalize_str(corpus[0])
        pieces = {piece for piece, _ in whole.pre_tokenizer.pre_tokenize_str(text)}
    alone = sorted(piece for piece in pieces - set(model["vocab"]) if 2 < len(piece) < 20)
    return list(model["vocab"]), model["merges"], random.Random(0).sample(alone, min(len(alone), 200))


def assemble(family, words, merges, alone):
    """The family's tokenizer.json around what `train` gave."""
    added = [dict(entry) for entry in family["added_tokens"]]
    first = [entry["content"] for entry in added] if family.get("tokens_first") else []
    if family.get("bytes"):
        first += [f"<0x{byte:02X}>" for byte in range(256)]
    vocabulary = {}
    for word in first + words + alone:
        vocabulary.setdefault(word, len(vocabulary))
    next_id = len(vocabulary)
    for entry in added:
        entry["id"] = vocabulary.get(entry["content"])
        if entry["id"] is None:
            entry["id"], next_id = next_id, next_id + 1
    ids = {entry["content"]: entry["id"] for entry in added}
    post_processor = json.loads(json.dumps(family.get("post_processor")))
    steps = (post_processor or {}).get("processors", [post_processor])
    for step in steps:
        for name, entry in (step or {}).get("special_tokens", {}).items():
            entry["ids"] = [ids[name]]
    if family.get("legacy_merges"):
        merges = [f"{left} {right}" for left, right in merges]
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        **family.get("model", {}),
        "vocab": vocabulary,
        "merges": merges,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": family.get("normalizer"),
        "pre_tokenizer": family.get("pre_tokenizer"),
        "post_processor": post_processor,
        "decoder": None,
        "model": model,
    }
