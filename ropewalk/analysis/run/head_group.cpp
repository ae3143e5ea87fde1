#include "ropewalk/analysis/run/head_group.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/math/resampling.h"
#include "ropewalk/analysis/run/depth.h"
#include "ropewalk/analysis/run/sign_turns.h"
#include "ropewalk/analysis/table/taxonomy.h"

namespace ropewalk {

HeadGroup make_group(const CheckpointTable& checkpoint,
                     const std::function<bool(size_t row)>& member) {
  HeadGroup group;
  group.checkpoint = &checkpoint;
  const std::vector<size_t> heads = checkpoint.head_rows();
  const size_t blocks =
      checkpoint.block_sizes.empty() ? 0 : static_cast<size_t>(checkpoint.n_blocks[heads.front()]);
  for (size_t number = 0; number < heads.size(); ++number) {
    if (!member(heads[number])) continue;
    if (!class_of(checkpoint, heads[number])) {
      ++group.undefined;
      continue;
    }
    group.rows.push_back(heads[number]);
    group.numbers.push_back(number);
  }
  if (group.rows.empty()) return group;
  group.blocks = blocks;
  group.block_sizes.resize(blocks);
  for (const size_t number : group.numbers) {
    for (size_t b = 0; b < blocks; ++b) {
      group.block_sizes[b] += checkpoint.block_sizes[number * blocks + b];
    }
  }
  return group;
}

HeadGroup whole_group(const CheckpointTable& checkpoint) {
  return make_group(checkpoint, [](size_t) { return true; });
}

HeadGroup depth_group(const CheckpointTable& checkpoint, int bin, int64_t last_layer) {
  return make_group(
      checkpoint, [&](size_t row) { return depth_bin(checkpoint.layer[row], last_layer) == bin; });
}

double over_heads(Aggregate what, const std::vector<double>& values) {
  if (what == Aggregate::spread) return standard_deviation(values);
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> values_of(const HeadGroup& group, const IndexedView& view) {
  const HeadColumn& column = group.checkpoint->columns[view.index];
  std::vector<double> values;
  for (const size_t row : group.rows) {
    const double value = column.value[row];
    if (!std::isnan(value)) values.push_back(view.view->absolute ? std::abs(value) : value);
  }
  return values;
}

Estimate estimate(const HeadGroup& group, const IndexedView& view, Aggregate what) {
  const HeadColumn& column = group.checkpoint->columns[view.index];
  Estimate result;
  result.value = over_heads(what, values_of(group, view));
  if (!view.statistic->error || view.statistic->step) {
    result.se = std::numeric_limits<double>::quiet_NaN();
    return result;
  }
  for (size_t b = 0; b < group.blocks; ++b) {
    std::vector<double> values;
    for (size_t i = 0; i < group.rows.size(); ++i) {
      if (std::isnan(column.value[group.rows[i]])) continue;
      const double value = column.replicates[group.numbers[i] * group.blocks + b];
      values.push_back(view.view->absolute ? std::abs(value) : value);
    }
    result.replicates.push_back(over_heads(what, values));
  }
  result.se = jackknife_se(result.value, result.replicates, group.block_sizes);
  const bool turns = !view.statistic->carried.empty() && !view.view->absolute;
  if (turns && what == Aggregate::mean) {
    result.se = std::hypot(result.se, turning_error(group, view.index));
  }
  return result;
}

Estimate head_estimate(const CheckpointTable& checkpoint, size_t index, size_t row, size_t number) {
  const HeadColumn& column = checkpoint.columns[index];
  const size_t blocks =
      column.replicates.empty() ? 0 : static_cast<size_t>(checkpoint.n_blocks[row]);
  const auto begin = column.replicates.begin() + static_cast<std::ptrdiff_t>(number * blocks);
  return {column.value[row], column.se[row], {begin, begin + static_cast<std::ptrdiff_t>(blocks)}};
}

}  // namespace ropewalk
