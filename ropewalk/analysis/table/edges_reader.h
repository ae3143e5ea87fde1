#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Adds the edges of an edges.csv to the checkpoints of a table. Throws InputError where it is not
// what it should be.
void read_edges_table(RunTable& table, const std::filesystem::path& path);
void parse_edges_table(RunTable& table, std::string_view text, const std::string& source);

}  // namespace ropewalk
