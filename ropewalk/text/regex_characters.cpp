#include "ropewalk/text/regex_characters.h"

#include <fmt/format.h>

#include "ropewalk/base/utf8.h"
#include "ropewalk/text/unicode_classes.h"

namespace ropewalk {
namespace {

constexpr int kMaxDepth = 16;  // brackets within brackets

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

void RegexCharacters::fail(size_t at, std::string_view what) const {
  throw RegexError(fmt::format("{} at offset {} of the pattern '{}'", what, at, pattern_));
}

RegexCharacters::Element RegexCharacters::element(size_t& at, bool in_brackets) const {
  if (peek(at) == '\\') return escape(at, in_brackets);
  return {next_code_point(pattern_, at), {}};
}

RegexCharacters::Element RegexCharacters::escape(size_t& at, bool in_brackets) const {
  const size_t start = at++;  // past the backslash
  if (at >= pattern_.size()) fail(start, "a lone '\\'");
  const char letter = pattern_[at];
  if (!is_letter_or_digit(letter)) return {next_code_point(pattern_, at), {}};
  ++at;
  const auto set = [](CodePointSet value) { return Element{std::nullopt, std::move(value)}; };
  const auto word = [&] { return in_brackets ? unicode::bracket_word_set() : unicode::word_set(); };
  const CodePointSet hexadecimal_digits =
      CodePointSet::range('0', '9') | CodePointSet::range('a', 'f') | CodePointSet::range('A', 'F');
  switch (letter) {
    case 't':
      return {U'\t', {}};
    case 'n':
      return {U'\n', {}};
    case 'v':
      return {U'\v', {}};
    case 'f':
      return {U'\f', {}};
    case 'r':
      return {U'\r', {}};
    case 'a':
      return {U'\a', {}};
    case 'e':
      return {U'\x1B', {}};
    case 's':
      return set(unicode::whitespace_set());
    case 'S':
      return set(unicode::whitespace_set().complement());
    case 'd':
      return set(unicode::digit_set());
    case 'D':
      return set(unicode::digit_set().complement());
    case 'w':
      return set(word());
    case 'W':
      return set(word().complement());
    case 'h':
      return set(hexadecimal_digits);
    case 'H':
      return set(hexadecimal_digits.complement());
    case 'p':
      return set(property(at));
    case 'P':
      return set(property(at).complement());
    case 'u':
      return {hexadecimal(at, 4), {}};
    case 'x':
      if (peek(at) == '{') {
        const size_t end = pattern_.find('}', at);
        if (end == std::string_view::npos) fail(start, "an unclosed '\\x{'");
        ++at;
        const char32_t value = hexadecimal(at, end - at);
        at = end + 1;
        return {value, {}};
      } else {
        const char32_t value = hexadecimal(at, 2);
        // Two digits name a byte, which above 0x7F is only part of a character.
        if (value >= 0x80) fail(start, "a byte escape beyond ASCII");
        return {value, {}};
      }
    default:
      fail(start, fmt::format("unsupported escape '\\{}'", letter));
  }
}

CodePointSet RegexCharacters::property(size_t& at) const {
  const size_t start = at;
  const size_t end = pattern_.find('}', at);
  if (peek(at) != '{' || end == std::string_view::npos) fail(start, "\\p without {name}");
  std::string_view name = pattern_.substr(at + 1, end - at - 1);
  at = end + 1;
  const bool negated = name.starts_with('^');
  if (negated) name.remove_prefix(1);
  std::optional<CodePointSet> found;
  if (const auto own = properties_.find(name); own != properties_.end()) {
    found = own->second;
  } else {
    found = unicode::find_property(name);
  }
  if (!found) fail(start, fmt::format("unknown property '\\p{{{}}}'", name));
  return negated ? found->complement() : *found;
}

char32_t RegexCharacters::hexadecimal(size_t& at, size_t digits) const {
  const size_t start = at;
  char32_t value = 0;
  for (size_t i = 0; i < digits; ++i, ++at) {
    const char c = peek(at);
    const char lower = static_cast<char>(c | 0x20);
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (lower < 'a' || lower > 'f')) fail(start, "a malformed hexadecimal escape");
    value = value * 16 + static_cast<char32_t>(is_digit ? c - '0' : lower - 'a' + 10);
    if (value > kLastCodePoint) fail(start, "a code point beyond U+10FFFF");
  }
  if (digits == 0) fail(start, "a malformed hexadecimal escape");
  return value;
}

CodePointSet RegexCharacters::brackets(size_t& at, bool ignore_case, int depth) const {
  const size_t start = at++;
  if (depth > kMaxDepth) fail(start, "brackets nested too deeply");
  const bool negated = peek(at) == '^';
  if (negated) ++at;
  if (peek(at) == ']') fail(start, "an empty bracket expression");
  CodePointSet set;
  std::optional<CodePointSet> intersected;  // what stood before the last &&
  const auto finished = [&] { return intersected ? *intersected & set : set; };
  while (true) {
    if (at >= pattern_.size()) fail(start, "an unclosed '['");
    if (peek(at) == ']') break;
    if (pattern_.substr(at).starts_with("[:")) fail(at, "unsupported POSIX bracket '[:'");
    if (peek(at) == '[') {
      set = set | brackets(at, ignore_case, depth + 1);
      continue;
    }
    if (pattern_.substr(at).starts_with("&&")) {
      at += 2;
      intersected = finished();
      set = {};
      continue;
    }
    const size_t element_start = at;
    const Element first = element(at, true);
    CodePointSet members = first.code_point ? CodePointSet::of(*first.code_point) : first.set;
    const bool is_range = peek(at) == '-' && peek(at + 1) != ']' && peek(at + 1) != '\0';
    if (is_range && !first.code_point) fail(at, "'-' after a class of characters");
    if (is_range) {
      ++at;
      if (peek(at) == '[') fail(at, "'-' before a class of characters");
      const Element last = element(at, true);
      if (!last.code_point || *last.code_point < *first.code_point) {
        fail(element_start, "a malformed range");
      }
      members = CodePointSet::range(*first.code_point, *last.code_point);
    }
    set = set | (ignore_case ? ignoring_case(members, element_start) : members);
  }
  ++at;
  return negated ? finished().complement() : finished();
}

CodePointSet RegexCharacters::ignoring_case(const CodePointSet& set, size_t at) const {
  static const CodePointSet uncased = [] {
    CodePointSet cased;
    for (const char* category : {"Lu", "Ll", "Lt", "Lm", "Mn", "Nl", "So"}) {
      cased = cased | *unicode::find_property(category);
    }
    return cased.complement();
  }();
  const CodePointSet ascii = CodePointSet::range(0, 0x7F);
  if (!(set & ascii.complement() & uncased.complement()).empty()) {
    fail(at, "ignoring case beyond ASCII letters is not supported:");
  }
  CodePointSet result = set;
  for (char32_t letter = 'A'; letter <= 'z'; ++letter) {
    if (set.contains(letter)) result = result | *unicode::ascii_case_variants(letter);
  }
  return result;
}

}  // namespace ropewalk
