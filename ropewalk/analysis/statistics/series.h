#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk {

// The file that holds it: bands.csv, with one row per rotary pair of a head and a column each, or
// curves.csv, with one row per head, curve and point.
enum class SeriesTable { bands, curves };

// How a curve by position is drawn in every run that has it: means over heads over training and,
// below, the curve at a few checkpoints. The figure has the name of the curve.
struct PositionFigure {
  std::string title{};  // empty: none
  std::string what{};   // one sentence without its full stop
  // Over training, the first with a band across heads.
  struct Line {
    std::string view{};  // of a statistic
    std::string name{};
    std::string shape{};  // of its markers
  };
  std::vector<Line> lines{};
};

// Points that are windows: where each ends (the first place past it), and the mean of what lies in
// it, where it is drawn.
struct SeriesWindows {
  std::vector<double> end;
  std::vector<double> mean;
};

// Numbers of a head along something: rotary pairs, distances or positions. Tables, their readers,
// errors, means over heads in summary.json and what documents say about it take it from the list.
struct SeriesStatistic {
  std::string key{};         // bands: the column, with key_se; curves: the name in `curve`
  std::string title{};       // for people, short
  std::string definition{};  // one sentence without its full stop
  SeriesTable table = SeriesTable::bands;
  Hue hue = Hue::both;
  double low = -std::numeric_limits<double>::max();  // limits of its values
  double high = std::numeric_limits<double>::max();

  // Where the head has numbers: theta of each pair (radians per token), distances (where their
  // windows begin), or positions.
  // None: the head has no such numbers at all.
  std::vector<double> (*points)(const HeadReplicates&) = nullptr;
  // [replicates, points] float64, as Statistic::compute; NaN where undefined.
  at::Tensor (*compute)(const HeadReplicates&) = nullptr;
  PositionFigure figure{};  // of one between 0 and 1, though an estimate may lie above
  // Of points that are windows: the rest of them. Null: points are places. Called where there are
  // points.
  SeriesWindows (*windows)(const HeadReplicates&) = nullptr;
};

// All series statistics, in the order of the columns of bands.csv and the curves of curves.csv.
const std::vector<const SeriesStatistic*>& series();

// The index in series() of the statistic with this key. Throws std::logic_error if there is none.
size_t series_index(std::string_view key);

}  // namespace ropewalk
