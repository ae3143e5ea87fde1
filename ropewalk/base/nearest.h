#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// Returns the candidate nearest to `word`, ignoring case, or an empty string where none is near.
std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates);

// Returns a few candidates: first those that contain `word`, then those near to it, the nearest
// first.
std::vector<std::string> nearest_few(std::string_view word,
                                     const std::vector<std::string_view>& candidates);

}  // namespace ropewalk
