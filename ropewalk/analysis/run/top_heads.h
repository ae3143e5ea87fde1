#pragma once

#include "ropewalk/analysis/run/head_changes.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Which heads to look at first: every measured head, ordered by how much training changed it
// (docs/formats.md, top_heads of summary.json). Query heads whose score comes from the same change
// of shared keys are one entry. The score is the largest effect (head_changes.h) among R²cv of
// queries, R²cv of keys and the share of position in logits, from the random baselines to the last
// checkpoint and from the first trained one to it, each less its standard error and at least 0. A
// head whose PC0 is another axis than at the first trained checkpoint is scored by R²cv only. Ties
// are ordered by layer and head. Null where the last checkpoint can be compared with nothing, and
// for independent models.
// `baseline` and `whole` are these two comparisons; null: there is none.
Json top_heads(const CheckpointComparison* baseline, const CheckpointComparison* whole);

}  // namespace ropewalk
