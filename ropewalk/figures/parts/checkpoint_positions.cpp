#include "ropewalk/figures/parts/checkpoint_positions.h"

#include <algorithm>
#include <numeric>

#include "ropewalk/base/error.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kRoomOfBaselines = 1.5;
constexpr double kLeastPitch = 0.25;

TimePositions positions_by_time(const RunNumbers& run, TimeAxis time) {
  if (run.models) {
    throw InputError(
        "{}: axis {} is for one run, but these are several models; use the axis labels", run.source,
        time_axis_name(time));
  }
  std::vector<TimedLabel> labels;
  std::vector<int64_t> times;
  for (const CheckpointNumbers& numbers : run.checkpoints) {
    labels.push_back({numbers.label, numbers.step, numbers.tokens});
    times.push_back(labels.back().at(time));
  }
  if (const std::string problem = time_problem(labels, time); !problem.empty()) {
    throw InputError("{}: {}", run.source, problem);
  }
  const double baselines =
      static_cast<double>(run.baselines.size()) * baseline_pitch(run.baselines.size(), time);
  const double length = kTimeLength + 2 * kEdge + baselines + (baselines > 0 ? kBaselineGap : 0);
  const bool logarithmic = time == TimeAxis::log_steps || time == TimeAxis::log_tokens;
  return time_positions(times, logarithmic, theme::kPlotWidth / length);
}

}  // namespace

double baseline_pitch(size_t baselines, TimeAxis time) {
  if (time == TimeAxis::labels || baselines < 2) return 1;
  return std::clamp(kRoomOfBaselines / static_cast<double>(baselines), kLeastPitch, 1.0);
}

CheckpointPositions checkpoint_positions(const RunNumbers& run, TimeAxis time) {
  const size_t count = run.checkpoints.size();
  TimePositions positions;
  if (time == TimeAxis::labels) {
    positions.along.resize(count);
    std::iota(positions.along.begin(), positions.along.end(), 0.0);
  } else {
    positions = positions_by_time(run, time);
  }
  CheckpointPositions all;
  all.ticks = std::move(positions.ticks);
  // The outer half of the first and the last slot is as wide as the inner half, but ends at the
  // edge.
  const auto half = [&](size_t i) { return (positions.along[i + 1] - positions.along[i]) / 2; };
  for (size_t i = 0; i < count; ++i) {
    const double before = i > 0 ? half(i - 1) : count > 1 ? std::min(half(0), kEdge) : kEdge;
    const double after = i + 1 < count ? half(i) : std::min(before, kEdge);
    all.positions.push_back(
        {positions.along[i], positions.along[i] - before, positions.along[i] + after});
  }
  return all;
}

}  // namespace ropewalk
