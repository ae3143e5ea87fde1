#pragma once

#include <limits>
#include <string>
#include <vector>

#include "ropewalk/analysis/ablation/head_units.h"
#include "ropewalk/analysis/ablation/set_name.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// The heads that a set's name selects in one checkpoint, and how stable this choice is.
struct ChosenSet {
  SetName name;
  HeadSet heads;
  std::vector<QueryHead> units;  // query heads or KV heads, in order
  int64_t among = 0;             // units that could have been chosen
  // The mean overlap (Jaccard) with the sets that resampled documents would select, and with random
  // sets of the same size. NaN: the heads were not selected by a number, or there are no blocks to
  // resample.
  double overlap = std::numeric_limits<double>::quiet_NaN();
  double chance = std::numeric_limits<double>::quiet_NaN();

  bool unstable() const { return overlap < kStableOverlap; }
  static constexpr double kStableOverlap = 0.7;
};

// The heads of an analysed checkpoint. Its replicates must still be there.
std::vector<QueryHead> heads_of(const CheckpointTable& checkpoint);

// Throws UsageError about the field `heads` where a head or layer does not exist, or where the set
// is empty. Heads without the number are not ranked; equal numbers rank by layer and head.
ChosenSet choose_set(const SetName& name, const CheckpointTable& checkpoint);

}  // namespace ropewalk
