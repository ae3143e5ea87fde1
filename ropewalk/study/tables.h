#pragma once

#include <filesystem>
#include <vector>

#include "ropewalk/analysis/estimate.h"

namespace ropewalk {

// Where a table's summary stands: summary.json beside qk.csv, NAME.summary.json beside any other
// NAME.csv.
std::filesystem::path summary_path(const std::filesystem::path& table);

// Writes the table of heads and its summary, both or none.
void write_tables(const std::filesystem::path& table,
                  const std::vector<CheckpointAnalysis>& checkpoints);

}  // namespace ropewalk
