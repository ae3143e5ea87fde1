#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/run_numbers.h"
#include "ropewalk/base/json.h"

namespace ropewalk {

// A Vega-Lite specification with its data inside.
struct Figure {
  std::string name;  // of its files, e.g. "taxonomy"
  Json spec;
};

struct FigureOptions {
  std::string title;                   // of the run; empty: the model's name, where there is one
  std::vector<std::string> portraits;  // labels for phase portraits; empty: six spread over the run
};

inline constexpr size_t kFigureCount = 6;
// Of their files.
std::vector<std::string> figure_names();

// All figures of a run, in the order of docs/figures.md; explained_variance only where the table
// has it. Throws UsageError on an unknown portrait.
std::vector<Figure> make_figures(const RunNumbers& run, const FigureOptions& options);

// One each; docs/figures.md says how to read them.
Json position_signal(const RunNumbers& run, const FigureOptions& options);
Json phase_portraits(const RunNumbers& run, const FigureOptions& options);
Json taxonomy(const RunNumbers& run, const FigureOptions& options);
Json depth_r_q(const RunNumbers& run, const FigureOptions& options);
Json depth_r_k(const RunNumbers& run, const FigureOptions& options);
Json explained_variance(const RunNumbers& run, const FigureOptions& options);

// The checkpoints that phase_portraits shows.
std::vector<const CheckpointNumbers*> portrait_checkpoints(const RunNumbers& run,
                                                           const FigureOptions& options);

}  // namespace ropewalk
