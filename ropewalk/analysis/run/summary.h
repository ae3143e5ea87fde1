#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/run/changes_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// What tables say of a run beside its rows, each number computed once for all that tell it.
struct RunSummary {
  Json summary;
  std::string changes;  // changes.csv (changes_table.h)
};

// The contents of summary.json (docs/formats.md): per checkpoint means, spreads, class fractions
// and depth grids of PC0 over heads, for all heads and for RoPE and NoPE heads apart, each with its
// standard error; and the differences between consecutive checkpoints and between contexts of one
// (run_order.h); of several models, a table of them (model_summary.h) instead. With it changes.csv:
// every head and statistic of these and some other comparisons. Throws InputError where a label
// asked for is unknown.
RunSummary summarize(const std::vector<CheckpointTable>& checkpoints,
                     const ChangeOptions& options = {});

}  // namespace ropewalk
