#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/run/changes_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// The results about a whole run besides the rows of its tables. Each number is computed once.
struct RunSummary {
  Json summary;
  std::string changes;  // changes.csv (changes_table.h)
  std::string roles;    // roles.csv (role_table.h); empty: no head has a score
};

// Computes the contents of summary.json (docs/formats.md): per checkpoint means, spreads, class
// fractions and depth grids over heads on PC0, for all heads and separately for RoPE and NoPE
// heads, each with its standard error; and the differences between consecutive checkpoints and
// between contexts of one checkpoint (run_order.h). For independent models, a table of them
// replaces the differences (model_summary.h). Also computes changes.csv: every head and statistic
// of these and some other comparisons. Throws InputError where a requested label is unknown.
RunSummary summarize(const std::vector<CheckpointTable>& checkpoints,
                     const ChangeOptions& options = {});

}  // namespace ropewalk
