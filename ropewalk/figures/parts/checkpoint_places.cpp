#include "ropewalk/figures/parts/checkpoint_places.h"

#include <algorithm>
#include <numeric>

#include "ropewalk/base/error.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kRoomOfBaselines = 1.5;
constexpr double kLeastPitch = 0.25;

TimePlaces places_by_time(const RunNumbers& run, TimeAxis time) {
  if (run.models) {
    throw InputError(
        "{}: axis {} is for one run, and these are several models; take the axis labels",
        run.source, time_axis_name(time));
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
  return time_places(times, logarithmic, theme::kPlotWidth / length);
}

}  // namespace

double baseline_pitch(size_t baselines, TimeAxis time) {
  if (time == TimeAxis::labels || baselines < 2) return 1;
  return std::clamp(kRoomOfBaselines / static_cast<double>(baselines), kLeastPitch, 1.0);
}

CheckpointPlaces checkpoint_places(const RunNumbers& run, TimeAxis time) {
  const size_t count = run.checkpoints.size();
  TimePlaces places;
  if (time == TimeAxis::labels) {
    places.along.resize(count);
    std::iota(places.along.begin(), places.along.end(), 0.0);
  } else {
    places = places_by_time(run, time);
  }
  CheckpointPlaces all;
  all.ticks = std::move(places.ticks);
  // The first and the last reach as far on their other side, at most to the edge.
  const auto half = [&](size_t i) { return (places.along[i + 1] - places.along[i]) / 2; };
  for (size_t i = 0; i < count; ++i) {
    const double before = i > 0 ? half(i - 1) : count > 1 ? std::min(half(0), kEdge) : kEdge;
    const double after = i + 1 < count ? half(i) : std::min(before, kEdge);
    all.places.push_back({places.along[i], places.along[i] - before, places.along[i] + after});
  }
  return all;
}

}  // namespace ropewalk
