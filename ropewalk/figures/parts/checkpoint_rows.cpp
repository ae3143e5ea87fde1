#include "ropewalk/figures/parts/checkpoint_rows.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/base/printable.h"
#include "ropewalk/figures/parts/text_width.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kHeightOfTime = 420;  // largest height of a map by time
constexpr double kLowRow = 12;
// At half size this is still a whole pixel; without it, a dark page shows between the cells.
constexpr double kOverlap = 1.5;
constexpr double kPhaseLimit = 110;                        // pixels for a phase's name
constexpr double kLeastTickPitch = theme::kLabelSize + 2;  // in pixels: numbers must not touch

}  // namespace

CheckpointRows checkpoint_rows(const CheckpointAxis& axis, const RowSizes& sizes) {
  const double row = axis.timed() ? std::min(kHeightOfTime, sizes.most) / axis.length()
                                  : std::min(sizes.row, sizes.most / axis.length());
  CheckpointRows rows;
  rows.height = row * axis.length();
  rows.least = row;
  Json values = Json::array(), texts = Json::array();
  double last = INFINITY;
  // From the last checkpoint, for which readers look first.
  for (auto slot = axis.slots().rbegin(); slot != axis.slots().rend(); ++slot) {
    rows.least = std::min(rows.least, row * (slot->to - slot->from));
    if (axis.timed() && (last - slot->along) * row < kLeastTickPitch) continue;
    last = slot->along;
    values.push_back(slot->along);
    texts.push_back(axis.own_tick(*slot));
  }
  rows.params = Json::array(
      {Json{{"name", "places"}, {"value", values}}, Json{{"name", "labels"}, {"value", texts}}});
  rows.scale = {
      {"domain", {axis.from(), axis.to()}}, {"nice", false}, {"zero", false}, {"reverse", true}};
  rows.axis = {{"title", axis.title()}, {"values", values},
               {"grid", false},         {"domain", false},
               {"ticks", axis.timed()}, {"labelOverlap", !axis.timed() && row < sizes.label},
               {"labelLimit", 0},       {"labelExpr", "labels[indexof(places, datum.value)]"}};
  return rows;
}

RowPhases row_phases(const CheckpointAxis& axis, const CheckpointRows& rows) {
  RowPhases phases{Json::array()};
  for (const PhaseSpan& span : axis.spans()) {
    if ((span.to - span.from) * rows.height / axis.length() < theme::kPhaseSize) continue;
    const PhaseSpan shown{fit_text(printable(span.name), theme::kPhaseSize, kPhaseLimit),
                          span.context};
    const std::string text = shown.text();
    phases.width = std::max(phases.width, text_width(text, theme::kPhaseSize));
    phases.rows.push_back(
        {{"phase", span.text()}, {"text", text}, {"y", (span.from + span.to) / 2}});
  }
  return phases;
}

void add_row_phases(Json& layers, const RowPhases& phases, const CheckpointRows& rows, double x,
                    const std::string& suffix) {
  if (phases.rows.empty()) return;
  layers.push_back(
      {{"name", "phases" + suffix},
       {"data", {{"name", "phases"}}},
       {"mark",
        {{"type", "text"},
         {"align", "left"},
         {"baseline", "middle"},
         {"fontSize", theme::kPhaseSize},
         {"color", theme::kMutedInk}}},
       {"encoding",
        {{"x", {{"value", x}}},
         {"y",
          {{"field", "y"}, {"type", "quantitative"}, {"scale", rows.scale}, {"axis", rows.axis}}},
         {"text", {{"field", "text"}, {"type", "nominal"}}}}}});
}

void close_gaps(Json& layer, const CheckpointRows& rows) {
  if (rows.least > kLowRow) return;
  layer["mark"]["strokeWidth"] = 0;
  layer["mark"]["y2Offset"] = kOverlap;
  layer["mark"]["x2Offset"] = kOverlap;
}

}  // namespace ropewalk
