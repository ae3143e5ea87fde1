#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ropewalk/text/code_point_set.h"

// The tables that tools/make_unicode_tables.py writes. They record what the pinned `tokenizers`
// does, which mixes several Unicode versions; nothing here comes from a Unicode database.
namespace ropewalk::unicode {

// General category of a code point and of those after it, up to the next run.
struct CategoryRun {
  char32_t first;
  uint8_t category;  // index into kCategories
};
inline constexpr std::array<std::string_view, 30> kCategories = {
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Cn", "Co"};

struct CodePointPair {
  char32_t from;
  char32_t to;
};
struct NamedRanges {
  std::string_view name;
  std::span<const CodePointRange> ranges;
};
struct CombiningClass {
  char32_t code_point;
  uint8_t value;
};
struct Composition {
  char32_t first;
  char32_t second;
  char32_t composed;
};

// Classes. Those of Oniguruma (regular expressions) first, then those of Rust, given as the code
// points that are in one and not in the other.
extern const std::span<const CategoryRun> category_runs;
extern const std::span<const CodePointRange> whitespace;  // \s, and Rust's char::is_whitespace
extern const std::span<const CodePointRange> word;        // \w outside brackets
extern const std::span<const CodePointRange> bracket_word_difference;  // [\w] against \w
extern const std::span<const CodePointRange> rust_word_difference;     // Rust's \w against \w
extern const std::span<const CodePointRange> rust_numeric_difference;  // is_numeric against \p{N}
extern const std::span<const CodePointRange> rust_punctuation;
extern const std::span<const CodePointRange> combining_marks;  // what StripAccents removes
extern const std::span<const CodePointPair> lowercase_pairs;   // all but U+0130, which gives two
extern const std::span<const NamedRanges> script_ranges;       // lower-case names

// Normalisation. Decompositions are complete (not to be applied again) and follow one another as
// code point, length, text; the compatible ones are those that differ from the canonical.
extern const std::span<const char32_t> canonical_decompositions;
extern const std::span<const char32_t> compatible_decompositions;
extern const std::span<const CombiningClass> combining_classes;  // sorted; absent means 0
extern const std::span<const Composition> compositions;

}  // namespace ropewalk::unicode
