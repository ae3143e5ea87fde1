#include "ropewalk/figures/parts/checkpoint_rows.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kHeightOfTime = 420;  // of a map laid out by time, at most
constexpr double kLowRow = 12;
constexpr double kLeastTickPitch = theme::kLabelSize + 2;  // pixels, so that numbers do not touch

}  // namespace

CheckpointRows checkpoint_rows(const CheckpointAxis& axis, const RowSizes& sizes) {
  const double row = axis.timed() ? std::min(kHeightOfTime, sizes.most) / axis.length()
                                  : std::min(sizes.row, sizes.most / axis.length());
  CheckpointRows rows;
  rows.height = row * axis.length();
  rows.least = row;
  Json values = Json::array(), texts = Json::array();
  double last = INFINITY;
  // From the last, which is the one people look for.
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

void close_gaps(Json& layer, const CheckpointRows& rows) {
  if (rows.least > kLowRow) return;
  layer["mark"]["strokeWidth"] = 0;
  layer["mark"]["y2Offset"] = 0.7;
}

}  // namespace ropewalk
