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

// A number of every checkpoint, drawn as a line with markers, a band across heads and
// standard-error bars; where checkpoints are too close for bars, a second band replaces them.
struct MeanSeries {
  static constexpr size_t kNoView = SIZE_MAX;  // its numbers are not about heads

  std::string name;  // name in the legend
  std::string_view color;
  std::string_view shape;  // shape of its markers; "stroke": a thin line without markers
  double line_width = 0;   // pixels
  bool full = true;        // also draws band, bars and markers; else only the line
  std::function<HeadMean(const CheckpointNumbers&)> number;
  size_t view = 0;                     // an index into all_views(), or kNoView
  Limits limits{-INFINITY, INFINITY};  // of the number: bands end there
  // Half the length of its bars; empty: one standard error.
  std::function<double(const CheckpointNumbers&)> bar{};

  double half_bar(const CheckpointNumbers& numbers) const {
    return bar ? bar(numbers) : number(numbers).se;
  }
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
  double tick = 0.2;                // between ticks; 0: the renderer chooses
  std::vector<double> log_ticks{};  // ticks of a logarithmic axis; empty: the axis is linear
  double width = 0;                 // pixels
  bool legend = true;
  std::string dataset = "means";        // the name of its rows
  bool below = false;                   // another plot: phases have their names there
  std::string layer_suffix = " below";  // of the names of layers below another plot
};

// Adds the layers of such a plot to `view` (bands, baselines, lines, bars, markers, separators,
// phase names) and their data to `datasets`.
void add_mean_layers(Json& view, Json& datasets, const CheckpointAxis& axis,
                     const std::vector<MeanSeries>& series, const MeanPlot& plot);

// Whether some mean of the run lies outside its band.
bool mean_outside(const CheckpointAxis& axis, const std::vector<MeanSeries>& series, Band kind);

// A sentence for figures in which a mean lies outside its band.
inline constexpr const char* kMeanOutside =
    " Where a mean is outside its band, a few heads are far from the others.";

// Whether ±1 SD around the mean passes the limits of a number somewhere along the run.
bool passes_limits(const CheckpointAxis& axis, const std::vector<MeanSeries>& series);

// How a plot of this width shows standard errors: "bars" or "inner bands".
const char* error_marks(const CheckpointAxis& axis, double width);

// Puts plots below each other, so many pixels apart. Each has its own colours and shapes, so that
// the first alone may have a legend; bars use colour and stroke in the same way and share it.
void stack_plots(Json& spec, Json plots, int apart);

}  // namespace ropewalk
