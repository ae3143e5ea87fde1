#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Reads a qk.csv of any origin. Needs the columns checkpoint (or model), layer, q_head (or head),
// pc and those of required statistics; reads the other columns of qk.csv that exist (except
// `class`, which follows from r_q and r_k), and ignores further ones. Checkpoints are ordered by
// `order`, else by first appearance; checkpoints with random weights are baselines. Throws
// InputError naming file, line, column, what was found and what was expected.
RunTable read_qk_table(const std::filesystem::path& path);

// Reads the file's text instead of the file.
RunTable parse_qk_table(std::string_view text, const std::string& source);

}  // namespace ropewalk
