#pragma once

#include <string>
#include <string_view>

namespace ropewalk {

// The most bytes of a name that tables and figures show: a label, or a study's name.
inline constexpr size_t kLongestTitle = 1000;

// Turns any text (a tensor's name, a line of a corpus) into one line of valid UTF-8: control
// characters, line and direction marks and bytes that are not UTF-8 become
// , \x1b, \u{202e} and the like. A terminal then shows what is there and does nothing else.
std::string printable(std::string_view text);

// printable(), cut after about `limit` bytes with "…".
std::string printable_excerpt(std::string_view text, size_t limit);

}  // namespace ropewalk
