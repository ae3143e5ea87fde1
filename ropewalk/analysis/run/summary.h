#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/table/head_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// The contents of summary.json (docs/formats.md): per checkpoint means, spreads, class fractions
// and depth grids of PC0 over heads, for all heads and for RoPE and NoPE heads apart, each with its
// standard error; and the differences between consecutive checkpoints and between contexts of one
// (run_order.h); of several models, a table of them (model_summary.h) instead.
// `min_change`: head_changes.h.
Json summarize(const std::vector<CheckpointAnalysis>& checkpoints, double min_change);

}  // namespace ropewalk
