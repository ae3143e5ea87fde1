#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/regex_syntax.h"

namespace ropewalk {

struct TextSpan {
  size_t begin;
  size_t end;
};

// Buffers that matching needs; one a thread. Also counts the steps of matches that take many, and
// the time, so that a pattern made to be slow is given up.
class RegexScratch {
 public:
  RegexScratch();
  // Counts from zero again. `seconds` of this thread's computing are granted to all matches.
  void begin_text(double seconds);
  ~RegexScratch();
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;

 private:
  friend class Regex;
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

// A regular expression as the `tokenizers` library understands it (Oniguruma's syntax and classes),
// matched by PCRE2. A pattern tells only few kinds of characters apart, so the text is first
// rewritten with one byte per character that names its kind, and the pattern likewise: PCRE2 then
// needs no Unicode of its own, and a class of 700 ranges costs one bitmap test.
class Regex {
 public:
  // Throws RegexError.
  explicit Regex(std::string_view pattern, const RegexProperties& properties = {});
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // A pattern that matches `text` itself.
  static std::string escape(std::string_view text);

  // Replaces `matches` by the successive matches in `text` (valid UTF-8), as byte offsets. An empty
  // match right behind another is left out. Throws InputError where PCRE2 gives up.
  void find_all(std::string_view text, RegexScratch& scratch, std::vector<TextSpan>& matches) const;

 private:
  struct Program;
  std::unique_ptr<const Program> program_;
};

}  // namespace ropewalk
