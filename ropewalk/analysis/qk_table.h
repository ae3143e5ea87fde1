#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/estimate.h"

namespace ropewalk {

// The flag of every row of a checkpoint with fresh weights.
inline constexpr const char* kRandomWeights = "random_weights";

// The text of qk.csv, one row a (checkpoint, head, component); columns in docs/formats.md. Numbers
// have 9 significant digits, missing ones are empty.
std::string format_qk_table(const std::vector<CheckpointAnalysis>& checkpoints);

}  // namespace ropewalk
