#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ropewalk/analysis/run/head_changes.h"

namespace ropewalk {

struct ChangeOptions {
  double min_change = kMinChange;
  std::vector<std::pair<std::string, std::string>> between;  // labels of pairs to compare besides
};

// changes.csv (docs/formats.md): every head and statistic from each checkpoint of the run to the
// next, from the first one to the last, from a shorter context to a longer one of the same
// checkpoint, from the baselines to each, and between the pairs asked for. Throws InputError where
// a label is unknown.
std::string format_changes_table(const std::vector<CheckpointAnalysis>& checkpoints,
                                 const ChangeOptions& options);

}  // namespace ropewalk
