"""Trains a tiny vocabulary for a family's tokenizer, and puts its tokenizer.json together."""

import collections
import json
import random

from tokenizers import Tokenizer, models, pre_tokenizers, trainers


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
    """The family's tokenizer.json, with the vocabulary from `train`."""
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
