#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// The candidate nearest to `word`, whatever the case of its letters, or empty where none is near.
std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates);

// The nearest few, the best first: those that contain `word`, and those near to it.
std::vector<std::string> nearest_few(std::string_view word,
                                     const std::vector<std::string_view>& candidates);

}  // namespace ropewalk
