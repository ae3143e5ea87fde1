#pragma once

#include <vector>

#include "ropewalk/analysis/head_table.h"
#include "ropewalk/base/json.h"

namespace ropewalk {

// The table of several models that summary.json has under "models": one entry per model, with its
// shape, its context and the means that studies of several models compare, as `summary` has them.
Json summarize_models(const std::vector<CheckpointAnalysis>& checkpoints, const Json& summary);

}  // namespace ropewalk
