#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/asked_figures.h"
#include "ropewalk/figures/parts/time_axis.h"

namespace ropewalk {

// A Vega-Lite specification with its data inside.
struct Figure {
  std::string name;  // of its files, e.g. "taxonomy"
  Json spec;
};

struct FigureOptions {
  std::string title;  // of the run; empty: the model's name, where there is one
  std::vector<std::string>
      portraits;       // labels for phase portraits; empty: six spread over the run, or all models
  AskedFigures asked;  // besides those of every run
  std::optional<TimeAxis> axis;  // of figures over training; none: labels

  TimeAxis time() const { return axis.value_or(TimeAxis::labels); }
};

// All figures of a run, in the order of docs/figures.md: those over training that headline
// statistics name or that say they stand first, portraits, classes, readings by depth, then the
// other figures over training and those asked for, where the table has their numbers. Throws
// UsageError on an unknown portrait or statistic.
std::vector<Figure> make_figures(const RunNumbers& run, const FigureOptions& options);

// Of the files of all figures that there can be.
std::vector<std::string> figure_names(const AskedFigures& asked);

// Names of figures that a statistic of qk.csv asks for and the table has no numbers for.
std::vector<std::string> missing_figures(const RunNumbers& run);

// The classes of heads, stacked; docs/figures.md says how to read it. See over_training.h and
// by_depth.h for the others.
Json taxonomy(const RunNumbers& run, const FigureOptions& options);

// Two readings (places in all_views()) of every head against each other, at a few checkpoints.
Json portraits(const RunNumbers& run, const FigureOptions& options, size_t x, size_t y);

// The checkpoints that portraits show.
std::vector<const CheckpointNumbers*> portrait_checkpoints(const RunNumbers& run,
                                                           const FigureOptions& options);

}  // namespace ropewalk
