#pragma once

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// What summary.json says of series under `bands` and `curves`, each by the checkpoint's label:
// means over heads with their standard errors (docs/formats.md). `rope`: of RoPE heads (1), NoPE
// heads (0) or all (SeriesMean::kAll). Null: there are none.
Json summarize_bands(const CheckpointTable& checkpoint);
Json summarize_curves(const CheckpointTable& checkpoint, int64_t rope);

// Takes the errors of a series' means from a summary.json, where it has the same means: tables do
// not hold them. `index`: of the series in series(). False where it states other means than these.
bool fill_series_errors(std::vector<SeriesMean>& means, size_t index,
                        const CheckpointTable& checkpoint, const Json& summary);

}  // namespace ropewalk
