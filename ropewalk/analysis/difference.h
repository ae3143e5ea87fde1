#pragma once

#include "ropewalk/analysis/head_table.h"
#include "ropewalk/base/json.h"

namespace ropewalk {

// What changed from one checkpoint to the next: the entry of summary.json's "differences". Where
// both read the same documents in the same blocks, errors are those of the paired difference; else
// they are joined as independent. A change is real when it exceeds its 95 % interval; lists of
// heads keep the false discovery rate at 5 % (Benjamini & Hochberg 1995).
Json compare_checkpoints(const CheckpointAnalysis& from, const CheckpointAnalysis& to);

}  // namespace ropewalk
