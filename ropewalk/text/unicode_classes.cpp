#include "ropewalk/text/unicode_classes.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/text/unicode_tables.h"

namespace ropewalk::unicode {
namespace {

// Long names of the categories, as a pattern may spell them (lower case, no separators).
constexpr std::array<std::pair<std::string_view, std::string_view>, 36> kLongNames = {{
    {"letter", "L"},
    {"uppercaseletter", "Lu"},
    {"lowercaseletter", "Ll"},
    {"titlecaseletter", "Lt"},
    {"modifierletter", "Lm"},
    {"otherletter", "Lo"},
    {"mark", "M"},
    {"nonspacingmark", "Mn"},
    {"spacingmark", "Mc"},
    {"enclosingmark", "Me"},
    {"number", "N"},
    {"decimalnumber", "Nd"},
    {"letternumber", "Nl"},
    {"othernumber", "No"},
    {"punctuation", "P"},
    {"dashpunctuation", "Pd"},
    {"connectorpunctuation", "Pc"},
    {"openpunctuation", "Ps"},
    {"closepunctuation", "Pe"},
    {"initialpunctuation", "Pi"},
    {"finalpunctuation", "Pf"},
    {"otherpunctuation", "Po"},
    {"symbol", "S"},
    {"mathsymbol", "Sm"},
    {"currencysymbol", "Sc"},
    {"modifiersymbol", "Sk"},
    {"othersymbol", "So"},
    {"separator", "Z"},
    {"spaceseparator", "Zs"},
    {"lineseparator", "Zl"},
    {"paragraphseparator", "Zp"},
    {"other", "C"},
    {"control", "Cc"},
    {"format", "Cf"},
    {"unassigned", "Cn"},
    {"privateuse", "Co"},
}};

std::string plain_name(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    result.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return result;
}

// The code points whose category's name starts with `name`, e.g. "L" or "Lu".
CodePointSet category_set(std::string_view name) {
  std::vector<CodePointRange> ranges;
  for (size_t i = 0; i < category_runs.size(); ++i) {
    if (!kCategories[category_runs[i].category].starts_with(name)) continue;
    const bool is_last = i + 1 == category_runs.size();
    ranges.push_back(
        {category_runs[i].first, is_last ? kLastCodePoint : category_runs[i + 1].first - 1});
  }
  return CodePointSet(ranges);
}

}  // namespace

std::optional<CodePointSet> find_property(std::string_view name) {
  const std::string plain = plain_name(name);
  for (const auto& [long_name, category] : kLongNames) {
    if (plain == long_name) return category_set(category);
  }
  for (const std::string_view category : kCategories) {
    const std::string lower = plain_name(category);
    if (plain == lower) return category_set(category);
    if (plain.size() == 1 && plain[0] == lower[0]) return category_set(category.substr(0, 1));
  }
  for (const NamedRanges& script : script_ranges) {
    if (plain == script.name) return CodePointSet(script.ranges);
  }
  return std::nullopt;
}

CodePointSet whitespace_set() { return CodePointSet(whitespace); }
CodePointSet digit_set() { return category_set("Nd"); }
CodePointSet word_set() { return CodePointSet(word); }
CodePointSet bracket_word_set() { return word_set() ^ CodePointSet(bracket_word_difference); }
CodePointSet rust_word_set() { return word_set() ^ CodePointSet(rust_word_difference); }
CodePointSet rust_numeric_set() {
  return category_set("N") ^ CodePointSet(rust_numeric_difference);
}
CodePointSet rust_punctuation_set() { return CodePointSet(rust_punctuation); }
CodePointSet combining_mark_set() { return CodePointSet(combining_marks); }

std::optional<CodePointSet> ascii_case_variants(char32_t code_point) {
  if (code_point >= 0x80) return std::nullopt;
  CodePointSet result = CodePointSet::of(code_point);
  const char32_t lower = code_point | 0x20;
  if (lower < 'a' || lower > 'z') return result;
  result = CodePointSet::of(lower) | CodePointSet::of(lower - 'a' + 'A');
  if (lower == 's') return result | CodePointSet::of(0x17F);   // long s
  if (lower == 'k') return result | CodePointSet::of(0x212A);  // Kelvin sign
  return result;
}

}  // namespace ropewalk::unicode
