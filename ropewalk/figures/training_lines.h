#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/figures/parts/mean_layers.h"

namespace ropewalk {

// The views in one plot over training, as indexes in all_views().
struct TrainingLines {
  TrainingFigure figure;
  IndexedView first;
  std::vector<size_t> indexes;
  std::vector<MeanSeries> series;

  // Removes lines for which a run has no number, so that the legend does not list them; but never
  // all of them.
  void leave_out_empty(const RunNumbers& run);
};

// A single view, described by its statistic.
TrainingLines lines_of_view(size_t view);

// The plots of a figure, one below the other. The plot that describes the figure comes first.
std::vector<TrainingLines> plots_of_figure(const std::string& figure);

// Whether a run has any number of a view (given by its index in all_views()).
bool has_numbers(const RunNumbers& run, size_t view);

}  // namespace ropewalk
