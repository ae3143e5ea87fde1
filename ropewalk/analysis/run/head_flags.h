#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ropewalk {

// Every flag of heads.csv and its meaning, as a sentence that is clear on its own: first the flags
// that statistics set, then those that concern the whole head.
std::vector<std::pair<std::string, std::string>> head_flag_meanings();

}  // namespace ropewalk
