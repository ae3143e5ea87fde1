#include "ropewalk/figures/parts/distance_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/base/printable.h"
#include "ropewalk/figures/parts/text_width.h"
#include "ropewalk/figures/parts/view_look.h"

namespace ropewalk {
namespace {

constexpr double kMargin = 0.05;  // share of the axis
constexpr double kNameSize = 15;
constexpr double kUnderSize = 13;
constexpr double kHalfLabel = 8;  // pixels

// 0 and powers of ten: the axis is linear below 1 and logarithmic above.
Json ticks(double farthest) {
  Json values = Json::array({0});
  for (double at = 1; at <= farthest; at *= 10) values.push_back(at);
  return values;
}

// Limits and ticks of a panel. A label beyond the frame would move the title of its panel out of
// line with its neighbours, so the frame ends half a label beyond the outermost ticks.
struct LogitAxis {
  double low = -1;
  double high = 1;
  std::vector<double> ticks;
  int decimals = 0;
};

LogitAxis logit_axis(const DistanceSpan& span, double height) {
  LogitAxis axis;
  if (std::isfinite(span.low) && std::isfinite(span.high)) {
    const double margin = std::max(kMargin * std::abs(span.high - span.low), 1e-9);
    axis.low = std::min(span.low, span.high) - margin;
    axis.high = std::max(span.low, span.high) + margin;
  }
  const double step = round_step(axis.high - axis.low);
  const double first = std::ceil(axis.low / step), last = std::floor(axis.high / step);
  const double half = kHalfLabel * (axis.high - axis.low) / height;
  axis.low = std::min(axis.low, first * step - half);
  axis.high = std::max(axis.high, last * step + half);
  for (double i = first; i <= last; ++i) axis.ticks.push_back(i * step);
  axis.decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 12);
  return axis;
}

Json x_of(const DistancePanel& panel, const DistanceSpan& span) {
  return {
      {"field", "distance"},
      {"type", "quantitative"},
      {"scale", {{"type", "symlog"}, {"domain", {0, span.farthest}}, {"nice", false}}},
      {"axis",
       {{"title", panel.x_labels ? Json("distance, tokens") : Json()},
        {"values", ticks(span.farthest)},
        {"labelExpr", "datum.value < 1000 ? format(datum.value, 'd') : format(datum.value, '~s')"},
        {"labels", panel.x_labels}}}};
}

Json y_of(const DistancePanel& panel, const DistanceSpan& span, const char* field) {
  const LogitAxis axis = logit_axis(span, panel.height);
  return {{"field", field},
          {"type", "quantitative"},
          {"scale", {{"domain", {axis.low, axis.high}}, {"nice", false}, {"zero", false}}},
          {"axis",
           {{"title", panel.y_title ? Json("logit") : Json()},
            {"labels", panel.y_labels},
            {"values", axis.ticks},
            {"format", fmt::format(".{}f", axis.decimals)}}}};
}

Json legend() {
  return {{"orient", "top"},   {"title", nullptr},         {"symbolType", "stroke"},
          {"symbolSize", 500}, {"symbolStrokeWidth", 2.2}, {"symbolOpacity", 1}};
}

Json color_of(const DistanceColors& colors) {
  Json shown = legend();
  shown["columns"] = theme::legend_columns(colors.names, colors.room);
  return {{"field", colors.field},
          {"type", "nominal"},
          {"scale", {{"domain", colors.names}, {"range", colors.colors}}},
          {"legend", shown}};
}

// Where colours stand for checkpoints, the subtitle says which line is dashed.
Json dash_of(const DistanceColors& colors) {
  Json names = Json::array(), dashes = Json::array();
  for (const DistanceCurve& curve : kDistanceCurves) {
    names.push_back(curve.name);
    dashes.push_back(curve.dash > 0 ? Json::array({curve.dash, 3}) : Json::array({1, 0}));
  }
  return {
      {"field", "curve"},
      {"type", "nominal"},
      {"scale", {{"domain", names}, {"range", dashes}}},
      {"legend", colors.field == std::string_view("curve") ? color_of(colors)["legend"] : Json()}};
}

}  // namespace

