#pragma once

#include "ropewalk/analysis/run/head_changes.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Which heads to look at first: every measured head by how much training changed it
// (docs/formats.md, top_heads of summary.json). Query heads that owe their score to the same change
// of the keys that they share are one entry. The score is the largest, over R²cv of queries,
// R²cv of keys and the share of position in logits, of the effects (head_changes.h) from the random
// baselines to the last checkpoint and from the first trained one to it, each less its standard
// error and at least 0. A head whose PC0 is another axis than at the first trained checkpoint
// counts by R²cv alone. Ties go by layer and head. Null where there is nothing to hold the last
// checkpoint against, and of several models.
// `baseline` and `whole`: those two comparisons, or null where there is none.
Json top_heads(const CheckpointComparison* baseline, const CheckpointComparison* whole);

}  // namespace ropewalk
