#include "ropewalk/figures/parts/distance_panel.h"

#include <fmt/format.h>

#include <algorithm>

#include "ropewalk/base/printable.h"
#include "ropewalk/figures/parts/text_width.h"

namespace ropewalk {
namespace {

constexpr double kMargin = 0.05;  // of the axis
constexpr double kNameSize = 15;
constexpr double kUnderSize = 13;
constexpr double kHalfLabel = 8;    // pixels: one that near an end would push the title away
constexpr double kSymbolRoom = 50;  // of a name in the legend: its line, and space

// 0 and powers of ten: the axis is linear below 1 and logarithmic above.
Json ticks(double farthest) {
  Json values = Json::array({0});
  for (double at = 1; at <= farthest; at *= 10) values.push_back(at);
  return values;
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
  const double low = std::min(span.low, span.high), high = std::max(span.low, span.high);
  const bool none = !std::isfinite(low) || !std::isfinite(high);
  const double margin = none ? 1 : std::max(kMargin * (high - low), 1e-9);
  const Json domain = none ? Json({-1, 1}) : Json({low - margin, high + margin});
  return {{"field", field},
          {"type", "quantitative"},
          {"scale", {{"domain", domain}, {"nice", false}, {"zero", false}}},
          {"axis",
           {{"title", panel.y_title ? Json("logit") : Json()},
            {"labels", panel.y_labels},
            {"labelFlush", kHalfLabel},
            {"tickCount", 5}}}};
}

Json legend() {
  return {{"orient", "top"},   {"title", nullptr},         {"symbolType", "stroke"},
          {"symbolSize", 500}, {"symbolStrokeWidth", 2.2}, {"symbolOpacity", 1}};
}

Json color_of(const DistanceColors& colors) {
  Json shown = legend();
  double widest = 0;
  for (const std::string& name : colors.names) {
    widest = std::max(widest, text_width(printable(name), theme::kLabelSize));
  }
  shown["columns"] = std::max(1.0, std::floor(colors.room / (widest + kSymbolRoom)));
  return {{"field", colors.field},
          {"type", "nominal"},
          {"scale", {{"domain", colors.names}, {"range", colors.colors}}},
          {"legend", shown}};
}

// Where colours tell checkpoints apart, the figure's words say which line is dashed.
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
                      // Not "color": legends are joined where each channel has one field alone.
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
