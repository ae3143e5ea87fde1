#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/figures/parts/time_axis.h"

namespace ropewalk {

inline constexpr double kBaselineGap = 0.5;  // between baselines and the run
inline constexpr double kEdge = 0.5;         // before the first and after the last

// How wide the place of a baseline is. On an axis of time several share what little they need:
// seeds of random weights would take a third of the plot.
double baseline_pitch(size_t baselines, TimeAxis time);

// A checkpoint's place along the run, and its edges: halfway to its neighbours.
struct CheckpointPosition {
  double along = 0;
  double from = 0;
  double to = 0;
};

struct CheckpointPositions {
  std::vector<CheckpointPosition> positions;          // of the run, without baselines
  std::vector<std::pair<double, std::string>> ticks;  // on an axis of time: place, text
};

// 0, 1, … by labels, else by time. Throws InputError where a run cannot be laid out by it.
CheckpointPositions checkpoint_positions(const RunNumbers& run, TimeAxis time);

}  // namespace ropewalk
