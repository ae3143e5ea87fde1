#pragma once

#include <vector>

#include "ropewalk/analysis/estimate.h"
#include "ropewalk/base/json.h"

namespace ropewalk {

// The contents of summary.json (docs/formats.md): per checkpoint means, spreads, class fractions
// and depth grids of PC0 over heads, for all heads and for RoPE and NoPE heads apart, each with its
// standard error; and the differences between consecutive checkpoints.
Json summarize(const std::vector<CheckpointAnalysis>& checkpoints);

// Standard errors of mean r_q and mean r_k over all heads: what --target-se watches. NaN: unknown.
struct HeadlineError {
  double mean_r_q_se = 0;
  double mean_r_k_se = 0;
};
HeadlineError headline_error(const CheckpointAnalysis& checkpoint);

}  // namespace ropewalk
