#include "ropewalk/figures/by_depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/figures/figure.h"
#include "ropewalk/figures/parts/checkpoint_rows.h"
#include "ropewalk/figures/parts/depth_columns.h"
#include "ropewalk/figures/parts/depth_scale.h"
#include "ropewalk/figures/parts/run_notes.h"
#include "ropewalk/figures/parts/theme.h"
#include "ropewalk/figures/parts/view_look.h"

namespace ropewalk {
namespace {

constexpr double kWidth = 580;  // of ten columns
constexpr double kWidestCell = 116;
constexpr double kCellText = 14.5;
constexpr double kMostHeight = 620;  // where many rows have to share it
constexpr double kRowHeight = 34;
constexpr double kLeastTextRow = 15;  // lower rows have no room for numbers

// A reading as a heat map.
struct Heatmap {
  size_t index = 0;  // in all_views()
  IndexedView indexed;
  std::vector<DepthColumn> columns;

  const DepthCell& cell(const Slot& slot, const DepthColumn& column) const {
    return slot.numbers->views[index].depth[static_cast<size_t>(column.bin)];
  }
  // Numbers that are there: of cells, or of their standard errors.
  std::vector<double> numbers(const CheckpointAxis& axis, double DepthCell::*which) const {
    std::vector<double> found;
    for (const Slot& slot : axis.slots()) {
      for (const DepthColumn& column : columns) {
        const double number = cell(slot, column).*which;
        if (std::isfinite(number)) found.push_back(number);
      }
    }
    return found;
  }
};

Json cell_rows(const CheckpointAxis& axis, const Heatmap& map, const DepthScale& scale) {
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) {
    for (size_t i = 0; i < map.columns.size(); ++i) {
      const DepthColumn& column = map.columns[i];
      const auto [value, se] = map.cell(slot, column);
      rows.push_back({{"checkpoint", slot.numbers->label},
                      {"phase", slot.numbers->phase},
                      {"bin", column.bin},
                      {"x", i},
                      {"x_end", i + 1},
                      {"y", slot.from},
                      {"y_end", slot.to},
                      {"value", theme::number(value)},
                      {"se", theme::number(se)},
                      {"heads", slot.numbers->depth_heads[static_cast<size_t>(column.bin)]},
                      {"text", std::isfinite(value) ? scale.text(value) : "–"},
                      {"ink", std::isfinite(value) ? theme::text_color_on(scale.color(value))
                                                   : theme::kMutedInk},
                      {"x_middle", static_cast<double>(i) + 0.5},
                      {"y_middle", slot.along}});
      if (column.layer) rows.back()["layer"] = *column.layer;
    }
  }
  return rows;
}

std::string title_of(const IndexedView& indexed) {
  const std::string& own = indexed.view->depth_title;
  return own.empty() ? capital_title(indexed) + ", by depth over training" : own;
}

std::string subtitle_of(const RunNumbers& run, const CheckpointAxis& axis, const Heatmap& map,
                        const DepthScale& scale) {
  const bool layers = map.columns.front().layer.has_value();
  const std::string name = view_name(map.indexed);
  std::string text = fmt::format(
      "Mean {}{} over the heads {}, {} in all.", name.starts_with("mean ") ? "of the " : "", name,
      layers ? "of each layer" : "in each tenth of the depth", heads_text(run, {map.index}));
  std::vector<double> errors = map.numbers(axis, &DepthCell::se);
  if (scale.unit() != 1) {
    text += fmt::format(" Numbers{}: in units of {:g}.", errors.empty() ? "" : " and errors",
                        scale.unit());
  }
  if (!errors.empty()) {
    std::sort(errors.begin(), errors.end());
    const char* style = has_limits(map.indexed)
                            ? " Standard error over documents: median {:.3f}, at most {:.3f}."
                            : " Standard error over documents: median {:.2g}, at most {:.2g}.";
    text += fmt::format(fmt::runtime(style), errors[errors.size() / 2] / scale.unit(),
                        errors.back() / scale.unit());
  } else if (!map.indexed.statistic->error || map.indexed.statistic->step) {
    text += " No standard errors: this statistic has none over heads.";
  } else if (run.standard_errors) {
    text += " No standard errors: summary.json holds none by depth for this statistic.";
  }
  if (map.indexed.view->depth_title.empty()) {
    text += " " + view_sentence(map.indexed);
  } else {
    text += notes_on_pc0(run);
  }
  return text;
}

}  // namespace

