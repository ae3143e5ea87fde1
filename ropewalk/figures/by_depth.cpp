#include "ropewalk/figures/by_depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/figures/figure.h"
#include "ropewalk/figures/parts/checkpoint_rows.h"
#include "ropewalk/figures/parts/depth_columns.h"
#include "ropewalk/figures/parts/depth_map_marks.h"
#include "ropewalk/figures/parts/depth_scale.h"
#include "ropewalk/figures/parts/run_notes.h"
#include "ropewalk/figures/parts/theme.h"
#include "ropewalk/figures/parts/view_look.h"

namespace ropewalk {
namespace {

constexpr double kWidth = 580;  // width of ten columns
constexpr double kWidestCell = 116;
constexpr double kMostHeight = 620;  // height of a map with many rows
constexpr double kRowHeight = 34;
constexpr double kLeastTextRow = 15;  // rows that are lower have no room for numbers

// A view of a statistic as a heat map.
struct Heatmap {
  size_t index = 0;  // index in all_views()
  IndexedView indexed;
  std::vector<DepthColumn> columns;

  const DepthCell& cell(const Slot& slot, const DepthColumn& column) const {
    return slot.numbers->views[index].depth[static_cast<size_t>(column.bin)];
  }
  // The numbers that are not missing: of cells, or their standard errors.
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
  const Json labels = column_labels(run, map.columns);
  Json params = rows.params;
  params.push_back({{"name", "columns"}, {"value", labels}});
  spec["params"] = params;
  spec["width"] = width;
  spec["height"] = rows.height;

  // Models differ in layers and heads, so their columns only state the depth.
  const DepthMapMarks marks(map.columns, rows, labels[0].size() == 1);
  Json& datasets = spec["datasets"];
  datasets["cells"] = cell_rows(axis, map, scale);
  Json layers = Json::array({marks.empty_cells(), marks.colored_cells(map.indexed, scale)});
  if (rows.least >= kLeastTextRow) layers.push_back(marks.cell_texts());
  const Json separators = axis.separator_rows();
  if (!separators.empty()) {
    datasets["separators"] = separators;
    layers.push_back(marks.phase_lines(width + phases.width + 10));
  }
  if (!phases.rows.empty()) datasets["phases"] = phases.rows;
  add_row_phases(layers, phases, rows, width + 10);
  spec["layer"] = layers;
  return spec;
}

}  // namespace ropewalk
