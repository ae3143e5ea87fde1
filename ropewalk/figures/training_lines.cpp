#include "ropewalk/figures/training_lines.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/figures/parts/theme.h"
#include "ropewalk/figures/parts/view_look.h"

namespace ropewalk {
namespace {

constexpr double kLine = 2.6, kThinLine = 1.3;

MeanSeries series_of(size_t index, const TrainingLine& line) {
  const bool full = line.shape != "stroke";
  return {line.name,  theme::hue_color(all_views()[index].view->hue),
          line.shape, full ? kLine : kThinLine,
          full,       [index](const CheckpointNumbers& c) { return c.views[index].over_heads; },
          index,      value_limits(all_views()[index])};
}

}  // namespace

TrainingLines lines_of_view(size_t index) {
  const IndexedView indexed = all_views().at(index);
  const Hue hue = indexed.view->hue;
  TrainingFigure figure;
  figure.title = capital_title(indexed) + ", over training";
  figure.y_title = view_title(indexed);
  figure.what = "Mean";
  figure.whole_axis = false;
  figure.note = view_sentence(indexed);
  const char* shape = hue == Hue::queries ? "circle" : hue == Hue::keys ? "square" : "diamond";
  return {figure, indexed, {index}, {series_of(index, {view_name(indexed), shape})}};
}

std::vector<TrainingLines> plots_of_figure(const std::string& figure) {
  std::vector<TrainingLines> plots;
  const std::vector<IndexedView> views = all_views();
  for (size_t i = 0; i < views.size(); ++i) {
    const Statistic& statistic = *views[i].statistic;
    const TrainingLine& line = views[i].view->line;
    if (statistic.figure.name != figure || line.name.empty()) continue;
    const std::string& y_title = statistic.figure.y_title;
    if (plots.empty() || (!y_title.empty() && y_title != plots.back().figure.y_title)) {
      plots.push_back({statistic.figure, views[i], {}, {}});
    }
    plots.back().indexes.push_back(i);
    plots.back().series.push_back(series_of(i, line));
  }
  std::stable_partition(plots.begin(), plots.end(),
                        [](const TrainingLines& lines) { return !lines.figure.title.empty(); });
  return plots;
}

void TrainingLines::leave_out_empty(const RunNumbers& run) {
  const auto empty = [&](size_t index) { return !has_numbers(run, index); };
  if (std::all_of(indexes.begin(), indexes.end(), empty)) return;
  std::erase_if(indexes, empty);
  std::erase_if(series, [&](const MeanSeries& one) { return empty(one.view); });
}

bool has_numbers(const RunNumbers& run, size_t view) {
  return std::any_of(run.checkpoints.begin(), run.checkpoints.end(), [&](const auto& numbers) {
    return !std::isnan(numbers.views[view].over_heads.mean);
  });
}

}  // namespace ropewalk
