#include "ropewalk/figures/training_lines.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/figures/parts/reading_look.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kLine = 2.6, kThinLine = 1.3;

MeanSeries series_of(size_t place, const TrainingLine& line) {
  const bool full = line.shape != "stroke";
  return {line.name,  theme::hue_color(all_readings()[place].reading->hue),
          line.shape, full ? kLine : kThinLine,
          full,       [place](const CheckpointNumbers& c) { return c.readings[place].over_heads; },
          place,      value_limits(all_readings()[place])};
}

}  // namespace

TrainingLines lines_of_reading(size_t place) {
  const PlacedReading placed = all_readings().at(place);
  const Hue hue = placed.reading->hue;
  TrainingFigure figure;
  figure.title = capital_title(placed) + ", over training";
  figure.y_title = reading_title(placed);
  figure.what = "Mean";
  figure.whole_axis = false;
  figure.note = reading_sentence(placed);
  const char* shape = hue == Hue::queries ? "circle" : hue == Hue::keys ? "square" : "diamond";
  return {figure, placed, {place}, {series_of(place, {reading_name(placed), shape})}};
}

std::vector<TrainingLines> plots_of_figure(const std::string& figure) {
  std::vector<TrainingLines> plots;
  const std::vector<PlacedReading> readings = all_readings();
  for (size_t i = 0; i < readings.size(); ++i) {
    const Statistic& statistic = *readings[i].statistic;
    const TrainingLine& line = readings[i].reading->line;
    if (statistic.figure.name != figure || line.name.empty()) continue;
    const std::string& y_title = statistic.figure.y_title;
    if (plots.empty() || (!y_title.empty() && y_title != plots.back().figure.y_title)) {
      plots.push_back({statistic.figure, readings[i], {}, {}});
    }
    plots.back().places.push_back(i);
    plots.back().series.push_back(series_of(i, line));
  }
  std::stable_partition(plots.begin(), plots.end(),
                        [](const TrainingLines& lines) { return !lines.figure.title.empty(); });
  return plots;
}

void TrainingLines::leave_out_empty(const RunNumbers& run) {
  const auto empty = [&](size_t place) { return !has_numbers(run, place); };
  if (std::all_of(places.begin(), places.end(), empty)) return;
  std::erase_if(places, empty);
  std::erase_if(series, [&](const MeanSeries& one) { return empty(one.reading); });
}

bool has_numbers(const RunNumbers& run, size_t reading) {
  return std::any_of(run.checkpoints.begin(), run.checkpoints.end(), [&](const auto& numbers) {
    return !std::isnan(numbers.readings[reading].over_heads.mean);
  });
}

}  // namespace ropewalk
