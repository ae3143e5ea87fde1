#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// The candidate nearest to `word`, whatever the case of its letters, or empty where none is near.
std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates);

// The nearest few: those that contain `word`, then those near to it, the nearest first.
std::vector<std::string> nearest_few(std::string_view word,
                                     const std::vector<std::string_view>& candidates);

}  // namespace ropewalk
