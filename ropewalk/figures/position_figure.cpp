#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/figures/parts/mean_layers.h"
#include "ropewalk/figures/parts/run_notes.h"
#include "ropewalk/figures/parts/text_width.h"
#include "ropewalk/figures/parts/theme.h"
#include "ropewalk/figures/parts/view_look.h"
#include "ropewalk/figures/series_figures.h"
#include "ropewalk/figures/training_lines.h"

namespace ropewalk {
namespace {

constexpr double kHeightOfMeans = 250;
constexpr double kHeightOfCurves = 210;
constexpr double kLabelRoom = 120;  // pixels for a checkpoint's name in the legend

constexpr std::string_view kColors[] = {theme::kBoth, "#a28fc6", theme::kInk};

std::vector<MeanSeries> mean_series(const SeriesStatistic& curve) {
  std::vector<MeanSeries> series;
  for (const PositionFigure::Line& line : curve.figure.lines) {
    const size_t index = find_view(line.view);
    const bool band = series.empty();
    const auto number = [index, band](const CheckpointNumbers& numbers) {
      HeadMean mean = numbers.views[index].over_heads;
      if (!band) mean.sd = std::numeric_limits<double>::quiet_NaN();
      return mean;
    };
    const std::string_view color = kColors[std::min(series.size(), std::size(kColors) - 1)];
    series.push_back({line.name, color, line.shape, 2.4, true, number, index, Limits{0, 1}});
  }
  return series;
}

Band band_of(const CheckpointAxis& axis, const SeriesStatistic& curve) {
  return passes_limits(axis, mean_series(curve)) ? Band::quartiles : Band::sd;
}

// Axes go from 0 to 1. An estimate may be slightly above 1; only then do they reach further.
double axis_end(double most) { return std::max(1.0, std::ceil(most * 20 - 1e-9) / 20); }

// The means over training.
Json means_view(const CheckpointAxis& axis, const SeriesStatistic& curve, Json& datasets) {
  const std::vector<MeanSeries> series = mean_series(curve);
  double most = 1;
  for (const MeanSeries& one : series) {
    for (const Slot& slot : axis.slots()) {
      most = std::fmax(most, one.number(*slot.numbers).mean);
    }
  }
  Json view{{"width", theme::kPlotWidth}, {"height", kHeightOfMeans}};
  MeanPlot plot;
  plot.y_title = curve.title;
  plot.band = band_of(axis, curve);
  plot.high = axis_end(most);
  plot.width = theme::kPlotWidth;
  add_mean_layers(view, datasets, axis, series, plot);
  return view;
}

// The checkpoints whose curves are drawn, and the points of the curves.
struct Curves {
  std::string key{};    // of the mean over all positions
  std::string title{};  // of the mean over all positions
  struct Curve {
    const CheckpointNumbers* numbers;
    const SeriesNumbers* mean;
    std::string label;
    std::string color;
  };
  std::vector<Curve> all{};
  bool by_share = false;  // contexts differ, so positions are shown as a share of the context
  double length(const Curve& one) const {
    return by_share ? static_cast<double>(one.numbers->context) : 1;
  }
};

Curves curves_of(const SeriesStatistic& curve, const RunNumbers& run,
                 const FigureOptions& options) {
  Curves curves{.key = curve.key, .title = curve.title};
  for (const CheckpointNumbers* numbers : portrait_checkpoints(run, options)) {
    const SeriesNumbers* mean = series_mean(*numbers, curve.key);
    if (mean == nullptr) continue;
    const std::string mark = context_mark(run, *numbers);
    std::string label = fit_text(printable(numbers->label + (mark.empty() ? "" : " " + mark)),
                                 theme::kLabelSize, kLabelRoom);
    const auto taken = [&](const Curves::Curve& one) { return one.label == label; };
    while (std::any_of(curves.all.begin(), curves.all.end(), taken)) label += "′";
    curves.all.push_back({numbers, mean, label, ""});
    curves.by_share = curves.by_share || numbers->context != curves.all.front().numbers->context;
  }
  if (std::any_of(curves.all.begin(), curves.all.end(),
                  [](const Curves::Curve& one) { return one.numbers->context == 0; })) {
    curves.by_share = false;
  }
  // Colours from pale to dark along the run.
  for (size_t i = 0; i < curves.all.size(); ++i) {
    const double along = curves.all.size() == 1
                             ? 1
                             : static_cast<double>(i) / static_cast<double>(curves.all.size() - 1);
    curves.all[i].color = theme::ramp_color(theme::kPurples, 0.35 + 0.65 * along);
  }
  return curves;
}

// The upper end of the y axis.
double curves_end(const Curves& curves) {
  double most = 1;
  for (const Curves::Curve& one : curves.all) {
    for (const double value : one.mean->value) most = std::fmax(most, value);
  }
  return axis_end(most);
}

Json curve_rows(const Curves& curves) {
  const double end = curves_end(curves);
  Json rows = Json::array();
  for (const Curves::Curve& one : curves.all) {
    for (size_t i = 0; i < one.mean->x.size(); ++i) {
      const double value = one.mean->value[i];
      if (std::isnan(value)) continue;
      const double se = std::isnan(one.mean->se[i]) ? 0 : one.mean->se[i];
      rows.push_back({{"checkpoint", one.label},
                      {"position", one.mean->x[i] / curves.length(one)},
                      {curves.key, value},
                      {"se", theme::number(one.mean->se[i])},
                      {"low", std::max(value - se, 0.0)},
                      {"high", std::min(value + se, end)}});
    }
  }
  return rows;
}

Json curves_view(const Curves& curves) {
  std::vector<std::string> names;
  Json colors = Json::array(), tooltip = Json::array();
  for (const Curves::Curve& one : curves.all) {
    names.push_back(one.label);
    colors.push_back(one.color);
  }
  for (const std::string& field :
       {std::string("checkpoint"), std::string("position"), curves.key, std::string("se")}) {
    tooltip.push_back({{"field", field}});
  }
  double end = 1;
  for (const Curves::Curve& one : curves.all) {
    end = std::max({end, one.mean->x.back() / curves.length(one),
                    curves.by_share ? 1 : static_cast<double>(one.numbers->context)});
  }
  Json axis{{"title", "position, tokens"}, {"format", "~s"}, {"grid", false}};
  if (curves.by_share) {
    axis["title"] = "position, share of the context";
    axis["format"] = ".1f";
    axis["tickCount"] = 10;  // tenths, to match the number format
  }
  const Json x{{"field", "position"},
               {"type", "quantitative"},
               {"scale", {{"domain", {0, end}}, {"nice", false}}},
               {"axis", axis}};
  const auto y = [&curves, high = curves_end(curves)](const std::string& field) {
    return Json{{"field", field},
                {"type", "quantitative"},
                {"scale", {{"domain", {0, high}}, {"nice", false}}},
                {"axis", {{"title", curves.title}, {"tickCount", 5}, {"format", ".1f"}}}};
  };
  const Json color{{"field", "checkpoint"},
                   {"type", "nominal"},
                   {"scale", {{"domain", names}, {"range", colors}}},
                   {"legend",
                    {{"orient", "top"},
                     {"title", nullptr},
                     {"symbolType", "stroke"},
                     {"symbolSize", 500},
                     {"symbolStrokeWidth", 2.4},
                     {"symbolOpacity", 1},
                     {"columns", theme::legend_columns(names, theme::kPlotWidth)}}}};
  const Json data{{"name", "curves"}};
  Json layers = Json::array();
  layers.push_back(
      {{"name", "curve errors"},
       {"data", data},
       {"mark", {{"type", "area"}, {"opacity", 0.2}}},
       {"encoding", {{"x", x}, {"y", y("low")}, {"y2", {{"field", "high"}}}, {"color", color}}}});
  layers.push_back(
      {{"name", "curves"},
       {"data", data},
       {"mark", {{"type", "line"}, {"strokeWidth", 2.4}, {"point", false}}},
       {"encoding", {{"x", x}, {"y", y(curves.key)}, {"color", color}, {"tooltip", tooltip}}}});
  return {{"name", "positions"},
          {"width", theme::kPlotWidth},
          {"height", kHeightOfCurves},
          {"layer", layers}};
}

}  // namespace

std::vector<const SeriesStatistic*> position_figures() {
  std::vector<const SeriesStatistic*> found;
  for (const SeriesStatistic* one : series()) {
    if (!one->figure.title.empty()) found.push_back(one);
  }
  return found;
}

bool has_numbers(const RunNumbers& run, const SeriesStatistic& curve) {
  return has_numbers(run, find_view(curve.figure.lines.front().view));
}

Json position_figure(const SeriesStatistic& curve, const RunNumbers& run,
                     const FigureOptions& options) {
  const CheckpointAxis axis(run, options.time());
  const bool errors = std::any_of(
      run.checkpoints.begin(), run.checkpoints.end(),
      [first = find_view(curve.figure.lines.front().view)](const CheckpointNumbers& numbers) {
        return !std::isnan(numbers.views[first].over_heads.se);
      });
  std::string subtitle = curve.figure.what + ". Mean over " + heads_text(run) + "; " +
                         band_words(band_of(axis, curve), 1, false);
  if (errors) {
    subtitle += fmt::format("; {}, and bands below: ±1 standard error over documents",
                            error_marks(axis, theme::kPlotWidth));
  }
  subtitle += ".";
  if (!run.baselines.empty()) subtitle += " Dotted: freshly initialised weights.";
  const Curves curves = curves_of(curve, run, options);
  if (!curves.all.empty()) subtitle += " Below: by the position of the queries.";
  Json spec = theme::begin_figure(options.title, figure_title(run, curve.figure.title), subtitle,
                                  theme::kPlotWidth);
  spec["params"] = axis.params();
  Json& datasets = spec["datasets"];
  Json views = Json::array({means_view(axis, curve, datasets)});
  if (!curves.all.empty()) {
    datasets["curves"] = curve_rows(curves);
    views.push_back(curves_view(curves));
  }
  spec["vconcat"] = views;
  spec["spacing"] = 26;
  spec["resolve"] = {{"scale", {{"color", "independent"}, {"shape", "independent"}}}};
  return spec;
}

}  // namespace ropewalk
