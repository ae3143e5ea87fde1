#pragma once

#include <limits>
#include <string>
#include <vector>

#include "ropewalk/analysis/ablation/head_units.h"
#include "ropewalk/analysis/ablation/set_name.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// The heads that a name stands for in one checkpoint, and how sure that is.
struct ChosenSet {
  SetName name;
  HeadSet heads;
  std::vector<QueryHead> units;  // heads, or KV heads, in order
  int64_t among = 0;             // units that could have been chosen
  // The mean overlap (Jaccard) with the sets that resamples of the documents would choose, and with
  // random sets of as many units. NaN: no number chose it, or there are no blocks to resample.
  double overlap = std::numeric_limits<double>::quiet_NaN();
  double chance = std::numeric_limits<double>::quiet_NaN();

  bool unstable() const { return overlap < kStableOverlap; }
  static constexpr double kStableOverlap = 0.7;
};

// The heads of a checkpoint, as it was analysed: with replicates.
std::vector<QueryHead> heads_of(const CheckpointTable& checkpoint);

// Throws UsageError about the field `heads` where a head or layer is not there, or no head is
// chosen. Missing numbers are not ranked; equal ones rank by layer and head.
ChosenSet choose_set(const SetName& name, const CheckpointTable& checkpoint);

}  // namespace ropewalk
