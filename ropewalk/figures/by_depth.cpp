#include "ropewalk/figures/by_depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/base/printable.h"
#include "ropewalk/figures/checkpoint_axis.h"
#include "ropewalk/figures/figure.h"
#include "ropewalk/figures/text_width.h"
#include "ropewalk/figures/theme.h"

namespace ropewalk {
namespace {

constexpr double kCellWidth = 58;
constexpr double kCellText = 14.5;
constexpr double kMostHeight = 620;  // where many rows have to share it
constexpr double kRowHeight = 34;
constexpr double kLeastTextRow = 15;  // lower rows have no room for numbers
constexpr double kPhaseLimit = 110;

// A reading as a heat map.
struct Heatmap {
  size_t place = 0;  // in all_readings()
  const Statistic& statistic;
  const Reading& reading;
  const theme::ColorRamp& ramp;

  const DepthCell& cell(const Slot& slot, int bin) const {
    return slot.numbers->readings[place].depth[static_cast<size_t>(bin)];
  }
  // Published maps start at 0 also where values may be negative: those have the palest colour.
  double low() const { return std::max(reading.low, 0.0); }
  double at(double part) const { return low() + part * (reading.high - low()); }
  std::string color(double value) const {
    return theme::ramp_color(ramp, (value - low()) / (reading.high - low()));
  }
  // What its numbers are the mean of.
  std::string name() const {
    return reading.absolute ? fmt::format("|{}|", statistic.title) : statistic.title;
  }
};

Json cell_rows(const CheckpointAxis& axis, const Heatmap& map) {
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) {
    for (int bin = 0; bin < kDepthBins; ++bin) {
      const auto [value, se] = map.cell(slot, bin);
      rows.push_back(
          {{"checkpoint", slot.numbers->label},
           {"phase", slot.numbers->phase},
           {"bin", bin},
           {"x", bin},
           {"x_end", bin + 1},
           {"y", slot.position - 0.5},
           {"y_end", slot.position + 0.5},
           {"value", theme::number(value)},
           {"se", theme::number(se)},
           {"heads", slot.numbers->depth_heads[static_cast<size_t>(bin)]},
           {"text", std::isnan(value) ? "–" : theme::decimals(value, 2)},
           {"ink", std::isnan(value) ? theme::kMutedInk : theme::ink_on(map.color(value))},
           {"x_middle", bin + 0.5},
           {"y_middle", slot.position}});
    }
  }
  return rows;
}

// Layers of each tenth of the depth, as 36 layers have 0–3, 4–7, …
std::string layers_of_bin(int bin, int64_t last_layer) {
  int64_t first = -1, last = -1;
  for (int64_t layer = 0; layer <= last_layer; ++layer) {
    if (depth_bin(layer, last_layer) != bin) continue;
    if (first < 0) first = layer;
    last = layer;
  }
  if (first < 0) return "–";
  return first == last ? fmt::format("{}", first) : fmt::format("{}–{}", first, last);
}

// Two lines under each column: the depth, and its layers or heads where all checkpoints agree.
Json column_labels(const RunNumbers& run) {
  const CheckpointNumbers& first = run.checkpoints.front();
  bool same_heads = true, same_layers = true;
  for (const CheckpointNumbers& numbers : run.checkpoints) {
    same_layers = same_layers && numbers.last_layer == first.last_layer;
    for (size_t bin = 0; bin < kDepthBins; ++bin) {
      same_heads = same_heads && numbers.depth_heads[bin] == first.depth_heads[bin];
    }
  }
  Json labels = Json::array();
  for (int bin = 0; bin < kDepthBins; ++bin) {
    Json lines{fmt::format("{:.1f}–{:.1f}", bin / 10.0, (bin + 1) / 10.0)};
    if (same_layers) lines.push_back("L " + layers_of_bin(bin, first.last_layer));
    if (same_heads) {
      lines.push_back(fmt::format("n = {}", first.depth_heads[static_cast<size_t>(bin)]));
    }
    labels.push_back(lines);
  }
  return labels;
}

std::string error_text(const CheckpointAxis& axis, const Heatmap& map) {
  std::vector<double> errors;
  for (const Slot& slot : axis.slots()) {
    for (int bin = 0; bin < kDepthBins; ++bin) {
      const double se = map.cell(slot, bin).se;
      if (!std::isnan(se)) errors.push_back(se);
    }
  }
  if (errors.empty()) return "";
  std::sort(errors.begin(), errors.end());
  return fmt::format(" Standard error over documents: median {:.3f}, at most {:.3f}.",
                     errors[errors.size() / 2], errors.back());
}

}  // namespace

