#pragma once

#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// A flag of heads.csv.
inline constexpr const char* kTrend = "trend";

// Flags heads whose R² or r_q runs along the blocks, each of which was measured at one of `steps`
// (in the order of the blocks that hold documents): what a number is then the mean of changed while
// it was measured, and its standard error holds that change. Blocks are told apart by the
// pseudo-values of the jackknife; a slope counts where it is one in a hundred by chance. Returns
// how many heads.
int64_t flag_trends(CheckpointTable& checkpoint, const std::vector<double>& steps);

}  // namespace ropewalk
