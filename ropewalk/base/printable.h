#pragma once

#include <string>
#include <string_view>

namespace ropewalk {

// Bytes of a name that tables and figures show: a label, what a study is called.
inline constexpr size_t kLongestTitle = 1000;

// Text that may hold anything (a tensor's name, a line of a corpus) as one line of valid UTF-8:
// control characters, line and direction marks and bytes that are not UTF-8 become \n, \x1b,
// \u{202e} and the like. Terminals then show what is there and do nothing else.
std::string printable(std::string_view text);

// The same, cut after about `limit` bytes with "…".
std::string printable_excerpt(std::string_view text, size_t limit);

}  // namespace ropewalk
