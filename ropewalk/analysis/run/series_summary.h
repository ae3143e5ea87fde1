#pragma once

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// The entries of summary.json about series under `bands` and `curves`, each by the checkpoint's
// label: means over heads with their standard errors (docs/formats.md). `rope` selects RoPE heads
// (1), NoPE heads (0) or all (SeriesMean::kAll). Null where there are none.
Json summarize_bands(const CheckpointTable& checkpoint);
Json summarize_curves(const CheckpointTable& checkpoint, int64_t rope);

// Copies the errors of a series' means from a summary.json that has the same means, because tables
// do not hold them. `index` is the series' index in series(). False where the summary states other
// means.
bool fill_series_errors(std::vector<SeriesMean>& means, size_t index,
                        const CheckpointTable& checkpoint, const Json& summary);

}  // namespace ropewalk
