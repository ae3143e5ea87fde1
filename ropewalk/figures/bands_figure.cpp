#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/figures/parts/checkpoint_rows.h"
#include "ropewalk/figures/parts/theme.h"
#include "ropewalk/figures/series_figures.h"

namespace ropewalk {
namespace {

constexpr double kWidth = 580;
constexpr double kMostHeight = 300;  // height of a map with many rows
constexpr double kRowHeight = 24;
constexpr double kLeastLabelRow = 14;
constexpr double kPhaseGap = 8;      // between a map, the names of its phases and the legend
constexpr double kLegendRoom = 120;  // width of titles beyond the maps

// A pair's position on the axis of wavelengths, in tokens, and its share of the energy.
struct Cell {
  double from = 0;
  double to = 0;
  double wavelength = 0;
  double share = 0;
  double se = 0;
};

// The edge between two cells is the geometric mean of their wavelengths.
std::vector<Cell> cells_of(const SeriesNumbers& energy) {
  std::vector<Cell> cells;
  double sum = 0;
  for (size_t i = 0; i < energy.x.size(); ++i) {
    if (energy.x[i] <= 0 || std::isnan(energy.value[i])) continue;
    cells.push_back({0, 0, 2 * std::numbers::pi / energy.x[i], energy.value[i], energy.se[i]});
    sum += energy.value[i];
  }
  std::sort(cells.begin(), cells.end(),
            [](const Cell& a, const Cell& b) { return a.wavelength < b.wavelength; });
  if (!(sum > 0) || cells.size() < 2) return {};
  for (size_t i = 0; i < cells.size(); ++i) {
    const double here = cells[i].wavelength;
    const double below = i > 0 ? cells[i - 1].wavelength : here * here / cells[i + 1].wavelength;
    const double above = i + 1 < cells.size() ? cells[i + 1].wavelength : here * here / below;
    cells[i].from = std::sqrt(below * here);
    cells[i].to = std::sqrt(here * above);
    cells[i].share /= sum;
    cells[i].se /= sum;
  }
  return cells;
}

struct EnergyMap {
  const char* key;
  const char* title;
  Hue hue;
};
constexpr EnergyMap kMaps[] = {{"energy_q", "queries", Hue::queries},
                               {"energy_k", "keys", Hue::keys}};

// The limits that both maps share.
struct MapExtent {
  double shortest = INFINITY;
  double longest = 0;
  double most = 0;  // largest share
  int64_t heads = 0;
  bool some_left_out = false;  // heads with other angles are not in the map
};

MapExtent extent_of(const CheckpointAxis& axis) {
  MapExtent extent;
  for (const Slot& slot : axis.slots()) {
    for (const EnergyMap& kind : kMaps) {
      const SeriesNumbers* energy = series_mean(*slot.numbers, kind.key);
      if (energy == nullptr) continue;
      extent.heads = std::max(extent.heads, energy->heads);
      extent.some_left_out =
          extent.some_left_out || slot.numbers->series[series_index(kind.key)].size() > 1;
      for (const Cell& cell : cells_of(*energy)) {
        extent.shortest = std::min(extent.shortest, cell.from);
        extent.longest = std::max(extent.longest, cell.to);
        extent.most = std::max(extent.most, cell.share);
      }
    }
  }
  return extent;
}

Json cell_rows(const CheckpointAxis& axis, const EnergyMap& kind) {
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) {
    const SeriesNumbers* energy = series_mean(*slot.numbers, kind.key);
    if (energy == nullptr) continue;
    for (const Cell& cell : cells_of(*energy)) {
      rows.push_back({{"checkpoint", slot.numbers->label},
                      {"wavelength", cell.wavelength},
                      {"from", cell.from},
                      {"to", cell.to},
                      {"y", slot.from},
                      {"y_end", slot.to},
                      {"share", cell.share},
                      {"se", theme::number(cell.se)}});
    }
  }
  return rows;
}

Json context_rows(const CheckpointAxis& axis, const MapExtent& extent) {
  Json rows = Json::array();
  for (const Slot& slot : axis.slots()) {
    const auto context = static_cast<double>(slot.numbers->context);
    if (context <= extent.shortest || context >= extent.longest) continue;
    if (series_mean(*slot.numbers, kMaps[0].key) == nullptr) continue;
    rows.push_back({{"checkpoint", slot.numbers->label},
                    {"context", context},
                    {"y", slot.from},
                    {"y_end", slot.to}});
  }
  return rows;
}

Json ticks(const MapExtent& extent) {
  Json values = Json::array();
  for (double at = 1; at <= extent.longest; at *= 10) {
    if (at >= extent.shortest) values.push_back(at);
  }
  return values;
}

// The channel that puts a field on an axis.
Json along(const char* field, const Json& scale, const Json& axis) {
  return {{"field", field}, {"type", "quantitative"}, {"scale", scale}, {"axis", axis}};
}

// The map of queries or keys, with its datasets. The last one shows the axis of both.
struct Map {
  const CheckpointRows& rows;
  const RowPhases& phases;
  const EnergyMap& kind;
  const MapExtent& extent;
  bool last;

  // The width of phase names to the right of the map.
  double right() const { return phases.rows.empty() ? kPhaseGap : phases.width + 2 * kPhaseGap; }

  Json x(const char* field) const {
    return along(field,
                 {{"type", "log"}, {"domain", {extent.shortest, extent.longest}}, {"nice", false}},
                 {{"title", last ? Json("wavelength of the rotary pair, tokens") : Json()},
                  {"values", ticks(extent)},
                  {"format", "~s"},
                  {"grid", false},
                  {"labels", last}});
  }
  Json y(const char* field) const { return along(field, rows.scale, rows.axis); }

