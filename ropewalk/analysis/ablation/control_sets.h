#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ropewalk/analysis/ablation/chosen_set.h"

namespace ropewalk {

// Random sets to hold a set of heads against: as many heads of each layer, none of them in the set.
// Where a layer has too few others, the rest is drawn from the two nearest layers with room that
// turn likewise (RoPE or NoPE); more than a quarter drawn elsewhere make no control.
struct ControlSets {
  std::vector<HeadSet> sets;  // different ones, fewer than asked for where there are no more
  int64_t moved = 0;          // units of each that stand in another layer than the set's
  std::string why_none;       // in words, where there are none; "controls_moved" or "no_controls"
};

// `heads`: all that may be drawn; `nope`: layers that do not turn. The draw is seeded by the set,
// so that a set has the same controls whatever it is called; fewer of them are the first of more.
ControlSets draw_controls(const ChosenSet& set, const std::vector<QueryHead>& heads,
                          const std::set<int64_t>& nope, int64_t group, int64_t count);

}  // namespace ropewalk
