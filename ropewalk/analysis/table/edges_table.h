#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// edges.csv: one row per checkpoint and edge, the strongest first in each head. Texts are one line
// each (printable.h) and at most so long.
inline constexpr size_t kLongestTokenText = 400;
std::string format_edges_table(const std::vector<CheckpointTable>& checkpoints);

// Whether any of them has edges.
bool have_edges(const std::vector<CheckpointTable>& checkpoints);

}  // namespace ropewalk
