#pragma once

#include <vector>

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Adds to a summary of several models its table of them, "models": one entry per model, with its
// shape, its context and the means that studies of several models compare, as the summary has them.
// A model whose label is the name of a published one (published_models.h), in any letters, has
// those numbers beside its own, and the summary those of all published ones in "other_models".
void add_models(Json& summary, const std::vector<CheckpointTable>& checkpoints);

}  // namespace ropewalk
