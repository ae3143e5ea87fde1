// When heads take up roles, and when place decides.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ropewalk/figures/parts/mean_layers.h"
#include "ropewalk/figures/parts/run_notes.h"
#include "ropewalk/figures/parts/theme.h"
#include "ropewalk/figures/parts/view_look.h"
#include "ropewalk/figures/series_figures.h"

namespace ropewalk {
namespace {

constexpr double kHeightOfScores = 250;
constexpr double kHeightOfShares = 190;
constexpr double kLine = 2.6;
constexpr double kTop = 0.1;  // of an axis, at least
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

using NumbersOf = std::function<const RoleNumbers&(const CheckpointNumbers&)>;

// What of a role a plot shows.
double top_score(const RoleNumbers& role) { return role.top; }
double share(const RoleNumbers& role) {
  return static_cast<double>(role.heads) / static_cast<double>(role.of);
}
using Shown = double (*)(const RoleNumbers&);

MeanSeries series_of(const std::string& name, std::string_view color, std::string_view shape,
                     const NumbersOf& of, Shown shown) {
  const auto number = [of, shown](const CheckpointNumbers& numbers) {
    const RoleNumbers& role = of(numbers);
    return HeadMean{role.of > 0 ? shown(role) : kNone, kNone, kNone};
  };
  return {name, color, shape, kLine, true, number, MeanSeries::kNoView, Limits{0, 1}};
}

bool is_known(const RunNumbers& run, const NumbersOf& of) {
  return std::any_of(run.checkpoints.begin(), run.checkpoints.end(),
                     [&](const CheckpointNumbers& one) { return of(one).of > 0; });
}

NumbersOf numbers_of_role(size_t role) {
  return [role](const CheckpointNumbers& numbers) -> const RoleNumbers& {
    return numbers.roles[role];
  };
}

const RoleNumbers& numbers_of_place(const CheckpointNumbers& numbers) { return numbers.place; }

// Those that the run knows.
std::vector<MeanSeries> all_series(const RunNumbers& run, Shown shown) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, kRoles.size()> kLooks{
      {{theme::kInk, "circle"}, {theme::kQueries, "square"}, {theme::kKeys, "triangle-up"}}};
  std::vector<MeanSeries> series;
  for (size_t i = 0; i < kRoles.size(); ++i) {
    const NumbersOf of = numbers_of_role(i);
    const auto& [color, shape] = kLooks[i];
    if (is_known(run, of)) series.push_back(series_of(kRoles[i].name, color, shape, of, shown));
  }
  if (is_known(run, numbers_of_place)) {
    series.push_back(series_of(kPlaceRole.name, theme::kBoth, "diamond", numbers_of_place, shown));
  }
  return series;
}

std::string described(const Role& role) {
  return fmt::format(" {} ({}, {:g}),", role.name, role.what, role.threshold);
}

std::string subtitle_of(const RunNumbers& run) {
  std::string text = fmt::format(
      "Above: mean score of the top tenth of {}. Below: share more than {:g} standard errors above "
      "the threshold:",
      heads_text(run), kRoleErrors);
  for (size_t i = 0; i < kRoles.size(); ++i) {
    if (is_known(run, numbers_of_role(i))) text += described(kRoles[i]);
  }
  if (is_known(run, numbers_of_place)) text += described(kPlaceRole);
  text.back() = '.';
  if (!run.baselines.empty()) text += " Dotted: freshly initialised weights.";
  if (contexts_differ(run)) text += " Contexts differ.";
  return text;
}

// From 0 to the next tenth above all numbers.
MeanPlot plot_of(const CheckpointAxis& axis, const std::vector<MeanSeries>& series) {
  double most = kTop;
  for (const Slot& slot : axis.slots()) {
    for (const MeanSeries& one : series) most = std::fmax(most, one.number(*slot.numbers).mean);
  }
  MeanPlot plot;
  plot.high = std::min(1.0, std::ceil(most * 10 + 0.2) / 10);
  plot.tick = plot.high > 0.5 ? 0.2 : plot.high > 0.2 ? 0.1 : 0.05;
  plot.width = theme::kPlotWidth;
  return plot;
}

}  // namespace

bool has_roles(const RunNumbers& run) {
  for (size_t i = 0; i < kRoles.size(); ++i) {
    if (is_known(run, numbers_of_role(i))) return true;
  }
  return false;
}

Json roles_figure(const RunNumbers& run, const FigureOptions& options) {
  const CheckpointAxis axis(run, options.time());
  Json spec = theme::begin_figure(options.title, figure_title(run, "Roles of heads, over training"),
                                  subtitle_of(run), theme::kPlotWidth);
  spec["params"] = axis.params();
  Json views = Json::array();
  const auto add = [&](double height, const char* title, Shown shown) {
    const std::vector<MeanSeries> series = all_series(run, shown);
    Json view{{"width", theme::kPlotWidth}, {"height", height}};
    MeanPlot plot = plot_of(axis, series);
    plot.y_title = title;
    plot.below = !views.empty();
    plot.legend = !plot.below && series.size() > 1;
    if (plot.below) plot.dataset += " 2";
    add_mean_layers(view, spec["datasets"], axis, series, plot);
    views.push_back(view);
  };
  add(kHeightOfScores, "score of the top tenth", top_score);
  add(kHeightOfShares, "share of heads", share);
  stack_plots(spec, std::move(views), 22);
  return spec;
}

}  // namespace ropewalk
