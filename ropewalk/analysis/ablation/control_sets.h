#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ropewalk/analysis/ablation/chosen_set.h"

namespace ropewalk {

// Random sets with which a set of heads is compared: each has as many heads per layer, and shares
// no head with the set. Where a layer has too few other heads, the rest is drawn from the two
// nearest layers with free heads and the same kind of position encoding (RoPE or NoPE). Where more
// than a quarter would have to come from other layers, there are no controls.
struct ControlSets {
  std::vector<HeadSet> sets;  // all different; fewer than requested where no more exist
  int64_t moved = 0;          // units per set that come from other layers than the set's
  // where `sets` is empty, the reason in words; "controls_moved" or "no_controls"
  std::string why_none;
};

// `heads`: all heads that may be drawn; `nope`: layers without RoPE. The draw is seeded by the set,
// so that its controls do not depend on its name; asking for fewer gives the first ones of asking
// for more.
ControlSets draw_controls(const ChosenSet& set, const std::vector<QueryHead>& heads,
                          const std::set<int64_t>& nope, int64_t group, int64_t count);

}  // namespace ropewalk