Json distance_rows(const std::vector<DistanceLine>& lines, DistanceSpan& span) {
  Json rows = Json::array();
  for (const DistanceLine& line : lines) {
    for (size_t i = 0; i < line.x.size(); ++i) {
      const double value = line.value[i];
      if (std::isnan(value)) continue;
      const double se = std::isnan(line.se[i]) ? 0 : line.se[i];
      span.errors = span.errors || se > 0;
      span.low = std::min(span.low, value - se);
      span.high = std::max(span.high, value + se);
      span.farthest = std::max(span.farthest, line.x[i]);
      const double end = line.end.empty() ? line.begin[i] + 1 : line.end[i];
      span.windows = span.windows || end > line.begin[i] + 1;
      rows.push_back({{"curve", line.curve->name},
                      {"checkpoint", line.checkpoint},
                      {"color", line.color},
                      {"distance", line.x[i]},
                      {"from", line.begin[i]},
                      {"to", end - 1},
                      {"logit", value},
                      {"se", theme::number(line.se[i])},
                      {"low", value - se},
                      {"high", value + se}});
    }
  }
  return rows;
}

Json distance_panel(const DistancePanel& panel, const DistanceSpan& span,
                    const DistanceColors& colors) {
  const Json x = x_of(panel, span);
  const Json data{{"name", fmt::format("curves {}", panel.index)}};
  const Json shade{{"field", "color"}, {"type", "nominal"}, {"scale", nullptr}};
  const Json apart = Json::array({{{"field", "curve"}}, {{"field", "checkpoint"}}});
  Json tooltip = Json::array();
  for (const char* field : {"checkpoint", "curve", "from", "to", "logit", "se"}) {
    tooltip.push_back({{"field", field}});
  }
  Json layers = Json::array();
  layers.push_back({{"name", fmt::format("errors_{}", panel.index)},
                    {"data", data},
                    {"mark", {{"type", "area"}, {"opacity", 1}, {"fillOpacity", 0.22}}},
                    {"encoding",
                     {{"x", x},
                      {"y", y_of(panel, span, "low")},
                      {"y2", {{"field", "high"}}},
                      // Not "color": Vega merges legends only where each channel uses a single
                      // field.
                      {"fill", shade},
                      {"detail", apart}}}});
  layers.push_back({{"name", fmt::format("curves_{}", panel.index)},
                    {"data", data},
                    {"mark", {{"type", "line"}, {"strokeWidth", 2.2}}},
                    {"encoding",
                     {{"x", x},
                      {"y", y_of(panel, span, "logit")},
                      {"color", color_of(colors)},
                      {"strokeDash", dash_of(colors)},
                      {"detail", apart},
                      {"tooltip", tooltip}}}});
  return {
      {"name", fmt::format("panel_{}", panel.index)},
      {"title",
       {{"text", theme::title(fit_text(printable(panel.title), kNameSize * 1.08, panel.width))},
        {"subtitle", theme::title(fit_text(printable(panel.subtitle), kUnderSize, panel.width))},
        {"fontSize", kNameSize},
        {"subtitleFontSize", kUnderSize},
        {"frame", "group"},
        {"offset", 8}}},
      {"width", panel.width},
      {"height", panel.height},
      {"view", {{"stroke", theme::kSeparator}}},
      {"layer", layers}};
}

DistanceColors curve_colors(double room) {
  DistanceColors colors{"curve", {}, {}, room};
  for (const DistanceCurve& curve : kDistanceCurves) {
    colors.names.emplace_back(curve.name);
    colors.colors.emplace_back(curve.color);
  }
  return colors;
}

void add_panels(Json& spec, Json datasets, Json panels, size_t columns, double gap) {
  spec["datasets"] = std::move(datasets);
  spec["concat"] = std::move(panels);
  spec["columns"] = columns;
  spec["spacing"] = {{"row", 14}, {"column", gap}};
}

std::string distance_words(const DistanceSpan& span) {
  return fmt::format(
      "Dashed, predicted: of the mean query and the mean key, turned by RoPE. Solid, actual: of "
      "all pairs of tokens of a document that stand so far apart. The gap between the curves is "
      "what content adds.{}{}",
      span.windows ? " From 4 tokens on a point is a mean over an octave of distances."
                   : " Points are single distances, as an earlier version took them.",
      span.errors ? " Shaded: ±1 standard error over documents." : "");
}

}  // namespace ropewalk
