#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/figures/parts/mean_layers.h"

namespace ropewalk {

// The readings of a plot's lines over training, by their index in all_views().
struct TrainingLines {
  TrainingFigure figure;
  IndexedView first;
  std::vector<size_t> indexes;
  std::vector<MeanSeries> series;

  // Drops lines that a run has no number of, which a legend must not promise; never all of them.
  void leave_out_empty(const RunNumbers& run);
};

// One reading alone, with what its statistic says about itself.
TrainingLines lines_of_view(size_t view);

// The plots of a figure, one below the other. The one that describes the figure comes first.
std::vector<TrainingLines> plots_of_figure(const std::string& figure);

// Whether a run has any number of a reading (its place in all_views()).
bool has_numbers(const RunNumbers& run, size_t view);

}  // namespace ropewalk
