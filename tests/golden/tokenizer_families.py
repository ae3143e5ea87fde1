"""The tokenizer families that the supported models use, as published in their tokenizer.json.

Normaliser, pre-tokenizer, post-processor, model settings and special tokens are each family's own;
vocabulary and merges are trained small on generated text.
"""



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
