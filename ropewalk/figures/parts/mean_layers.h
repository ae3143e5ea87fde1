#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/parts/checkpoint_axis.h"
#include "ropewalk/figures/parts/head_band.h"

namespace ropewalk {

// A number of every checkpoint as a line with markers, a band across heads and standard-error bars:
// a second band where checkpoints are too close to each other for bars.
struct MeanSeries {
  static constexpr size_t kNoView = SIZE_MAX;  // its numbers are of no heads

  std::string name;  // in the legend
  std::string_view color;
  std::string_view shape;  // of its markers; "stroke": a thin line without any
  double line_width = 0;   // pixels
  bool full = true;        // band, bars and markers too; else the line alone
  std::function<HeadMean(const CheckpointNumbers&)> number;
  size_t view = 0;                     // an index into all_views(), or kNoView
  Limits limits{-INFINITY, INFINITY};  // of the number: bands end there

  BandEnds band(const CheckpointNumbers& numbers, Band kind) const {
    static const std::vector<double> kNoHeads;
    return band_ends(number(numbers), view == kNoView ? kNoHeads : numbers.views[view].heads,
                     limits, kind);
  }
};

struct MeanPlot {
  std::string y_title;
  Band band = Band::sd;
  double low = 0;  // limits of the y axis
  double high = 1;
  double tick = 0.2;                // between ticks; 0: as the renderer sees fit
  std::vector<double> log_ticks{};  // of a logarithmic axis; empty: it is linear
  double width = 0;                 // pixels
  bool legend = true;
  std::string dataset = "means";  // the name of its rows
  bool below = false;             // another plot: phases have their names there
};

// Adds the layers of such a plot to `view` (bands, baselines, lines, bars, markers, separators,
// phase names) and what they draw to `datasets`.
void add_mean_layers(Json& view, Json& datasets, const CheckpointAxis& axis,
                     const std::vector<MeanSeries>& series, const MeanPlot& plot);

// Whether some mean of the run lies outside its band.
bool mean_outside(const CheckpointAxis& axis, const std::vector<MeanSeries>& series, Band kind);

// A sentence for bands that do not hold their own mean.
inline constexpr const char* kMeanOutside =
    " A mean outside its band is that of a few heads far from the others.";

// Whether ±1 SD around the mean passes the limits of a number somewhere along the run.
bool passes_limits(const CheckpointAxis& axis, const std::vector<MeanSeries>& series);

// How a plot so wide shows standard errors: "bars" or "inner bands".
const char* error_marks(const CheckpointAxis& axis, double width);

}  // namespace ropewalk
