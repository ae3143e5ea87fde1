"""Tokenizers that each exercise one part of tokenizer.json, or a few together.

Their model has no merges and spells a word's first character otherwise than the rest, so the ids tell
exactly where text was cut and what it had become.
"""

from tokenizer_families import byte_level, pre_sequence, replace, split, token

ALPHABET = [chr(c) for c in range(0x20, 0x250)] + list("\t\n\r▁αβγабв你好世界éǅ①½²٣")


def revealing_model():
    words = [f"<0x{byte:02X}>" for byte in range(256)]
    words += ALPHABET + ["##" + c for c in ALPHABET]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
    return {
        "type": "BPE",
        "continuing_subword_prefix": "##",
        "byte_fallback": True,
        "vocab": vocabulary,
        "merges": [],
    }


def norm_sequence(*steps):
    return {"type": "Sequence", "normalizers": list(steps)}


def metaspace(scheme, does_split=True, replacement="▁"):
    return {
        "type": "Metaspace",
        "replacement": replacement,
        "prepend_scheme": scheme,
        "split": does_split,
    }


def strip(left, right):
    return {"type": "Strip", "strip_left": left, "strip_right": right}


NFC, NFD, NFKC, NFKD = ({"type": form} for form in ("NFC", "NFD", "NFKC", "NFKD"))
LOWER, ACCENTS = {"type": "Lowercase"}, {"type": "StripAccents"}
WHITESPACE, WHITESPACE_SPLIT = {"type": "Whitespace"}, {"type": "WhitespaceSplit"}
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]

NORMALIZERS = [
    NFC, NFD, NFKC, NFKD, LOWER, ACCENTS,
    norm_sequence(NFD, ACCENTS, LOWER),
    norm_sequence(NFKC, norm_sequence(LOWER), NFC),
    norm_sequence(),
    strip(True, True), strip(True, False), strip(False, True), strip(False, False),
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Prepend", "prepend": ""},
    {"type": "ByteLevel"},
    replace("", "-"), replace("a", ""), replace(" ", "▁"), replace(".", "x"), replace("ab", "ba"),
    replace(r" {2,}", " ", "Regex"), replace(r"^\s+", "", "Regex"), replace(r"\s+$", "", "Regex"),
    replace(r"[\p{P}\p{S}]", "", "Regex"), replace(r"x*", "-", "Regex"), replace(r"\r\n?|\n", "\n", "Regex"),
]  # fmt: skip

PRE_TOKENIZERS = (
    [split(r"\s", behavior, invert=invert) for behavior in BEHAVIORS for invert in (False, True)]
    + [split(" ", behavior, "String", invert) for behavior in BEHAVIORS for invert in (False, True)]
    + [{"type": "Punctuation", "behavior": behavior} for behavior in BEHAVIORS]
    + [metaspace(scheme, cut) for scheme in ("always", "first", "never") for cut in (True, False)]
    + [byte_level(prefix, True, regex) for prefix in (True, False) for regex in (True, False)]
    + [
        WHITESPACE, WHITESPACE_SPLIT,
        {"type": "Punctuation"},
        {"type": "Metaspace", "replacement": "_", "add_prefix_space": True},
        {"type": "Digits", "individual_digits": True}, {"type": "Digits", "individual_digits": False},
        {"type": "CharDelimiterSplit", "delimiter": "."}, {"type": "CharDelimiterSplit", "delimiter": "é"},
        split("", "Isolated", "String"), split("a.b", "Isolated", "String"),
        pre_sequence(), pre_sequence(WHITESPACE, metaspace("first")),
        pre_sequence(split(r"[^\s]+", "Isolated"), metaspace("always")),
        pre_sequence(WHITESPACE_SPLIT, {"type": "Digits", "individual_digits": True}, byte_level(True)),
        pre_sequence(pre_sequence({"type": "Punctuation"}), metaspace("first", False)),
    ]
)  # fmt: skip

