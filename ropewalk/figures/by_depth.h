#pragma once

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/figures/figure.h"

namespace ropewalk {

// Means of a view (given by its index in all_views()) by depth and checkpoint, as a heat map.
Json by_depth(const RunNumbers& run, const FigureOptions& options, size_t view);

}  // namespace ropewalk
