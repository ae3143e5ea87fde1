#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ropewalk/analysis/run/head_changes.h"

namespace ropewalk {

struct ChangeOptions {
  double min_change = kMinChange;
  std::vector<std::pair<std::string, std::string>> between;  // further pairs of labels to compare
};

// Checkpoints that are compared, by their indexes in the table: each one with the next of the run,
// a shorter with a longer context of the same checkpoint, the baselines with each one, the first
// with the last, and the requested pairs.
struct ComparedCheckpoints {
  enum class Kind { step, context, baseline, whole, between };
  Kind kind;
  std::vector<size_t> from;  // several only for baselines
  size_t to = 0;
};

// In the order of changes.csv. Throws InputError about an unknown label.
std::vector<ComparedCheckpoints> compared_checkpoints(
    const std::vector<CheckpointTable>& checkpoints, const ChangeOptions& options);

// The header line of changes.csv (docs/formats.md), and the rows of one comparison: every head and
// statistic.
std::string changes_header();
std::string format_changes(ComparedCheckpoints::Kind kind, const CheckpointComparison& comparison);

}  // namespace ropewalk
