"""Generated text that is hard on tokenizers. Everything follows from a seed."""

import random

# Blocks of scripts, punctuation, symbols and emoji, by their first and last code points.
BLOCKS = [
    (0x20, 0x7E), (0xA0, 0xFF), (0x100, 0x24F), (0x250, 0x2FF), (0x370, 0x3FF), (0x400, 0x52F),
    (0x530, 0x58F), (0x590, 0x5FF), (0x600, 0x6FF), (0x700, 0x74F), (0x780, 0x7BF), (0x900, 0x97F),
    (0x980, 0x9FF), (0xA00, 0xA7F), (0xB80, 0xBFF), (0xC00, 0xC7F), (0xD00, 0xD7F), (0xE00, 0xE7F),
    (0xE80, 0xEFF), (0xF00, 0xFFF), (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF),
    (0x1200, 0x137F), (0x13A0, 0x13FF), (0x1780, 0x17FF), (0x1800, 0x18AF), (0x1D00, 0x1DBF),
    (0x1E00, 0x1EFF), (0x1F00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x209F), (0x20A0, 0x20CF),
    (0x2100, 0x218F), (0x2190, 0x23FF), (0x2460, 0x24FF), (0x2500, 0x27BF), (0x2C00, 0x2DFF),
    (0x3000, 0x303F), (0x3040, 0x30FF), (0x3100, 0x312F), (0x3200, 0x33FF), (0x4E00, 0x9FFF),
    (0xA000, 0xA48F), (0xA720, 0xA7FF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFB00, 0xFB4F),
    (0xFE00, 0xFE2F), (0xFF00, 0xFFEF), (0x10000, 0x1007F), (0x10330, 0x1034F), (0x10780, 0x107BF),
    (0x11900, 0x1195F), (0x1D400, 0x1D7FF), (0x1E900, 0x1E95F), (0x1F300, 0x1FAFF),
    (0x20000, 0x2A6DF), (0x2F800, 0x2FA1F), (0xE0100, 0xE01EF),
]  # fmt: skip
MARKS = [(0x300, 0x36F), (0x483, 0x489), (0x591, 0x5BD), (0x610, 0x61A), (0x64B, 0x65F), (0x93C, 0x94D),
         (0x9BE, 0x9BE), (0xE31, 0xE3A), (0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0),
         (0x302A, 0x302F), (0x3099, 0x309A), (0xFE20, 0xFE2F)]  # fmt: skip
SPACES = " \t\n\r\v\f\x1c\x1f\x85\xa0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
DIGITS = "0123456789٠١٢٣४५६๐๑²³¹½Ⅷ〇一①𝟘𝟙৪"
EMOJI = ["😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "1️⃣", "❤️", "🧑🏿‍🚀", "☃", "✈︎"]
WORDS = (
    "the of and to in is it's we'll I'VE don’t you're THEY'D 'S 'ſ 'K 'Sx 'LLama I'VEx 'ſa 'Ta nın über naïve façade Straße STRASSE "
    "привет мир γειά σου Σίσυφος שלום مرحبا नमस्ते สวัสดี 你好世界 こんにちは カタカナ 안녕하세요 ქართული "
    "አማርኛ İstanbul ıǅǈ ﬁnal ﬀ ㎏ ㋿ e\u0301 o\u0308\u0304 \u1100\u1161\u11a8 camelCaseWord HTTPServer "
    "snake_case x86_64 3.14159 1,000,000 2024-12-31 foo@bar.com https://example.org/a?b=c&d=%20 "
    "if(x){return;} \\n <tag> </tag> __init__ ... --- ***"
).split()


def pick(chooser, blocks):
    first, last = chooser.choice(blocks)
    return chr(chooser.randint(first, last))


def fragment(chooser, special):
    kind = chooser.random()
    if kind < 0.30:
        return chooser.choice(["", " ", " ", " "]) + chooser.choice(WORDS)
    if kind < 0.40:
        first, last = chooser.choice(BLOCKS)
        return "".join(chr(chooser.randint(first, last)) for _ in range(chooser.randint(1, 8)))
    if kind < 0.50:
        return chooser.choice(SPACES) * chooser.randint(1, 6)
    if kind < 0.56:
        return "".join(chooser.choices(SPACES + "  \n\n", k=chooser.randint(1, 6)))
    if kind < 0.64:
        return "".join(chooser.choices(DIGITS, k=chooser.randint(1, 9)))
    if kind < 0.72:
        base = chooser.choice("aeouAEOUnyяиあカ한ᄀकa ")
        return base + "".join(pick(chooser, MARKS) for _ in range(chooser.randint(1, 4)))
    if kind < 0.78:
        return chr(chooser.randint(0, 0x1F)) if chooser.random() < 0.8 else chr(chooser.randint(0x7F, 0x9F))
    if kind < 0.84:
        return chooser.choice(EMOJI)
    if kind < 0.92 and special:
        content = chooser.choice(special)
        if chooser.random() < 0.2:
            content = content[: chooser.randint(1, len(content))]  # nearly one
        return chooser.choice(["", " ", "  ", "\n"]) + content + chooser.choice(["", " ", "x", "\t"])
    if kind < 0.97:
        return pick(chooser, BLOCKS)
    while True:
        anything = chooser.randint(0, 0x10FFFF)
        if not 0xD800 <= anything <= 0xDFFF:
            return chr(anything)


def strings(seed, count, special):
    chooser = random.Random(seed)
    result = ["", " ", "\n", "\0"]
    while len(result) < count:
        if len(result) % 500 == 0:  # a very long word
            unit = "".join(fragment(chooser, []) for _ in range(2)).replace(" ", "") or "a"
            result.append((unit * 3000)[:5000])
        else:
            result.append("".join(fragment(chooser, special) for _ in range(chooser.randint(1, 12))))
    return result


def document(seed, size, special):
    """About `size` bytes of mixed text in lines."""
    chooser = random.Random(seed)
    parts, total = [], 0
    while total < size:
        line = "".join(fragment(chooser, special) for _ in range(chooser.randint(5, 60))) + "\n"
        parts.append(line)
        total += len(line.encode())
    return "".join(parts)


def long_words(seed, size):
    """Single words of about `size` bytes: one letter, random letters, letters of another script, spaces."""
    chooser = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [
        "a" * size,
        "".join(chooser.choices(letters, k=size)),
        "".join(chooser.choices("абвгдежз", k=size // 2)),
        "A" * size,
        " " * size,
        " " * size + "x",
        "\u0301" * (size // 2),
        "!" * size,
        "7" * size,
    ]


def assigned_code_points(is_assigned):
    """Every assigned code point once, in little surroundings, 32 a string."""
    texts, line = [], []
    for c in range(0x110000):
        if 0xD800 <= c <= 0xDFFF or not is_assigned(chr(c)):
            continue
        line.append(f"x{chr(c)}1 {chr(c)}a")
        if len(line) == 32:
            texts.append("".join(line))
            line = []
    return texts + ["".join(line)]
