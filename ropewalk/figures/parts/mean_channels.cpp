#include "ropewalk/figures/parts/mean_channels.h"

#include <algorithm>
#include <cmath>

namespace ropewalk {

Json MeanChannels::y(const char* field) const {
  // Ticks stop at 1 even where a band reaches further: correlations and shares cannot exceed it.
  Json ticks = Json::array();
  for (int i = -10; i <= 10; ++i) {
    const double tick = i * plot_.tick;
    if (tick >= plot_.low - 1e-9 && tick <= std::min(1.0, plot_.high) + 1e-9) {
      ticks.push_back(std::round(tick * 100) / 100);
    }
  }
  Json axis{{"title", plot_.y_title}, {"domain", false}, {"ticks", false}};
  if (plot_.tick > 0) {
    axis["values"] = ticks;
    axis["format"] = plot_.tick < 0.1 ? ".2f" : ".1f";
  }
  Json scale{{"domain", {plot_.low, plot_.high}}, {"nice", false}, {"zero", false}};
  if (!plot_.log_ticks.empty()) {
    scale.erase("zero");  // a logarithmic axis cannot show 0
    scale["type"] = "log";
    axis["values"] = plot_.log_ticks;
    axis["format"] = "~g";
  }
  return {{"field", field}, {"type", "quantitative"}, {"scale", scale}, {"axis", axis}};
}

// A channel whose values depend on the series. Layers share its legend, so all of them must give
// the same one.
Json MeanChannels::by_series(const Json& range) const {
  Json names = Json::array();
  for (const MeanSeries& one : series_) names.push_back(one.name);
  Json legend;
  if (plot_.legend) {
    legend = {{"orient", "top"},
              {"title", nullptr},
              {"symbolStrokeWidth", 1.8},
              {"symbolSize", 85},
              {"symbolOpacity", 1},
              {"offset", (plot_.below ? 0 : axis_.header_height(plot_.width)) + 8}};
  }
  return {{"field", "series"},
          {"type", "nominal"},
          {"scale", {{"domain", names}, {"range", range}}},
          {"legend", legend}};
}

Json MeanChannels::color() const {
  Json colors = Json::array();
  for (const MeanSeries& one : series_) colors.push_back(one.color);
  return by_series(colors);
}

Json MeanChannels::shape() const {
  Json shapes = Json::array();
  for (const MeanSeries& one : series_) shapes.push_back(one.shape);
  return by_series(shapes);
}

Json MeanChannels::tooltip() const {
  Json fields = Json::array();
  const bool of_heads = series_.front().view != MeanSeries::kNoView;
  for (const char* field : {"checkpoint", "phase", "series", "mean", "sd", "se", "heads"}) {
    const std::string_view name = field;
    if (of_heads || (name != "sd" && name != "heads")) fields.push_back({{"field", field}});
  }
  return fields;
}

}  // namespace ropewalk
