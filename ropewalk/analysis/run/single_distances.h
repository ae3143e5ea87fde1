#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Where some checkpoints of a study have windows, empties what others have of single distances:
// both curves, and the columns that compare them. Returns the labels of these.
std::vector<std::string> leave_out_single_distances(std::vector<CheckpointTable>& checkpoints);

}  // namespace ropewalk
