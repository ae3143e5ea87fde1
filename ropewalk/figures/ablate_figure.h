#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/ablation/effect_table.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/parts/time_axis.h"

namespace ropewalk {

inline constexpr const char* kAblateFigure = "ablate";
inline constexpr const char* kAblateTraining = "ablate_training";

// Shows how much the loss rises when an edit is applied to each set of heads, beside the rise for
// the same edit of the control sets and for removing the heads: one panel per edit, one line per
// set (docs/figures.md).
Json ablate_figure(const Ablation& ablation);

// The same along a run: one panel per edit and set, its controls as a band, fresh weights apart.
Json ablate_training_figure(const std::string& title, const std::vector<Ablation>& checkpoints,
                            TimeAxis time);

}  // namespace ropewalk
