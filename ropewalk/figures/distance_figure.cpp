#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/series.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/figures/series_figures.h"
#include "ropewalk/figures/text_width.h"
#include "ropewalk/figures/theme.h"

namespace ropewalk {
namespace {

constexpr double kPanelWidth = 205;
constexpr double kPanelHeight = 170;
constexpr double kGap = 18;
constexpr size_t kColumns = 3;
constexpr double kMargin = 0.05;  // of the axis

struct Curve {
  const char* key;
  const char* name;
  std::string_view color;
  int dash;  // pixels; 0: none
};
constexpr Curve kCurves[] = {{"dist_pred", "predicted", theme::kBoth, 5},
                             {"dist_actual", "actual", theme::kInk, 0}};

struct Span {
  double low = INFINITY;
  double high = -INFINITY;
  double farthest = 1;
  int64_t heads = 0;
  bool errors = false;
};

Json curve_rows(const CheckpointNumbers& numbers, Span& span) {
  Json rows = Json::array();
  for (const Curve& curve : kCurves) {
    const SeriesNumbers* mean = series_mean(numbers, curve.key);
    if (mean == nullptr) continue;
    span.heads = std::max(span.heads, mean->heads);
    for (size_t i = 0; i < mean->x.size(); ++i) {
      const double value = mean->value[i];
      if (std::isnan(value)) continue;
      const double se = std::isnan(mean->se[i]) ? 0 : mean->se[i];
      span.errors = span.errors || se > 0;
      span.low = std::min(span.low, value - se);
      span.high = std::max(span.high, value + se);
      span.farthest = std::max(span.farthest, mean->x[i]);
      rows.push_back({{"curve", curve.name},
                      {"color", curve.color},
                      {"distance", mean->x[i]},
                      {"logit", value},
                      {"se", theme::number(mean->se[i])},
                      {"low", value - se},
                      {"high", value + se}});
    }
  }
  return rows;
}

// 0 and powers of ten: the axis is linear below 1 and logarithmic above.
Json ticks(double farthest) {
  Json values = Json::array({0});
  for (double at = 1; at <= farthest; at *= 10) values.push_back(at);
  return values;
}

Json panel(const CheckpointNumbers& numbers, size_t index, size_t count, const Span& span) {
  const size_t columns = std::min(kColumns, count);
  const bool left = index % columns == 0, bottom = index + columns >= count;
  const double margin = kMargin * std::max(span.high - span.low, 1e-9);
  const Json x_scale{{"type", "symlog"}, {"domain", {0, span.farthest}}, {"nice", false}};
  const Json y_scale{
      {"domain", {span.low - margin, span.high + margin}}, {"nice", false}, {"zero", false}};
  const Json x{
      {"field", "distance"},
      {"type", "quantitative"},
      {"scale", x_scale},
      {"axis",
       {{"title", bottom ? Json("distance, tokens") : Json()},
        {"values", ticks(span.farthest)},
        {"labelExpr", "datum.value < 1000 ? format(datum.value, 'd') : format(datum.value, '~s')"},
        {"labels", bottom}}}};
  const auto y = [&](const char* field) {
    return Json{{"field", field},
                {"type", "quantitative"},
                {"scale", y_scale},
                {"axis", {{"title", left ? Json("logit") : Json()}, {"labels", left}}}};
  };
  Json names = Json::array(), colors = Json::array(), dashes = Json::array();
  for (const Curve& curve : kCurves) {
    names.push_back(curve.name);
    colors.push_back(curve.color);
    dashes.push_back(curve.dash > 0 ? Json::array({curve.dash, 3}) : Json::array({1, 0}));
  }
  const Json legend{{"orient", "top"},   {"title", nullptr},         {"symbolType", "stroke"},
                    {"symbolSize", 500}, {"symbolStrokeWidth", 2.2}, {"symbolOpacity", 1}};
  const Json color{{"field", "curve"},
                   {"type", "nominal"},
                   {"scale", {{"domain", names}, {"range", colors}}},
                   {"legend", legend}};
  const Json shade{{"field", "color"}, {"type", "nominal"}, {"scale", nullptr}};
  const Json dash{{"field", "curve"},
                  {"type", "nominal"},
                  {"scale", {{"domain", names}, {"range", dashes}}},
                  {"legend", legend}};
  const Json data{{"name", fmt::format("curves {}", index)}};
  Json tooltip = Json::array();
  for (const char* field : {"curve", "distance", "logit", "se"}) {
    tooltip.push_back({{"field", field}});
  }
  Json layers = Json::array();
  layers.push_back(
      {{"name", fmt::format("errors_{}", index)},
       {"data", data},
       {"mark", {{"type", "area"}, {"opacity", 0.22}}},
       {"encoding", {{"x", x}, {"y", y("low")}, {"y2", {{"field", "high"}}}, {"color", shade}}}});
  layers.push_back({{"name", fmt::format("curves_{}", index)},
                    {"data", data},
                    {"mark", {{"type", "line"}, {"strokeWidth", 2.2}}},
                    {"encoding",
                     {{"x", x},
                      {"y", y("logit")},
                      {"color", color},
                      {"strokeDash", dash},
                      {"tooltip", tooltip}}}});
  return {{"name", fmt::format("panel_{}", index)},
          {"title",
           {{"text", fit_text(printable(numbers.label), 15 * 1.08, kPanelWidth)},
            {"subtitle", fit_text(printable(numbers.phase), 13, kPanelWidth)},
            {"fontSize", 15},
            {"subtitleFontSize", 13},
            {"offset", 6}}},
          {"width", kPanelWidth},
          {"height", kPanelHeight},
          {"view", {{"stroke", theme::kSeparator}}},
          {"layer", layers}};
}

}  // namespace

bool has_distances(const RunNumbers& run) {
  return std::any_of(run.checkpoints.begin(), run.checkpoints.end(), [](const auto& numbers) {
    return std::any_of(std::begin(kCurves), std::end(kCurves), [&](const Curve& curve) {
      return series_mean(numbers, curve.key) != nullptr;
    });
  });
}

Json distance_figure(const RunNumbers& run, const FigureOptions& options) {
  const auto chosen = portrait_checkpoints(run, options);
  Span span;
  Json datasets = Json::object();
  for (size_t i = 0; i < chosen.size(); ++i) {
    datasets[fmt::format("curves {}", i)] = curve_rows(*chosen[i], span);
  }
  if (span.low > span.high) span.low = span.high = 0;
  const std::string subtitle = fmt::format(
      "Mean over {} heads{}. Predicted: of the mean query and the mean key, turned by RoPE. "
      "Actual: "
      "of all pairs of tokens of a document that stand so far apart. What lies between both is "
      "content.",
      span.heads, span.errors ? "; bands: ±1 standard error over documents" : "");
  const double width = kColumns * kPanelWidth + (kColumns - 1) * kGap;
  Json spec = theme::begin_figure(options.title, "Logits by distance, predicted and actual",
                                  subtitle, width);
  Json views = Json::array();
  for (size_t i = 0; i < chosen.size(); ++i) {
    views.push_back(panel(*chosen[i], i, chosen.size(), span));
  }
  spec["datasets"] = datasets;
  spec["concat"] = views;
  spec["columns"] = kColumns;
  spec["spacing"] = {{"row", 14}, {"column", kGap}};
  return spec;
}

}  // namespace ropewalk
