#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {

// Panels of logits against distance, for the figures of all heads and of requested heads.

struct DistanceCurve {
  const char* key;         // key of the series
  const char* name;        // name in the legend
  std::string_view color;  // used where colours stand for curves
  int dash;                // pixels; 0: solid
};
inline constexpr DistanceCurve kDistanceCurves[] = {{"dist_pred", "predicted", theme::kBoth, 5},
                                                    {"dist_actual", "actual", theme::kInk, 0}};

// One curve of a panel. NaN in `value`: a gap in the curve; NaN in `se`: the error is unknown.
struct DistanceLine {
  const DistanceCurve* curve;
  std::string checkpoint;
  std::string color;
  std::span<const double> x, value, se;
  std::span<const double> begin, end;  // of windows; `end` may be none: points are places
};

// The ranges that the axes of a panel must contain.
struct DistanceSpan {
  double low = INFINITY;
  double high = -INFINITY;
  double farthest = 1;
  bool errors = false;
  bool windows = false;  // of several distances each
};

// The field for which colours stand, "curve" or "checkpoint", and its values.
struct DistanceColors {
  const char* field;
  std::vector<std::string> names;
  std::vector<std::string> colors;
  double room = 0;  // pixels for the legend
};

struct DistancePanel {
  size_t index = 0;  // index of its dataset, "curves INDEX"
  std::string title;
  std::string subtitle;
  double width = 0;
  double height = 0;
  bool x_labels = true;
  bool y_labels = true;
  bool y_title = true;
};

// Rows of the dataset, one per curve and distance; widens `span` to hold them.
Json distance_rows(const std::vector<DistanceLine>& lines, DistanceSpan& span);

Json distance_panel(const DistancePanel& panel, const DistanceSpan& span,
                    const DistanceColors& colors);

// Colours that stand for curves.
DistanceColors curve_colors(double room);

// Adds panels and their datasets to a figure, `columns` per row.
void add_panels(Json& spec, Json datasets, Json panels, size_t columns, double gap);

// What the curves are, for a subtitle.
std::string distance_words(const DistanceSpan& span);

}  // namespace ropewalk
