#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/figures/figure.h"

namespace ropewalk {

// Names of the figures over training that statistics name, without repetitions; those of headlines
// first.
std::vector<std::string> training_figures();

// Whether a run has the numbers of this figure.
bool can_draw(const RunNumbers& run, const std::string& figure);

// The means over heads of every statistic that names this figure, over a training run: lines, ±1 SD
// bands and standard-error bars; below them the components, where they are shares of a whole.
Json over_training(const RunNumbers& run, const FigureOptions& options, const std::string& figure);

// The means over heads of one view over a training run.
Json over_training(const RunNumbers& run, const FigureOptions& options, size_t view);

}  // namespace ropewalk
