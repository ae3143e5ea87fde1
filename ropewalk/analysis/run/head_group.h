#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ropewalk/analysis/math/estimate.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Heads of one checkpoint that count: those that have a class (taxonomy.h). All means over heads
// are taken here, of PC0.
struct HeadGroup {
  const CheckpointTable* checkpoint = nullptr;
  std::vector<size_t> rows;         // of PC0
  std::vector<size_t> numbers;      // of the heads, as CheckpointTable::head_rows counts them
  int64_t undefined = 0;            // heads left out
  size_t blocks = 0;                // replicates of each number
  std::vector<double> block_sizes;  // tokens, of all heads together
};

// Of the heads whose row of PC0 `member` accepts.
HeadGroup make_group(const CheckpointTable& checkpoint,
                     const std::function<bool(size_t row)>& member);
HeadGroup whole_group(const CheckpointTable& checkpoint);
// Of the heads in one tenth of the depth (depth.h).
HeadGroup depth_group(const CheckpointTable& checkpoint, int bin, int64_t last_layer);

// What is computed from the values of a group.
enum class Aggregate { mean, spread };  // spread: standard deviation across heads, n - 1

// NaN of no values, and a spread of fewer than two.
double over_heads(Aggregate what, const std::vector<double>& values);

// A reading of each head that has it.
std::vector<double> values_of(const HeadGroup& group, const IndexedView& view);

// The number with its jackknife replicates and standard error, which for means of r_q and r_k holds
// what signs add that could as well be others (sign_turns.h). Of step functions, whose jackknife
// fails, without any.
Estimate estimate(const HeadGroup& group, const IndexedView& view, Aggregate what);

// One head's number of a statistic on PC0.
Estimate head_estimate(const CheckpointTable& checkpoint, size_t index, size_t row, size_t number);

}  // namespace ropewalk
