#pragma once

#include <optional>
#include <string_view>

#include "ropewalk/text/regex_syntax.h"

namespace ropewalk {

// The part of a pattern that stands for single characters: escapes and bracket expressions.
class RegexCharacters {
 public:
  RegexCharacters(std::string_view pattern, const RegexProperties& properties)
      : pattern_(pattern), properties_(properties) {}

  // An escape or plain character: one code point, or a set such as \s.
  struct Element {
    std::optional<char32_t> code_point;
    CodePointSet set;
  };

  // The element at `at`, which moves past it; a backslash starts an escape.
  Element element(size_t& at, bool in_brackets) const;
  // The bracket expression whose '[' is at `at`. With `ignore_case`, other cases of its letters
  // count.
  CodePointSet brackets(size_t& at, bool ignore_case, int depth = 0) const;
  // A set widened to the other cases of what it holds. Known for ASCII letters and for characters
  // without case only.
  CodePointSet ignoring_case(const CodePointSet& set, size_t at) const;

  [[noreturn]] void fail(size_t at, std::string_view what) const;

 private:
  char peek(size_t at) const { return at < pattern_.size() ? pattern_[at] : '\0'; }
  Element escape(size_t& at, bool in_brackets) const;
  CodePointSet property(size_t& at) const;
  char32_t hexadecimal(size_t& at, size_t digits) const;

  std::string_view pattern_;
  const RegexProperties& properties_;
};

}  // namespace ropewalk
