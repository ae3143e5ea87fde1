#include "ropewalk/figures/over_training.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "ropewalk/figures/checkpoint_axis.h"
#include "ropewalk/figures/component_shares.h"
#include "ropewalk/figures/mean_layers.h"
#include "ropewalk/figures/theme.h"

namespace ropewalk {
namespace {

constexpr double kHeight = 330;
constexpr double kHeightAbove = 250;  // where components stand below
constexpr double kLine = 2.6, kThinLine = 1.3;

// The readings of a figure's lines, by their place in all_readings().
struct Lines {
  const TrainingFigure* figure = nullptr;
  const Statistic* first = nullptr;
  std::vector<size_t> places;
  std::vector<MeanSeries> series;
};

Lines lines_of(const std::string& figure) {
  Lines lines;
  const std::vector<PlacedReading> readings = all_readings();
  for (size_t i = 0; i < readings.size(); ++i) {
    const Statistic& statistic = *readings[i].statistic;
    const TrainingLine& line = readings[i].reading->line;
    if (statistic.figure.name != figure || line.name.empty()) continue;
    if (lines.first == nullptr) {
      lines.figure = &statistic.figure;
      lines.first = &statistic;
    }
    const bool full = line.shape != "stroke";
    lines.places.push_back(i);
    lines.series.push_back({line.name, theme::hue_color(readings[i].reading->hue), line.shape,
                            full ? kLine : kThinLine, full,
                            [i](const CheckpointNumbers& c) { return c.readings[i].over_heads; }});
  }
  return lines;
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
  const bool bounded = lines.first->low >= -1 && lines.first->high <= 1;
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
  std::string text = lines.figure->what + " over " + heads_text(run) +
                     (bands == 1 ? "; band" : "; bands") + ": ±1 SD across heads";
  if (run.standard_errors) text += "; bars: ±1 standard error over documents";
  text += ".";
  if (!run.baselines.empty()) text += " Dotted: freshly initialised weights.";
  return text;
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
  const Lines lines = lines_of(figure);
  return std::any_of(run.checkpoints.begin(), run.checkpoints.end(), [&](const auto& numbers) {
    return std::any_of(lines.series.begin(), lines.series.end(), [&](const MeanSeries& series) {
      return !std::isnan(series.number(numbers).mean);
    });
  });
}

Json over_training(const RunNumbers& run, const FigureOptions& options, const std::string& figure) {
  const Lines lines = lines_of(figure);
  const CheckpointAxis axis(run);
  const double width = theme::kPlotWidth;
  Json spec =
      theme::begin_figure(options.title, lines.figure->title, subtitle_of(run, lines), width);
  spec["params"] = axis.params();
  const MeanPlot plot = plot_of(axis, lines);
  if (!lines.first->shares) {
    spec["width"] = width;
    spec["height"] = kHeight;
    add_mean_layers(spec, spec["datasets"], axis, lines.series, plot);
    return spec;
  }
  Json& datasets = spec["datasets"];
  Json top{{"width", width}, {"height", kHeightAbove}};
  add_mean_layers(top, datasets, axis, lines.series, plot);
  Json views = Json::array({top});
  const size_t reading = lines.places.front();
  if (most_components(axis, reading) > 1) {
    views.push_back(component_shares(axis, reading, datasets));
  }
  spec["vconcat"] = views;
  spec["spacing"] = 22;
  spec["resolve"] = {{"scale", {{"color", "independent"}}}};
  return spec;
}

}  // namespace ropewalk
