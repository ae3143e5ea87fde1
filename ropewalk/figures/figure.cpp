#include "ropewalk/figures/figure.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/figures/by_depth.h"
#include "ropewalk/figures/over_training.h"

namespace ropewalk {

std::vector<std::string> figure_names() {
  std::vector<std::string> names = training_figures();
  names.insert(names.end(), {"phase_portraits", "taxonomy"});
  for (const PlacedReading& placed : all_readings()) {
    if (!placed.reading->depth_title.empty()) names.push_back(placed.reading->depth);
  }
  return names;
}

std::vector<Figure> make_figures(const RunNumbers& run, const FigureOptions& options) {
  FigureOptions settled = options;
  if (settled.title.empty()) settled.title = run.model;
  std::vector<Figure> figures, last;
  for (const std::string& name : training_figures()) {
    if (!can_draw(run, name)) continue;
    const bool headline =
        std::any_of(statistics().begin(), statistics().end(), [&](const Statistic* statistic) {
          return statistic->headline && statistic->figure.name == name;
        });
    (headline ? figures : last).push_back({name, over_training(run, settled, name)});
  }
  figures.push_back({"phase_portraits", phase_portraits(run, settled)});
  figures.push_back({"taxonomy", taxonomy(run, settled)});
  const std::vector<PlacedReading> readings = all_readings();
  for (size_t i = 0; i < readings.size(); ++i) {
    const Reading& reading = *readings[i].reading;
    const bool there = std::any_of(
        run.checkpoints.begin(), run.checkpoints.end(),
        [&](const auto& numbers) { return !std::isnan(numbers.readings[i].over_heads.mean); });
    if (there && !reading.depth_title.empty()) {
      figures.push_back({reading.depth, by_depth(run, settled, i)});
    }
  }
  std::move(last.begin(), last.end(), std::back_inserter(figures));
  return figures;
}

std::vector<std::string> missing_figures(const RunNumbers& run) {
  std::vector<std::string> names;
  for (const Statistic* statistic : statistics()) {
    const std::string& name = statistic->figure.name;
    if (statistic->table == Table::heads || name.empty() || can_draw(run, name)) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace ropewalk
