#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Adds the numbers of a heads.csv to the table of its qk.csv. Needs the columns checkpoint, layer
// and q_head; takes those of statistics where they are there, and ignores the rest. Throws
// InputError naming file, line and column, also where a row is of a head that the table lacks: the
// file then belongs to another one.
void read_heads_table(RunTable& table, const std::filesystem::path& path);

// The same from the file's text.
void parse_heads_table(RunTable& table, std::string_view text, const std::string& source);

}  // namespace ropewalk
