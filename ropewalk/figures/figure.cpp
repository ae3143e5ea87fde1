#include "ropewalk/figures/figure.h"

#include <algorithm>

namespace ropewalk {

std::vector<std::string> figure_names() {
  return {"position_signal", "phase_portraits", "taxonomy",
          "depth_r_q",       "depth_r_k",       "explained_variance"};
}

std::vector<Figure> make_figures(const RunNumbers& run, const FigureOptions& options) {
  FigureOptions settled = options;
  if (settled.title.empty()) settled.title = run.model;
  std::vector<Figure> figures{{"position_signal", position_signal(run, settled)},
                              {"phase_portraits", phase_portraits(run, settled)},
                              {"taxonomy", taxonomy(run, settled)},
                              {"depth_r_q", depth_r_q(run, settled)},
                              {"depth_r_k", depth_r_k(run, settled)}};
  const bool variance =
      std::any_of(run.checkpoints.begin(), run.checkpoints.end(),
                  [](const CheckpointNumbers& numbers) { return !numbers.spectrum.empty(); });
  if (variance) figures.push_back({"explained_variance", explained_variance(run, settled)});
  return figures;
}

}  // namespace ropewalk