Json by_depth(const RunNumbers& run, const FigureOptions& options, size_t view) {
  const CheckpointAxis axis(run, options.time());
  const Heatmap map{view, all_views().at(view), depth_columns(run)};
  const DepthScale scale(map.indexed, map.numbers(axis, &DepthCell::value));
  const auto columns = static_cast<double>(map.columns.size());
  const double width = std::min(kWidestCell, kWidth / columns) * columns;
  const CheckpointRows rows = checkpoint_rows(axis, {kRowHeight, kMostHeight, kLeastTextRow});

  const RowPhases phases = row_phases(axis, rows);

  Json spec = theme::begin_figure(options.title, figure_title(run, title_of(map.indexed)),
                                  subtitle_of(run, axis, map, scale),
                                  std::max(width, kWidth) + phases.width + 10);
  spec["title"]["offset"] = 18;
  Json params = rows.params;
  params.push_back({{"name", "columns"}, {"value", column_labels(run, map.columns)}});
  spec["params"] = params;
  spec["width"] = width;
  spec["height"] = rows.height;

  const Json x_scale{{"domain", {0, columns}}, {"nice", false}};
  Json column_centers = Json::array();
  for (size_t i = 0; i < map.columns.size(); ++i) {
    column_centers.push_back(static_cast<double>(i) + 0.5);
  }
  const bool depth_alone = params.back()["value"][0].size() == 1;  // as models differ in the rest
  const Json x_axis{{"title", map.columns.front().layer ? "layers, heads"
                              : depth_alone             ? "relative depth (layer / last layer)"
                                            : "relative depth (layer / last layer), layers, heads"},
                    {"values", column_centers},
                    {"grid", false},
                    {"domain", false},
                    {"ticks", false},
                    {"labelAngle", 0},
                    {"labelOverlap", false},
                    {"labelFlush", false},
                    {"labelFontSize", 13},
                    {"labelLineHeight", 17},
                    {"labelExpr", "columns[floor(datum.value)]"}};
  const auto channel = [](const char* field, const Json& on, const Json& with_axis) {
    return Json{{"field", field}, {"type", "quantitative"}, {"scale", on}, {"axis", with_axis}};
  };
  const std::string legend =
      "mean " + view_title(map.indexed) +
      (scale.unit() == 1 ? "" : fmt::format(", in units of {:g}", scale.unit())) +
      (scale.has_negatives() ? fmt::format(" ({}: below 0)", scale.negative_hue()) : "");
  Json tooltip = Json::array();
  for (const char* field : {"checkpoint", "phase", "bin", "value", "se", "heads"}) {
    tooltip.push_back({{"field", field}});
  }

  Json& datasets = spec["datasets"];
  datasets["cells"] = cell_rows(axis, map, scale);
  Json layers = Json::array();
  layers.push_back({{"name", "ground"},
                    {"data", {{"name", "cells"}}},
                    {"transform", {{{"filter", "datum.value === null"}}}},
                    {"mark",
                     {{"type", "rect"},
                      {"color", theme::kEmptyCell},
                      {"stroke", theme::kWhite},
                      {"strokeWidth", 1}}},
                    {"encoding",
                     {{"x", channel("x", x_scale, x_axis)},
                      {"x2", {{"field", "x_end"}}},
                      {"y", channel("y", rows.scale, rows.axis)},
                      {"y2", {{"field", "y_end"}}}}}});
  layers.push_back({{"name", "cells"},
                    {"data", {{"name", "cells"}}},
                    {"transform", {{{"filter", "datum.value !== null"}}}},
                    {"mark", {{"type", "rect"}, {"stroke", theme::kWhite}, {"strokeWidth", 1}}},
                    {"encoding",
                     {{"x", channel("x", x_scale, x_axis)},
                      {"x2", {{"field", "x_end"}}},
                      {"y", channel("y", rows.scale, rows.axis)},
                      {"y2", {{"field", "y_end"}}},
                      {"color",
                       {{"field", "value"},
                        {"type", "quantitative"},
                        {"scale",
                         {{"domain", scale.domain()},
                          {"range", scale.range()},
                          {"clamp", true},
                          {"interpolate", "rgb"}}},
                        {"legend",
                         {{"orient", "bottom"},
                          {"title", legend},
                          {"titleLimit", 0},
                          {"titleOrient", "left"},
                          {"titlePadding", 12},
                          {"gradientLength", scale.has_negatives() ? 350 : 260},
                          {"gradientThickness", 13},
                          {"values", scale.ticks()},
                          {"offset", 12}}}}},
                      {"tooltip", tooltip}}}});
  layers.back()["encoding"]["color"]["legend"].update(scale.tick_texts());
  close_gaps(layers.back(), rows);
  if (rows.least >= kLeastTextRow) {
    layers.push_back({{"name", "numbers"},
                      {"data", {{"name", "cells"}}},
                      {"mark",
                       {{"type", "text"},
                        {"baseline", "middle"},
                        {"fontSize", std::min(kCellText, rows.least - 2)}}},
                      {"encoding",
                       {{"x", channel("x_middle", x_scale, x_axis)},
                        {"y", channel("y_middle", rows.scale, rows.axis)},
                        {"text", {{"field", "text"}, {"type", "nominal"}}},
                        {"color", {{"field", "ink"}, {"type", "nominal"}, {"scale", nullptr}}}}}});
  }
  const Json separators = axis.separator_rows();
  if (!separators.empty()) {
    datasets["separators"] = separators;
    layers.push_back(
        {{"name", "separators"},
         {"data", {{"name", "separators"}}},
         {"mark",
          {{"type", "rule"}, {"strokeDash", {5, 4}}, {"strokeWidth", 1.4}, {"color", theme::kInk}}},
         {"encoding",
          {{"x", {{"value", 0}}},
           {"x2", {{"value", width + phases.width + 10}}},
           {"y", channel("position", rows.scale, rows.axis)}}}});
  }
  if (!phases.rows.empty()) datasets["phases"] = phases.rows;
  add_row_phases(layers, phases, rows, width + 10);
  spec["layer"] = layers;
  return spec;
}

}  // namespace ropewalk
