#!/usr/bin/env python3
"""Writes ropewalk/text/unicode_{class,normalization}_tables.cpp from what `tokenizers` does.

The library carries several Unicode versions at once (its regular expressions, Rust's `char`, the
normaliser and the punctuation test each have their own), so no single Unicode database reproduces
it. Every table is therefore probed from the library itself, over every code point. Run it again
when the pinned `tokenizers` changes; `--check` only says whether the committed tables still hold.
"""

import argparse
import sys
import unicodedata
from pathlib import Path

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

FOLDER = Path(__file__).resolve().parent.parent / "ropewalk" / "text"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
EVERYTHING = "".join(map(chr, CODE_POINTS))
CATEGORIES = (
    "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Cn Co"
).split()
SCRIPTS = (
    "Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Han "
    "Hangul Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Myanmar Sinhala Tamil "
    "Telugu Thai Tibetan"
).split()


def removed_by(pre_tokenizer):
    """The code points that a pre-tokenizer removes from a text of all of them."""
    kept = [False] * 0x110000
    for piece, _ in pre_tokenizer.pre_tokenize_str(EVERYTHING):
        for character in piece:
            kept[ord(character)] = True
    return {c for c in CODE_POINTS if not kept[c]}


def matched_by(pattern):
    return removed_by(pre_tokenizers.Split(Regex(pattern), "removed"))


def ranges_of(members):
    ranges = []
    for c in sorted(members):
        # Surrogates never occur in text, so a range may run across them.
        if ranges and (ranges[-1][1] == c - 1 or (c == 0xE000 and ranges[-1][1] == 0xD7FF)):
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    return ranges


def wrapped(items, columns=100):
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > columns:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join(lines + [line])


def data(kind, name, items):
    return f"constexpr std::array<{kind}, {len(items)}> {name}_data = {{{{\n{wrapped(items)}\n}}}};\n"


def array(kind, name, items):
    return data(kind, name, items) + f"const std::span<const {kind}> {name} = {name}_data;\n"


def range_items(members):
    return [f"{{{a:#x}, {b:#x}}}" for a, b in ranges_of(members)]


def range_array(name, members):
    return array("CodePointRange", name, range_items(members))


def class_tables():
    category = [CATEGORIES.index("Cs")] * 0x110000
    for index, name in enumerate(CATEGORIES):
        if name != "Cs":
            for c in matched_by(rf"\p{{{name}}}"):
                category[c] = index

    def categories(letter):
        return {c for c in CODE_POINTS if CATEGORIES[category[c]].startswith(letter)}

    # What the C++ derives from categories instead of storing it.
    for letter in "LMNPSZ":
        assert matched_by(rf"\p{{{letter}}}") == categories(letter), letter
    assert matched_by(r"\d") == categories("Nd")
    space = matched_by(r"\s")
    word = matched_by(r"\w")
    # In a bracket \w lacks a few Latin-1 numbers that it has outside.
    word_in_brackets = matched_by(r"[\w]")
    assert matched_by(r"[\s]") == space
    assert matched_by(r"[\d]") == categories("Nd")
    assert removed_by(pre_tokenizers.WhitespaceSplit()) == space  # Rust's char::is_whitespace
    assert matched_by(r"\h") == {ord(c) for c in "0123456789abcdefABCDEF"}
    for letter in "abcdefghijklmnopqrstuvwxyz":
        expected = {letter, letter.upper()} | {"s": {"\u017f"}, "k": {"\u212a"}}.get(letter, set())
        assert {chr(c) for c in matched_by(f"(?i:{letter})")} == expected, letter
        assert {chr(c) for c in matched_by(f"(?i:[{letter}])")} == expected, letter

    digits = pre_tokenizers.Digits(individual_digits=True)
    numeric = {c for c in CODE_POINTS if len(digits.pre_tokenize_str("a" + chr(c))) == 2}
    whitespace = pre_tokenizers.Whitespace()
    rust_word = {
        c
        for c in CODE_POINTS
        if [piece for piece, _ in whitespace.pre_tokenize_str("a" + chr(c))] == ["a" + chr(c)]
    }
    strip_accents = normalizers.StripAccents()
    marks = {c for c in CODE_POINTS if strip_accents.normalize_str("a" + chr(c)) == "a"}
    lowercase = normalizers.Lowercase()
    lower = {c: lowercase.normalize_str(chr(c)) for c in CODE_POINTS}
    lower = {c: text for c, text in lower.items() if text != chr(c)}
    assert {c for c, text in lower.items() if len(text) != 1} == {0x130}  # i + dot above

    starts = [c for c in range(0x110000) if c == 0 or category[c] != category[c - 1]]
    parts = [
        array("CategoryRun", "category_runs", [f"{{{c:#x}, {category[c]}}}" for c in starts]),
        range_array("whitespace", space),
        range_array("word", word),
        range_array("bracket_word_difference", word_in_brackets ^ word),
        range_array("rust_word_difference", rust_word ^ word),
        range_array("rust_numeric_difference", numeric ^ categories("N")),
        range_array("rust_punctuation", removed_by(pre_tokenizers.Punctuation("removed"))),
        range_array("combining_marks", marks),
        array(
            "CodePointPair",
            "lowercase_pairs",
            [f"{{{c:#x}, {ord(text):#x}}}" for c, text in lower.items() if len(text) == 1],
        ),
    ]
    names = []
    for script in SCRIPTS:
        name = script.lower()
        parts.append(data("CodePointRange", f"{name}", range_items(matched_by(rf"\p{{{script}}}"))))
        names.append(f'{{"{name}", {name}_data}}')
    parts.append(array("NamedRanges", "script_ranges", names))
    return parts


