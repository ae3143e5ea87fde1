#pragma once

#include "ropewalk/analysis/run/group_numbers.h"
#include "ropewalk/analysis/run/head_changes.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// What changed from one checkpoint to the next: the entry of summary.json's "differences". Where
// both read the same documents in the same blocks, errors are those of the paired difference; else
// they are joined as independent. A change of a mean is real when it exceeds its 95 % interval; one
// of a number per token has no such verdict where contexts differ (other_context()), nor has one
// whose sign is a rule's alone. Means on PC0 change in two ways, of all heads as the summary has
// them and of the heads whose PC0 is the same axis in both, taken the same way round: neither is
// real where the two contradict each other. Heads whose PC0 is another axis are listed apart. Lists
// of heads follow head_changes.h. `comparison`: from one checkpoint; `before` and `after`: of all
// heads of either.
Json compare_checkpoints(const CheckpointComparison& comparison, const GroupNumbers& before,
                         const GroupNumbers& after);

}  // namespace ropewalk
