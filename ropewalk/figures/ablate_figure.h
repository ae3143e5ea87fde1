#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/ablation/effect_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

inline constexpr const char* kAblateFigure = "ablate";
inline constexpr const char* kAblateTraining = "ablate_training";

// What edits of each set cost, compared with the same edits of its control sets and with removal:
// one panel per edit, one line per set (docs/figures.md).
Json ablate_figure(const Ablation& ablation);

// The costs over training: one panel per edit and set, with its controls as a band.
Json ablate_training_figure(const std::string& title, const std::vector<Ablation>& checkpoints);

}  // namespace ropewalk
