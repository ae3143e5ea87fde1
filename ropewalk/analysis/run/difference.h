#pragma once

#include "ropewalk/analysis/run/group_numbers.h"
#include "ropewalk/analysis/run/head_changes.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// The change from one checkpoint to the next: an entry of summary.json's "differences". Where both
// read the same documents in the same blocks, errors are those of the paired difference; else they
// are combined as independent. A change of a mean is real where 0 is outside its 95 % interval. Two
// kinds of numbers get no such verdict: numbers per token where contexts differ (other_context()),
// and numbers whose sign comes from a rule. Means on PC0 are compared in two ways: over all heads,
// as in the summary, and over the heads whose PC0 is the same axis in both, oriented the same way;
// where the two contradict each other, neither is real. Heads whose PC0 is another axis are listed
// separately. For lists of heads, see head_changes.h. `comparison` is with one checkpoint; `before`
// and `after` are the numbers of each over all heads.
Json compare_checkpoints(const CheckpointComparison& comparison, const GroupNumbers& before,
                         const GroupNumbers& after);

}  // namespace ropewalk
