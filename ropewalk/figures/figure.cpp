#include "ropewalk/figures/figure.h"

#include <algorithm>
#include <functional>

#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/figures/by_depth.h"
#include "ropewalk/figures/over_training.h"
#include "ropewalk/figures/parts/view_look.h"
#include "ropewalk/figures/series_figures.h"
#include "ropewalk/figures/training_lines.h"

namespace ropewalk {

namespace {

void add_once(std::vector<Figure>& figures, const std::string& name,
              const std::function<Json()>& make) {
  const bool there = std::any_of(figures.begin(), figures.end(),
                                 [&](const Figure& figure) { return figure.name == name; });
  if (!there) figures.push_back({name, make()});
}

// Adds the figures that the options request, without repetitions.
void add_asked(std::vector<Figure>& figures, const RunNumbers& run, const FigureOptions& options) {
  for (const std::string& key : options.asked.statistics) {
    const size_t view = find_view(key);
    if (!has_numbers(run, view)) continue;
    add_once(figures, over_training_name(key), [&] { return over_training(run, options, view); });
    add_once(figures, by_depth_name(key), [&] { return by_depth(run, options, view); });
  }
  for (const auto& [x, y] : options.asked.portraits) {
    const size_t across = find_view(x), up = find_view(y);
    if (!has_numbers(run, across) || !has_numbers(run, up)) continue;
    add_once(figures, portrait_name({x, y}), [&] { return portraits(run, options, across, up); });
  }
}

}  // namespace

std::vector<std::string> figure_names(const RequestedFigures& asked) {
  std::vector<std::string> names = training_figures();
  names.insert(names.end(), {"phase_portraits", "taxonomy", "bands", "distance"});
  for (const SeriesStatistic* curve : position_figures()) names.push_back(curve->key);
  names.emplace_back(kRolesFigure);
  names.emplace_back("loss");
  for (const IndexedView& indexed : all_views()) {
    if (!indexed.view->depth_title.empty()) names.push_back(indexed.view->depth);
  }
  const std::vector<std::string> more = requested_names(asked);
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

std::vector<Figure> make_figures(const RunNumbers& run, const FigureOptions& options) {
  FigureOptions named = options;
  if (named.title.empty()) named.title = run.model;
  std::vector<Figure> figures, last;
  for (const std::string& name : training_figures()) {
    if (!can_draw(run, name)) continue;
    const bool first =
        std::any_of(statistics().begin(), statistics().end(), [&](const Statistic* statistic) {
          return statistic->figure.name == name && (statistic->headline || statistic->figure.first);
        });
    (first ? figures : last).push_back({name, over_training(run, named, name)});
  }
  figures.push_back({"phase_portraits", portraits(run, named, find_view("r_q"), find_view("r_k"))});
  figures.push_back({"taxonomy", taxonomy(run, named)});
  const std::vector<IndexedView> views = all_views();
  for (size_t i = 0; i < views.size(); ++i) {
    const StatisticView& view = *views[i].view;
    if (!view.depth_title.empty() && has_numbers(run, i)) {
      figures.push_back({view.depth, by_depth(run, named, i)});
    }
  }
  std::move(last.begin(), last.end(), std::back_inserter(figures));
  if (has_bands(run)) figures.push_back({"bands", bands_figure(run, named)});
  if (has_distances(run)) figures.push_back({"distance", distance_figure(run, named)});
  for (const SeriesStatistic* curve : position_figures()) {
    if (has_numbers(run, *curve)) {
      figures.push_back({curve->key, position_figure(*curve, run, named)});
    }
  }
  if (has_roles(run)) figures.push_back({kRolesFigure, roles_figure(run, named)});
  if (has_losses(run)) figures.push_back({"loss", loss_figure(run, named)});
  add_asked(figures, run, named);
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
