#include "ropewalk/figures/checkpoint_rows.h"

#include <algorithm>

namespace ropewalk {
namespace {

constexpr double kHeightOfTime = 420;  // of a map laid out by time, at most
constexpr double kLowRow = 12;

}  // namespace

CheckpointRows checkpoint_rows(const CheckpointAxis& axis, const RowSizes& sizes) {
  const double row = axis.timed() ? std::min(kHeightOfTime, sizes.most) / axis.length()
                                  : std::min(sizes.row, sizes.most / axis.length());
  CheckpointRows rows;
  rows.height = row * axis.length();
  rows.least = row;
  Json values = Json::array();
  for (const Slot& slot : axis.slots()) {
    rows.least = std::min(rows.least, row * (slot.to - slot.from));
    if (!axis.timed() || slot.baseline) values.push_back(slot.along);
  }
  for (const auto& [place, text] : axis.ticks()) values.push_back(place);
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
