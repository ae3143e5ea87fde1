#pragma once

#include "ropewalk/analysis/table/head_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// What summary.json says of series under `bands` and `curves`, each by the checkpoint's label:
// means over heads with their standard errors (docs/formats.md). `rope`: of RoPE heads (1), NoPE
// heads (0) or all (SeriesMean::kAll). Null: there are none.
Json summarize_bands(const CheckpointAnalysis& checkpoint);
Json summarize_curves(const CheckpointAnalysis& checkpoint, int64_t rope);

// Takes the errors of means from a summary.json, where it has the same means: tables do not hold
// them. False where it states other means than the tables give.
bool take_series_errors(CheckpointAnalysis& checkpoint, const Json& summary);

}  // namespace ropewalk
