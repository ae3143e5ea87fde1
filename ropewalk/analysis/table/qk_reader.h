#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Anyone's qk.csv. Needs the columns checkpoint (or model), layer, q_head (or head), pc and those
// of required statistics; takes the others of qk.csv where they are there (but `class`, which
// follows from r_q and r_k), and ignores the rest. Checkpoints are ordered by `order`, else by
// first appearance; one of random weights is a baseline. Throws InputError naming file, line,
// column, what was found and what was expected.
RunTable read_qk_table(const std::filesystem::path& path);

// The same from the file's text.
RunTable parse_qk_table(std::string_view text, const std::string& source);

}  // namespace ropewalk
