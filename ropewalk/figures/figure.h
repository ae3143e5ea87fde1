#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/parts/time_axis.h"
#include "ropewalk/figures/requested_figures.h"

namespace ropewalk {

// A Vega-Lite specification that contains its data.
struct Figure {
  std::string name;  // name of its files, e.g. "taxonomy"
  Json spec;
};

struct FigureOptions {
  std::string title;  // name of the run; empty: the model's name, if there is one
  std::vector<std::string>
      // labels of checkpoints for phase portraits; empty: six spread over the run, or all models
      portraits;
  RequestedFigures asked;        // in addition to those of every run
  std::optional<TimeAxis> axis;  // x axis of figures over training; empty: labels

  TimeAxis time() const { return axis.value_or(TimeAxis::labels); }
};

// All figures of a run, in the order of docs/figures.md: figures over training of headline
// statistics or with TrainingFigure::first, portraits, classes, views by depth, then the other
// figures over training and the requested ones, if the table has their numbers. Throws UsageError
// on an unknown portrait or statistic.
std::vector<Figure> make_figures(const RunNumbers& run, const FigureOptions& options);

// The names of the files of all possible figures.
std::vector<std::string> figure_names(const RequestedFigures& asked);

// Names of figures that a statistic of qk.csv names but for which the table has no numbers.
std::vector<std::string> missing_figures(const RunNumbers& run);

// The classes of heads, stacked; docs/figures.md says how to read it. For the other figures see
// over_training.h and by_depth.h.
Json taxonomy(const RunNumbers& run, const FigureOptions& options);

// A scatter plot of two views (indexes in all_views()) of every head, at a few checkpoints.
Json portraits(const RunNumbers& run, const FigureOptions& options, size_t x, size_t y);

// The checkpoints that portraits show.
std::vector<const CheckpointNumbers*> portrait_checkpoints(const RunNumbers& run,
                                                           const FigureOptions& options);

}  // namespace ropewalk
