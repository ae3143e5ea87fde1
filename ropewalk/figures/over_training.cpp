#include "ropewalk/figures/over_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "ropewalk/figures/checkpoint_axis.h"
#include "ropewalk/figures/mean_layers.h"
#include "ropewalk/figures/stacked_shares.h"
#include "ropewalk/figures/theme.h"

namespace ropewalk {
namespace {

constexpr double kHeight = 330;
constexpr double kHeightAbove = 250;  // where another plot stands below
constexpr double kHeightOfComponents = 190;
constexpr double kLine = 2.6, kThinLine = 1.3;

// The readings of a plot's lines, by their place in all_readings().
struct Lines {
  const TrainingFigure* figure = nullptr;
  const Statistic* first = nullptr;
  std::vector<size_t> places;
  std::vector<MeanSeries> series;
};

// The plots of a figure, one below the other.
std::vector<Lines> plots_of_figure(const std::string& figure) {
  std::vector<Lines> plots;
  const std::vector<PlacedReading> readings = all_readings();
  for (size_t i = 0; i < readings.size(); ++i) {
    const Statistic& statistic = *readings[i].statistic;
    const TrainingLine& line = readings[i].reading->line;
    if (statistic.figure.name != figure || line.name.empty()) continue;
    const std::string& y_title = statistic.figure.y_title;
    if (plots.empty() || (!y_title.empty() && y_title != plots.back().figure->y_title)) {
      plots.push_back({&statistic.figure, &statistic, {}, {}});
    }
    Lines& lines = plots.back();
    const bool full = line.shape != "stroke";
    lines.places.push_back(i);
    lines.series.push_back({line.name, theme::hue_color(readings[i].reading->hue), line.shape,
                            full ? kLine : kThinLine, full,
                            [i](const CheckpointNumbers& c) { return c.readings[i].over_heads; }});
  }
  // The one that describes the figure comes first.
  std::stable_partition(plots.begin(), plots.end(),
                        [](const Lines& lines) { return !lines.figure->title.empty(); });
  return plots;
}

// The lowest and the highest that lines with a band reach, at least `low` and `high`.
std::pair<double, double> reach(const CheckpointAxis& axis, const Lines& lines, double low,
                                double high) {
  for (const Slot& slot : axis.slots()) {
    for (const MeanSeries& series : lines.series) {
      const HeadMean number = series.number(*slot.numbers);
      if (!series.full || std::isnan(number.mean)) continue;
      const double spread = slot.baseline || std::isnan(number.sd) ? 0 : number.sd;
      low = std::min(low, number.mean - spread);
      high = std::max(high, number.mean + spread);
    }
  }
  return {low, high};
}

// Limits and ticks of the y axis.
MeanPlot plot_of(const CheckpointAxis& axis, const Lines& lines) {
  MeanPlot plot;
  plot.y_title = lines.figure->y_title;
  plot.width = theme::kPlotWidth;
  plot.legend = lines.series.size() > 1;
  const bool bounded = lines.first->high <= 1;
  if (!bounded) {
    std::tie(plot.low, plot.high) = reach(axis, lines, 0, 0);
    plot.tick = 0;  // as the renderer sees fit
  } else if (lines.figure->whole_axis) {
    // 0 to 1 where all bands lie within, else as far as needed.
    const auto outward = [](double value) {
      return std::copysign(std::ceil(std::abs(value) * 20) / 20, value);
    };
    const auto [low, high] = reach(axis, lines, 0, 1);
    plot.low = outward(low);
    plot.high = outward(high);
    plot.tick = 0.2;
  } else {
    // To where the band ends, rounded outwards to a tick.
    plot.low = 0;
    plot.high = std::ceil(reach(axis, lines, 0, 0.1).second * 10 - 1e-9) / 10;
    plot.tick = plot.high <= 0.6 ? 0.1 : 0.2;
  }
  return plot;
}

std::string subtitle_of(const RunNumbers& run, const Lines& lines) {
  const auto bands = std::count_if(lines.series.begin(), lines.series.end(),
                                   [](const MeanSeries& series) { return series.full; });
  std::string text = lines.figure->what + " over " + heads_text(run);
  if (!lines.figure->stacked) {
    text += std::string(bands == 1 ? "; band" : "; bands") + ": ±1 SD across heads";
    if (run.standard_errors) text += "; bars: ±1 standard error over documents";
  }
  text += ".";
  if (!run.baselines.empty() && !lines.figure->stacked) {
    text += " Dotted: freshly initialised weights.";
  }
  if (!lines.figure->note.empty()) text += " " + lines.figure->note;
  return text;
}

// Each line's mean as a part; the second of a hue is its palest.
std::vector<SharePart> parts_of(const Lines& lines) {
  std::vector<SharePart> parts;
  std::set<Hue> used;
  const std::vector<PlacedReading> readings = all_readings();
  for (size_t i = 0; i < lines.series.size(); ++i) {
    const Hue hue = readings[lines.places[i]].reading->hue;
    const bool again = !used.insert(hue).second;
    const MeanSeries& series = lines.series[i];
    parts.push_back(
        {series.name,
         again ? theme::ramp_color(theme::hue_ramp(hue), 0.2) : std::string(theme::hue_color(hue)),
         [series](const CheckpointNumbers& c) { return series.number(c).mean; }});
  }
  return parts;
}

// Plots, one below the other.
void add_views(Json& spec, const Json& views) {
  spec["vconcat"] = views;
  spec["spacing"] = 22;
  spec["resolve"] = {{"scale", {{"color", "independent"}, {"shape", "independent"}}}};
}

}  // namespace

std::vector<std::string> training_figures() {
  std::vector<std::string> names;
  for (const bool headline : {true, false}) {
    for (const Statistic* statistic : statistics()) {
      const std::string& name = statistic->figure.name;
      const bool known = std::find(names.begin(), names.end(), name) != names.end();
      if (!name.empty() && !known && statistic->headline == headline) names.push_back(name);
    }
  }
  return names;
}

bool can_draw(const RunNumbers& run, const std::string& figure) {
  const std::vector<Lines> plots = plots_of_figure(figure);
  const auto has = [](const Lines& lines, const CheckpointNumbers& numbers) {
    return std::any_of(lines.series.begin(), lines.series.end(), [&](const MeanSeries& series) {
      return !std::isnan(series.number(numbers).mean);
    });
  };
  return std::any_of(run.checkpoints.begin(), run.checkpoints.end(), [&](const auto& numbers) {
    return std::any_of(plots.begin(), plots.end(),
                       [&](const Lines& lines) { return has(lines, numbers); });
  });
}

Json over_training(const RunNumbers& run, const FigureOptions& options, const std::string& figure) {
  const std::vector<Lines> plots = plots_of_figure(figure);
  const Lines& lines = plots.front();
  const CheckpointAxis axis(run);
  const double width = theme::kPlotWidth;
  Json spec =
      theme::begin_figure(options.title, lines.figure->title, subtitle_of(run, lines), width);
  spec["params"] = axis.params();
  Json& datasets = spec["datasets"];
  if (lines.figure->stacked) {
    spec.update(stacked_shares(axis, parts_of(lines), {"parts", "", kHeight, true}, datasets));
    return spec;
  }
  const auto plot = [&](Json& view, const Lines& of, double height, size_t number) {
    view["width"] = width;
    view["height"] = height;
    MeanPlot look = plot_of(axis, of);
    look.below = number > 0;
    if (number > 0) look.dataset += fmt::format(" {}", number + 1);
    add_mean_layers(view, datasets, axis, of.series, look);
  };
  if (plots.size() == 1 && !lines.first->shares) {
    plot(spec, lines, kHeight, 0);
    return spec;
  }
  Json views = Json::array();
  for (size_t i = 0; i < plots.size(); ++i) {
    Json view = Json::object();
    plot(view, plots[i], kHeightAbove, i);
    views.push_back(view);
  }
  const std::vector<SharePart> components = component_parts(axis, lines.places.front());
  if (lines.first->shares && components.size() > 1) {
    const ShareLook look{"spectrum",
                         fmt::format("Components PC0 to PC{}, stacked", components.size() - 1),
                         kHeightOfComponents, false};
    views.push_back(stacked_shares(axis, components, look, datasets));
  }
  add_views(spec, views);
  return spec;
}

}  // namespace ropewalk