Json by_depth(const RunNumbers& run, const FigureOptions& options, size_t reading) {
  const PlacedReading placed = all_readings().at(reading);
  const Heatmap map{reading, *placed.statistic, *placed.reading,
                    theme::hue_ramp(placed.reading->hue)};
  const CheckpointAxis axis(run);
  const double width = kCellWidth * kDepthBins;
  const double row = std::min(kRowHeight, kMostHeight / axis.length());
  const double height = row * axis.length();
  const Json cells = cell_rows(axis, map);

  double phase_width = 0;
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) rows.push_back(slot.position);
  Json phases = Json::array();
  for (const PhaseSpan& span : axis.spans()) {
    const std::string text = fit_text(printable(span.name), theme::kPhaseSize, kPhaseLimit);
    phase_width = std::max(phase_width, text_width(text, theme::kPhaseSize));
    phases.push_back({{"phase", span.name}, {"text", text}, {"y", (span.from + span.to) / 2}});
  }

  std::string subtitle = fmt::format(
      "Mean {} over the heads in each tenth of the depth, {} in all.", map.name(), heads_text(run));
  subtitle += error_text(axis, map);
  Json spec = theme::begin_figure(options.title, map.reading.depth_title, subtitle,
                                  width + phase_width + 10);
  spec["title"]["offset"] = 18;
  Json params = axis.params();
  params.push_back({{"name", "columns"}, {"value", column_labels(run)}});
  spec["params"] = params;
  spec["width"] = width;
  spec["height"] = height;

  const Json y_scale{
      {"domain", {axis.from(), axis.to()}}, {"nice", false}, {"zero", false}, {"reverse", true}};
  const Json x_scale{{"domain", {0, kDepthBins}}, {"nice", false}};
  Json column_places = Json::array();
  for (int bin = 0; bin < kDepthBins; ++bin) column_places.push_back(bin + 0.5);
  const Json x_axis{{"title", "relative depth (layer / last layer), layers, heads"},
                    {"values", column_places},
                    {"grid", false},
                    {"domain", false},
                    {"ticks", false},
                    {"labelAngle", 0},
                    {"labelOverlap", false},
                    {"labelFlush", false},
                    {"labelFontSize", 13},
                    {"labelLineHeight", 17},
                    {"labelExpr", "columns[floor(datum.value)]"}};
  const Json y_axis{{"title", nullptr}, {"values", rows},
                    {"grid", false},    {"domain", false},
                    {"ticks", false},   {"labelOverlap", row < kLeastTextRow},
                    {"labelLimit", 0},  {"labelExpr", "labels[indexof(places, datum.value)]"}};
  const auto place = [](const char* field, const Json& scale, const Json& with_axis) {
    return Json{{"field", field}, {"type", "quantitative"}, {"scale", scale}, {"axis", with_axis}};
  };
  Json stops = Json::array();
  for (size_t i = 0; i < map.ramp.size(); ++i) {
    stops.push_back(map.at(static_cast<double>(i) / static_cast<double>(map.ramp.size() - 1)));
  }
  Json tooltip = Json::array();
  for (const char* field : {"checkpoint", "phase", "bin", "value", "se", "heads"}) {
    tooltip.push_back({{"field", field}});
  }

  Json& datasets = spec["datasets"];
  datasets["cells"] = cells;
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
                     {{"x", place("x", x_scale, x_axis)},
                      {"x2", {{"field", "x_end"}}},
                      {"y", place("y", y_scale, y_axis)},
                      {"y2", {{"field", "y_end"}}}}}});
  layers.push_back(
      {{"name", "cells"},
       {"data", {{"name", "cells"}}},
       {"transform", {{{"filter", "datum.value !== null"}}}},
       {"mark", {{"type", "rect"}, {"stroke", theme::kWhite}, {"strokeWidth", row > 12 ? 1 : 0}}},
       {"encoding",
        {{"x", place("x", x_scale, x_axis)},
         {"x2", {{"field", "x_end"}}},
         {"y", place("y", y_scale, y_axis)},
         {"y2", {{"field", "y_end"}}},
         {"color",
          {{"field", "value"},
           {"type", "quantitative"},
           {"scale",
            {{"domain", stops}, {"range", map.ramp}, {"clamp", true}, {"interpolate", "rgb"}}},
           {"legend",
            {{"orient", "bottom"},
             {"title", fmt::format("mean {}{}", map.name(),
                                   placed.statistic->per == Per::component ? " on PC0" : "")},
             {"titleOrient", "left"},
             {"titlePadding", 12},
             {"gradientLength", 260},
             {"gradientThickness", 13},
             {"values", {map.at(0), map.at(0.25), map.at(0.5), map.at(0.75), map.at(1)}},
             {"format", ".2f"},
             {"offset", 12}}}}},
         {"tooltip", tooltip}}}});
  if (row >= kLeastTextRow) {
    layers.push_back(
        {{"name", "numbers"},
         {"data", {{"name", "cells"}}},
         {"mark",
          {{"type", "text"}, {"baseline", "middle"}, {"fontSize", std::min(kCellText, row - 2)}}},
         {"encoding",
          {{"x", place("x_middle", x_scale, x_axis)},
           {"y", place("y_middle", y_scale, y_axis)},
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
           {"x2", {{"value", width + phase_width + 10}}},
           {"y", place("position", y_scale, y_axis)}}}});
  }
  if (!phases.empty()) {
    datasets["phases"] = phases;
    layers.push_back({{"name", "phases"},
                      {"data", {{"name", "phases"}}},
                      {"mark",
                       {{"type", "text"},
                        {"align", "left"},
                        {"baseline", "middle"},
                        {"fontSize", theme::kPhaseSize},
                        {"color", theme::kMutedInk}}},
                      {"encoding",
                       {{"x", {{"value", width + 10}}},
                        {"y", place("y", y_scale, y_axis)},
                        {"text", {{"field", "text"}, {"type", "nominal"}}}}}});
  }
  spec["layer"] = layers;
  return spec;
}

}  // namespace ropewalk
