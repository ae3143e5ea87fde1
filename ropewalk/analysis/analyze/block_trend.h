#pragma once

#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// A flag of heads.csv.
inline constexpr const char* kTrend = "trend";

// Flags heads whose R² or r_q changes along the blocks. `steps` has the training step at which each
// block was measured, in the order of the blocks that hold documents. The number of such a head is
// a mean over a change that happened during the measurement, and its standard error includes this
// change. A slope of the jackknife's pseudo-values counts where its p-value is below 0.01. Returns
// the number of flagged heads.
int64_t flag_trends(CheckpointTable& checkpoint, const std::vector<double>& steps);

}  // namespace ropewalk