PATTERNS = [
    # of published tokenizers
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[一-龥぀-ゟ゠-ヿ]+", r"\p{N}{1,3}", r"\p{Han}+", r"(?=(\d{3})+(?!\d))", r"\d", r"[\s\S]",
    # classes and escapes
    r"\w+", r"\W+", r"[\w]+", r"[^\w]+", r"\d+", r"\D+", r"\h+", r"\H", r"\S+", r".", r"\p{L}", r"\P{L}", r"\p{^L}",
    r"\p{Letter}+", r"\p{uppercase letter}", r"\p{Lu}\p{Ll}*", r"\p{M}+", r"\p{Mn}", r"\p{Cn}", r"\p{Sk}", r"\p{Cf}",
    r"\p{Latin}+", r"\p{Cyrillic}+", r"\p{Hangul}|\p{Hiragana}|\p{Katakana}", r"[^\p{Greek}\s]+",
    r"[a\-z]", r"[\w-]", r"[-a]", r"[a-cx-z]+", r"[^a-z\n]+", r"[a-z&&[^aeiou]]+", r"[^a-z&&\p{L}]", r"[[a-c][x-z]]",
    r"\x41|\x{e9}|\u00e9|\t", r"\.|\+|\{|\}|\]", r"a{", r"\/|\-|\ ",
    # case
    r"(?i:s)", r"(?i:[k-t])+", r"(?i)the|of", r"(?i:'s|’t)", r"a(?i:b)c|(?-i:x)", r"(?i:[^s])",
    # repeats
    r"a+?b", r"a*", r"x*", r"(ab|ba)+", r"(?:ab?)*", r"(?>a+)b", r"(?>a|ab)+b?", r"(?>(?:ab)*|a)a",
    r"(?>[a-c]|ab){1,2}x|(?>\d{1,2})\d", r"(?:(?>a*)b|a)+?", r"(?=(?>a|aa)b)a|(?<=(?>a))b", r"a{2}", r"a{2,}", r"a{,2}b", r"a{1,2}?", r"(a|b)??c",
    r"\s{2,}", r"\p{N}{2}+", r"(?:\p{N}{1,2})+",
    # assertions
    r"^.", r".$", r"^", r"$", r"\A.", r".\z", r"\b", r"\B", r"\b\w+\b", r"(?<=\d)\D", r"(?<!a)b", r"\d(?=\s)", r"(?<=a|bc)x",
    r"\s+(?!\S)", r"(?<=[a-z])(?=[A-Z])",
    "", r"a||b", r"|a",
]  # fmt: skip

MIXED = [  # normalizer, pre-tokenizer
    (strip(True, False), metaspace("first")),
    (replace(" ", ""), metaspace("first")),
    (replace("  ", "x"), metaspace("first")),
    (replace("a", "xy"), metaspace("first")),
    (ACCENTS, metaspace("first")),
    (NFD, byte_level()),
    ({"type": "ByteLevel"}, split("Ġ", "MergedWithNext", "String")),
    (norm_sequence({"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")), split("▁", "MergedWithNext", "String")),
]

# Where the first character becomes several and the text is cut between them, the part after the cut still begins at the start of the input.
FIRST = metaspace("first")
GROWING = [
    *[(form, pre_sequence(split(cut, behavior), FIRST))
      for form in (NFC, NFD, NFKC, NFKD) for cut in ("[fi]", r"\p{M}") for behavior in BEHAVIORS],
    *[(norm_sequence(form, step), FIRST)
      for form in (NFC, NFD, NFKC, NFKD, LOWER)
      for step in (replace("f", ""), replace("f", "xy"), replace("fi", "z"), replace("", "-"), replace(r"f|i", "q", "Regex"),
                   replace(r"x*", "-", "Regex"), strip(True, False), strip(False, True), ACCENTS, LOWER, NFC)],
    (LOWER, pre_sequence(split("i", "Isolated"), FIRST)),
    (norm_sequence(NFKC, {"type": "Prepend", "prepend": "yz"}), pre_sequence(split("[yzf]", "Isolated"), FIRST)),
    ({"type": "ByteLevel"}, pre_sequence(split(".", "Isolated"), FIRST)),
    (NFKC, pre_sequence(byte_level(False, True, False), split(".", "Isolated"), FIRST)),
    (NFKC, pre_sequence(byte_level(True, True, False), split(".", "Isolated"), FIRST)),
    (NFKC, pre_sequence(FIRST, split(".", "Isolated"), metaspace("first", replacement="_"))),
]  # fmt: skip
GROWING_TEXTS = [a + b + c for a in ("ﬁ", "ﬃ", "é", "e\u0301", "İ", "½", "¨", "ﬁ\u0301", "㎏", "f", " ", "가", "ཀྵ")
                 for b in ("", "x", "i", "\u0301", " ", "ﬁ", "\u0323\u0301") for c in ("", "fi", " f")]  # fmt: skip

