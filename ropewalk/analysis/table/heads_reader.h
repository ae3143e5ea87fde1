#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Adds the numbers of a heads.csv to the table that was read from its qk.csv. Needs the columns
// checkpoint, layer and q_head; reads the columns of statistics that exist, and ignores other
// columns. Throws InputError naming file, line and column; also where a row is about a head that
// the table lacks, because the two files then do not belong together.
void read_heads_table(RunTable& table, const std::filesystem::path& path);

// Reads the file's text instead of the file.
void parse_heads_table(RunTable& table, std::string_view text, const std::string& source);

}  // namespace ropewalk
