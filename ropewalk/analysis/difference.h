#pragma once

#include "ropewalk/analysis/head_table.h"
#include "ropewalk/base/json.h"

namespace ropewalk {

// What changed from one checkpoint to the next: the entry of summary.json's "differences". Where
// both read the same documents in the same blocks, errors are those of the paired difference; else
// they are joined as independent. A change of a mean is real when it exceeds its 95 % interval; one
// of a number per token has no such verdict where contexts differ (other_context());
// lists of heads follow head_changes.h. Means of r_q and r_k are of the heads whose PC0 is the same
// axis in both, taken the same way round; heads whose PC0 is another axis are listed apart.
Json compare_checkpoints(const CheckpointAnalysis& from, const CheckpointAnalysis& to,
                         double min_change);

}  // namespace ropewalk
