#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/json.h"
#include "ropewalk/figures/checkpoint_axis.h"

namespace ropewalk {

// A number of every checkpoint as a line with markers, a ±1 SD band and standard-error bars: a
// second band where checkpoints are too close to each other for bars.
struct MeanSeries {
  std::string name;  // in the legend
  std::string_view color;
  std::string_view shape;  // of its markers; "stroke": a thin line without any
  double line_width = 0;   // pixels
  bool full = true;        // band, bars and markers too; else the line alone
  std::function<HeadMean(const CheckpointNumbers&)> number;
  size_t reading = 0;  // a place in all_readings()
};

struct MeanPlot {
  std::string y_title;
  double low = 0;  // limits of the y axis
  double high = 1;
  double tick = 0.2;  // between ticks; 0: as the renderer sees fit
  double width = 0;   // pixels
  bool legend = true;
  std::string dataset = "means";  // the name of its rows
  bool below = false;             // another plot: phases have their names there
};

// Adds the layers of such a plot to `view` (bands, baselines, lines, bars, markers, separators,
// phase names) and what they draw to `datasets`.
void add_mean_layers(Json& view, Json& datasets, const CheckpointAxis& axis,
                     const std::vector<MeanSeries>& series, const MeanPlot& plot);

// How a plot so wide shows standard errors: "bars" or "inner bands".
const char* error_marks(const CheckpointAxis& axis, double width);

}  // namespace ropewalk
