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

// Checkpoints that are held against each other, by their places in the table: from each one of the
// run to the next, from a shorter context to a longer one of the same checkpoint, from the
// baselines to each, from the first one to the last, and the pairs asked for.
struct ComparedCheckpoints {
  enum class Kind { step, context, baseline, whole, between };
  Kind kind;
  std::vector<size_t> from;  // several: baselines
  size_t to = 0;
};

// In the order of changes.csv. Throws InputError where a label is unknown.
std::vector<ComparedCheckpoints> compared_checkpoints(
    const std::vector<CheckpointTable>& checkpoints, const ChangeOptions& options);

// The line of names of changes.csv (docs/formats.md), and the rows of one comparison: every head
// and statistic.
std::string changes_header();
std::string format_changes(ComparedCheckpoints::Kind kind, const CheckpointComparison& comparison);

}  // namespace ropewalk