  Json color() const {
    Json colors = Json::array();
    for (const std::string_view one : theme::hue_ramp(kind.hue)) colors.push_back(one);
    return {{"field", "share"},
            {"type", "quantitative"},
            {"scale", {{"domain", {0, extent.most}}, {"range", colors}, {"interpolate", "rgb"}}},
            {"legend",
             {{"orient", "right"},
              {"title", nullptr},
              {"format", "~%"},
              {"gradientLength", std::max(60.0, rows.height - 10)},
              {"gradientThickness", 13},
              {"offset", right() + 10},
              {"tickCount", 4}}}};
  }

  Json cells(const std::string& dataset) const {
    Json tooltip = Json::array();
    for (const char* field : {"checkpoint", "wavelength", "share", "se"}) {
      tooltip.push_back({{"field", field}});
    }
    Json layer{{"name", fmt::format("bands_{}", kind.title)},
               {"data", {{"name", dataset}}},
               {"mark", {{"type", "rect"}}},
               {"encoding",
                {{"x", x("from")},
                 {"x2", {{"field", "to"}}},
                 {"y", y("y")},
                 {"y2", {{"field", "y_end"}}},
                 {"color", color()},
                 {"tooltip", tooltip}}}};
    close_gaps(layer, rows);
    return layer;
  }

  Json rule(const char* data, const Json& encoding, const Json& dash, double width) const {
    return {
        {"name", fmt::format("{}_{}", data, kind.title)},
        {"data", {{"name", data}}},
        {"mark",
         {{"type", "rule"}, {"strokeDash", dash}, {"strokeWidth", width}, {"color", theme::kInk}}},
        {"encoding", encoding}};
  }
};

Json map_of(const CheckpointAxis& axis, const Map& map, Json& datasets) {
  const std::string dataset = std::string("bands of ") + map.kind.title;
  datasets[dataset] = cell_rows(axis, map.kind);
  Json layers = Json::array({map.cells(dataset)});
  if (datasets.contains("contexts")) {
    layers.push_back(map.rule(
        "contexts", {{"x", map.x("context")}, {"y", map.y("y")}, {"y2", {{"field", "y_end"}}}},
        Json::array({1, 0}), 2.4));
  }
  if (datasets.contains("separators")) {
    const double end = map.phases.rows.empty() ? kWidth : kWidth + map.right();
    layers.push_back(map.rule(
        "separators", {{"x", {{"value", 0}}}, {"x2", {{"value", end}}}, {"y", map.y("position")}},
        Json::array({5, 4}), 1.2));
  }
  add_row_phases(layers, map.phases, map.rows, kWidth + kPhaseGap,
                 fmt::format("_{}", map.kind.title));
  return {{"title",
           {{"text", std::string("share of the energy of ") + map.kind.title},
            {"fontSize", 15},
            {"offset", 6}}},
          {"width", kWidth},
          {"height", map.rows.height},
          {"layer", layers}};
}

}  // namespace

const SeriesNumbers* series_mean(const CheckpointNumbers& numbers, std::string_view key) {
  const size_t index = series_index(key);
  if (index >= numbers.series.size()) return nullptr;
  const SeriesNumbers* best = nullptr;
  for (const SeriesNumbers& one : numbers.series[index]) {
    if (best == nullptr || one.heads > best->heads) best = &one;
  }
  return best;
}

bool has_bands(const RunNumbers& run) {
  return std::any_of(run.checkpoints.begin(), run.checkpoints.end(), [](const auto& numbers) {
    const SeriesNumbers* energy = series_mean(numbers, kMaps[0].key);
    return energy != nullptr && !cells_of(*energy).empty();
  });
}

Json bands_figure(const RunNumbers& run, const FigureOptions& options) {
  const CheckpointAxis axis(run, options.time());
  const CheckpointRows rows = checkpoint_rows(axis, {kRowHeight, kMostHeight, kLeastLabelRow});
  const RowPhases phases = row_phases(axis, rows);
  const MapExtent extent = extent_of(axis);
  const Json contexts = context_rows(axis, extent);
  std::string subtitle = fmt::format(
      "Mean energy (squared length) of each rotary pair over {}{} RoPE heads{}, as a share of the "
      "energy of all pairs.",
      run.models ? "up to " : "", extent.heads,
      extent.some_left_out ? " with the most common angles" : "");
  if (!contexts.empty()) {
    subtitle += " Black: the context. Pairs to its right turn less than once within a document.";
  }
  Json spec = theme::begin_figure(options.title, "Which frequencies carry queries and keys",
                                  subtitle, kWidth + kLegendRoom + phases.width);
  spec["params"] = rows.params;
  Json& datasets = spec["datasets"];
  datasets = Json::object();
  if (!contexts.empty()) datasets["contexts"] = contexts;
  const Json separators = axis.separator_rows();
  if (!separators.empty()) datasets["separators"] = separators;
  if (!phases.rows.empty()) datasets["phases"] = phases.rows;
  Json views = Json::array();
  for (const EnergyMap& kind : kMaps) {
    views.push_back(
        map_of(axis, {rows, phases, kind, extent, &kind == std::end(kMaps) - 1}, datasets));
  }
  spec["vconcat"] = views;
  spec["spacing"] = 16;
  spec["resolve"] = {{"scale", {{"color", "independent"}}}};
  return spec;
}

}  // namespace ropewalk