ADDED = ["<tok>", "Word", " sp", "É", "ab", "abc", "世界", "\n\n", "ﬁ"]
ADDED_NORMALIZERS = [None, LOWER, NFD, NFKC, {"type": "Prepend", "prepend": "▁"}, {"type": "ByteLevel"}]


def with_parts(normalizer=None, pre_tokenizer=None, added=(), post_processor=None, model=None):
    model = model or revealing_model()
    ids = iter(range(len(model["vocab"]), 1 << 20))
    tokens = []
    for entry in added:
        known = model["vocab"].get(entry["content"])
        tokens.append({"id": next(ids) if known is None else known, **entry})
    return {
        "version": "1.0",
        "added_tokens": tokens,
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": post_processor,
        "model": model,
    }


def added_token_cases():
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    for bits in range(1 << len(flags)):
        chosen = {flag: bool(bits >> i & 1) for i, flag in enumerate(flags)}
        for normalizer in ADDED_NORMALIZERS if chosen["normalized"] else [None, LOWER]:
            added = [token(content, special=content == "<tok>", **chosen) for content in ADDED]
            yield with_parts(normalizer, metaspace("first"), added)


def post_processors():
    def piece(name):
        return {"SpecialToken": {"id": name, "type_id": 0}}

    text = {"Sequence": {"id": "A", "type_id": 0}}
    special = {"s": {"id": "s", "ids": [1, 2], "tokens": ["x", "y"]}, "e": {"id": "e", "ids": [3], "tokens": ["z"]}}
    template = {
        "type": "TemplateProcessing",
        "single": [piece("s"), piece("e"), text, piece("e")],
        "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": special,
    }
    roberta = {"type": "RobertaProcessing", "sep": ["z", 3], "cls": ["x", 1], "trim_offsets": True, "add_prefix_space": True}
    return [
        byte_level(),
        template,
        {"type": "BertProcessing", "sep": ["z", 3], "cls": ["x", 1]},
        roberta,
        {"type": "Sequence", "processors": [byte_level(), template]},
        {"type": "Sequence", "processors": [roberta, byte_level()]},
        {"type": "Sequence", "processors": []},
    ]


def models_without_merges():
    """Every way to treat unknown characters."""
    for missing in (False, True):
        for unknown in (None, "<unk>"):
            for fuse in (False, True):
                words = ["<unk>"] + [f"<0x{byte:02X}>" for byte in range(256) if not (missing and byte % 3)]
                words += list("abcdefghijklmnopqrstuvwxyz ")
                yield {
                    "type": "BPE",
                    "unk_token": unknown,
                    "fuse_unk": fuse,
                    "byte_fallback": True,
                    "vocab": {word: i for i, word in enumerate(words)},
                    "merges": [],
                }


def class_cases():
    """Parts that depend on the kind of a character: each code point once is a test of its own."""
    number = {"type": "Digits", "individual_digits": True}
    return [
        with_parts(normalizer=norm_sequence(NFD)),
        with_parts(normalizer=norm_sequence(NFKC)),
        with_parts(normalizer=norm_sequence(NFKD, ACCENTS)),
        with_parts(normalizer=LOWER),
        with_parts(pre_tokenizer=pre_sequence({"type": "Punctuation"}, number)),
        with_parts(pre_tokenizer=WHITESPACE),
        with_parts(pre_tokenizer=split(r"\w+|\d|[\w]|[\p{S}\p{Cn}]+")),
    ]


def all_cases():
    cases = [with_parts(normalizer=part) for part in NORMALIZERS]
    cases += [with_parts(pre_tokenizer=part) for part in PRE_TOKENIZERS]
    cases += [with_parts(pre_tokenizer=split(pattern)) for pattern in PATTERNS]
    cases += [with_parts(normalizer, pre) for normalizer, pre in MIXED]
    cases += [with_parts(post_processor=part) for part in post_processors()]
    cases += [with_parts(model=model) for model in models_without_merges()]
    return cases + list(added_token_cases())
