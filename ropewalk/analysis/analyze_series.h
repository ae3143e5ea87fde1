#pragma once

#include <vector>

#include "ropewalk/analysis/analyze_head.h"

namespace ropewalk {

// Adds every series of one head to a checkpoint, with jackknife standard errors; `sizes` as
// add_head has them. Flags of its rows in bands.csv and curves.csv:
//   no_pre_rope, no_lags, theta_by_length, few_blocks, random_weights  as in heads.csv
void add_series(CheckpointAnalysis& checkpoint, const HeadId& id, const HeadCases& head,
                const std::vector<double>& sizes);

}  // namespace ropewalk
