#include "ropewalk/analysis/run/single_distances.h"

#include <algorithm>
#include <limits>

#include "ropewalk/analysis/replicates/distance_flags.h"
#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool has_single_distance_flag(const CheckpointTable& checkpoint) {
  return std::any_of(checkpoint.head_flag.begin(), checkpoint.head_flag.end(),
                     [](const std::string& flag) { return holds_flag(flag, kSingleDistances); });
}

constexpr const char* kCurves[] = {"dist_pred", "dist_actual"};

bool has_distance_curves(const CheckpointTable& checkpoint) {
  return std::any_of(std::begin(kCurves), std::end(kCurves), [&](const char* key) {
    const size_t index = series_index(key);
    return index < checkpoint.series.size() && !checkpoint.series[index].value.empty();
  });
}

void clear_distance_numbers(CheckpointTable& checkpoint) {
  for (const char* key : {"dist_r", "dist_content"}) {
    HeadColumn& column = checkpoint.columns.at(statistic_index(key));
    for (auto* numbers : {&column.value, &column.se, &column.replicates}) {
      std::fill(numbers->begin(), numbers->end(), kNone);
    }
  }
  for (const char* key : kCurves) {
    const size_t index = series_index(key);
    if (index >= checkpoint.series.size()) continue;
    HeadSeries& series = checkpoint.series[index];
    const size_t heads = series.heads();
    series = {};
    series.grid.assign(heads, HeadSeries::kNoGrid);
    series.begin.assign(heads + 1, 0);
  }
}

}  // namespace

std::vector<std::string> leave_out_single_distances(std::vector<CheckpointTable>& checkpoints) {
  const bool windows =
      std::any_of(checkpoints.begin(), checkpoints.end(), [](const CheckpointTable& one) {
        return has_distance_curves(one) && !has_single_distance_flag(one);
      });
  std::vector<std::string> cleared;
  for (CheckpointTable& checkpoint : checkpoints) {
    if (!windows || !has_single_distance_flag(checkpoint)) continue;
    clear_distance_numbers(checkpoint);
    cleared.push_back(checkpoint.label);
  }
  return cleared;
}

}  // namespace ropewalk
