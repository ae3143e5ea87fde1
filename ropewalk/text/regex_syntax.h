#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/code_point_set.h"

namespace ropewalk {

// A pattern that cannot be used: what it holds and where. Callers add the file.
class RegexError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Names for \p{…} beyond Unicode's.
using RegexProperties = std::map<std::string, CodePointSet, std::less<>>;

// A regular expression in Oniguruma's syntax, taken apart so that it can be written again for
// another engine and another alphabet: everything that matches one character has become a set.
struct RegexSyntax {
  struct Item {
    std::string text;  // operators, spelled as PCRE2 wants them; empty for a set
    size_t set = 0;    // index into `sets`
  };
  std::vector<Item> items;
  std::vector<CodePointSet> sets;  // each once
};

// Throws RegexError on what is malformed, unknown, or means something else in PCRE2: back
// references, named groups, option letters other than i, POSIX brackets, nested repeats.
RegexSyntax parse_regex(std::string_view pattern, const RegexProperties& properties = {});

}  // namespace ropewalk
