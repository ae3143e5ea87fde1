#pragma once

#include <vector>

#include "ropewalk/analysis/analyze/analyze_head.h"

namespace ropewalk {

// Adds every series of one head to a checkpoint, with jackknife standard errors; `sizes` are the
// tokens per block, as in add_head. The head's rows in bands.csv and curves.csv copy the flags
// no_pre_rope, theta_by_length, few_blocks and random_weights of heads.csv.
void add_series(CheckpointTable& checkpoint, const HeadId& id, const HeadReplicates& head,
                const std::vector<double>& sizes);

}  // namespace ropewalk