def normalization_tables():
    forms = {name: getattr(normalizers, name)() for name in ("NFC", "NFD", "NFKC", "NFKD")}

    def normalize(form, text):
        return forms[form].normalize_str(text)

    canonical, compatible = [], []
    for c in CODE_POINTS:
        if 0xAC00 <= c <= 0xD7A3:
            continue  # Hangul syllables follow a formula
        nfd, nfkd = normalize("NFD", chr(c)), normalize("NFKD", chr(c))
        for text, previous, target in ((nfd, chr(c), canonical), (nfkd, nfd, compatible)):
            if text != previous:
                target += [f"{c:#x}", str(len(text))] + [f"{ord(x):#x}" for x in text]

    # A mark that moves before U+0345, which has the highest class, has a class the library knows;
    # its value never changes between Unicode versions.
    last = "\u0345"
    classes = [(0x345, unicodedata.combining(last))]
    for c in CODE_POINTS:
        if c != 0x345 and normalize("NFD", "x" + last + chr(c)) == "x" + chr(c) + last:
            classes.append((c, unicodedata.combining(chr(c))))
    assert all(value for _, value in classes)

    compositions = []
    for c in CODE_POINTS:
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in parts)
            if normalize("NFC", chr(first) + chr(second)) == chr(c):
                compositions.append((first, second, c))

    return [
        array("char32_t", "canonical_decompositions", canonical),
        array("char32_t", "compatible_decompositions", compatible),
        array("CombiningClass", "combining_classes", [f"{{{c:#x}, {v}}}" for c, v in sorted(classes)]),
        array("Composition", "compositions", [f"{{{a:#x}, {b:#x}, {c:#x}}}" for a, b, c in compositions]),
    ]


def source(parts):
    return (
        f"// Generated by tools/make_unicode_tables.py from tokenizers {tokenizers.__version__}.\n"
        "// clang-format off\n"
        '#include "ropewalk/text/unicode_tables.h"\n\n'
        "namespace ropewalk::unicode {\n\n" + "\n".join(parts)
        + "\n"
        "}  // namespace ropewalk::unicode\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    stale = []
    for name, make in (("class", class_tables), ("normalization", normalization_tables)):
        path = FOLDER / f"unicode_{name}_tables.cpp"
        text = source(make())
        if check:
            if not path.exists() or path.read_text() != text:
                stale.append(path.name)
        else:
            path.write_text(text)
    if stale:
        sys.exit(f"differs from tokenizers {tokenizers.__version__}: {', '.join(stale)}")


if __name__ == "__main__":
    main()
