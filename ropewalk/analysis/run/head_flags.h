#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ropewalk {

// Every flag of heads.csv with what it means, in a sentence to be read alone: those that statistics
// set, then those of whole heads.
std::vector<std::pair<std::string, std::string>> head_flag_meanings();

}  // namespace ropewalk
