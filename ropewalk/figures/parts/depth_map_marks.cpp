#include "ropewalk/figures/parts/depth_map_marks.h"

#include <fmt/format.h>

#include <algorithm>

#include "ropewalk/figures/parts/theme.h"
#include "ropewalk/figures/parts/view_look.h"

namespace ropewalk {
namespace {

constexpr double kCellText = 14.5;

Json along(const char* field, const Json& scale, const Json& axis) {
  return {{"field", field}, {"type", "quantitative"}, {"scale", scale}, {"axis", axis}};
}

Json color_channel(const IndexedView& indexed, const DepthScale& scale) {
  const std::string title =
      "mean " + view_title(indexed) +
      (scale.unit() == 1 ? "" : fmt::format(", in units of {:g}", scale.unit())) +
      (scale.has_negatives() ? fmt::format(" ({}: below 0)", scale.negative_hue()) : "");
  Json channel{{"field", "value"},
               {"type", "quantitative"},
               {"scale",
                {{"domain", scale.domain()},
                 {"range", scale.range()},
                 {"clamp", true},
                 {"interpolate", "rgb"}}},
               {"legend",
                {{"orient", "bottom"},
                 {"title", title},
                 {"titleLimit", 0},
                 {"titleOrient", "left"},
                 {"titlePadding", 12},
                 {"gradientLength", scale.has_negatives() ? 350 : 260},
                 {"gradientThickness", 13},
                 {"values", scale.ticks()},
                 {"offset", 12}}}};
  channel["legend"].update(scale.tick_texts());
  return channel;
}

}  // namespace

DepthMapMarks::DepthMapMarks(const std::vector<DepthColumn>& columns, const CheckpointRows& rows,
                             bool depth_alone)
    : rows_(rows) {
  Json middles = Json::array();
  for (size_t i = 0; i < columns.size(); ++i) middles.push_back(static_cast<double>(i) + 0.5);
  x_scale_ = {{"domain", {0, static_cast<double>(columns.size())}}, {"nice", false}};
  x_axis_ = {{"title", columns.front().layer ? "layers, heads"
                       : depth_alone         ? "relative depth (layer / last layer)"
                                     : "relative depth (layer / last layer), layers, heads"},
             {"values", middles},
             {"grid", false},
             {"domain", false},
             {"ticks", false},
             {"labelAngle", 0},
             {"labelOverlap", false},
             {"labelFlush", false},
             {"labelFontSize", 13},
             {"labelLineHeight", 17},
             {"labelExpr", "columns[floor(datum.value)]"}};
}

Json DepthMapMarks::x(const char* field) const { return along(field, x_scale_, x_axis_); }
Json DepthMapMarks::y(const char* field) const { return along(field, rows_.scale, rows_.axis); }

// A cell without a gap to its neighbours.
Json DepthMapMarks::whole_cell() const {
  return {{"x", x("x")}, {"x2", {{"field", "x_end"}}}, {"y", y("y")}, {"y2", {{"field", "y_end"}}}};
}

Json DepthMapMarks::empty_cells() const {
  return {{"name", "ground"},
          {"data", {{"name", "cells"}}},
          {"transform", {{{"filter", "datum.value === null"}}}},
          {"mark",
           {{"type", "rect"},
            {"color", theme::kEmptyCell},
            {"stroke", theme::kWhite},
            {"strokeWidth", 1}}},
          {"encoding", whole_cell()}};
}

Json DepthMapMarks::colored_cells(const IndexedView& indexed, const DepthScale& scale) const {
  Json tooltip = Json::array();
  for (const char* field : {"checkpoint", "phase", "bin", "value", "se", "heads"}) {
    tooltip.push_back({{"field", field}});
  }
  Json encoding = whole_cell();
  encoding["color"] = color_channel(indexed, scale);
  encoding["tooltip"] = tooltip;
  Json layer{{"name", "cells"},
             {"data", {{"name", "cells"}}},
             {"transform", {{{"filter", "datum.value !== null"}}}},
             {"mark", {{"type", "rect"}, {"stroke", theme::kWhite}, {"strokeWidth", 1}}},
             {"encoding", encoding}};
  close_gaps(layer, rows_);
  return layer;
}

Json DepthMapMarks::cell_texts() const {
  return {{"name", "numbers"},
          {"data", {{"name", "cells"}}},
          {"mark",
           {{"type", "text"},
            {"baseline", "middle"},
            {"fontSize", std::min(kCellText, rows_.least - 2)}}},
          {"encoding",
           {{"x", x("x_middle")},
            {"y", y("y_middle")},
            {"text", {{"field", "text"}, {"type", "nominal"}}},
            {"color", {{"field", "ink"}, {"type", "nominal"}, {"scale", nullptr}}}}}};
}

Json DepthMapMarks::phase_lines(double width) const {
  return {
      {"name", "separators"},
      {"data", {{"name", "separators"}}},
      {"mark",
       {{"type", "rule"}, {"strokeDash", {5, 4}}, {"strokeWidth", 1.4}, {"color", theme::kInk}}},
      {"encoding", {{"x", {{"value", 0}}}, {"x2", {{"value", width}}}, {"y", y("position")}}}};
}

}  // namespace ropewalk
