#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/figures/parts/time_axis.h"

namespace ropewalk {

inline constexpr double kBaselineGap = 0.5;  // between baselines and the run
inline constexpr double kEdge = 0.5;         // before the first and after the last

// The width of a baseline's slot. On an axis of time, several baselines share little room:
// otherwise seeds of random weights would take a third of the plot.
double baseline_pitch(size_t baselines, TimeAxis time);

// A checkpoint's position along the run, and its edges, halfway to its neighbours.
struct CheckpointPosition {
  double along = 0;
  double from = 0;
  double to = 0;
};

struct CheckpointPositions {
  std::vector<CheckpointPosition> positions;          // of the run's checkpoints, without baselines
  std::vector<std::pair<double, std::string>> ticks;  // on an axis of time: position, text
};

// 0, 1, … by labels, else by time. Throws InputError where a run cannot be arranged by time.
CheckpointPositions checkpoint_positions(const RunNumbers& run, TimeAxis time);

}  // namespace ropewalk
