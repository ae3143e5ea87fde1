#pragma once

#include <vector>

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Adds a table of models, "models", to the summary of several models: one entry per model, with its
// shape, its context and the means that studies of several models compare. A model whose label is
// the name of a published one (published_models.h; upper and lower case are equal) also gets the
// published numbers, and the summary gets the numbers of all published models as "other_models".
void add_models(Json& summary, const std::vector<CheckpointTable>& checkpoints);

}  // namespace ropewalk
