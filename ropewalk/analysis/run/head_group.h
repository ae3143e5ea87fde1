#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ropewalk/analysis/math/estimate.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// The heads of one checkpoint that count: those that have a class (taxonomy.h). All means over
// heads are computed here, on PC0.
struct HeadGroup {
  const CheckpointTable* checkpoint = nullptr;
  std::vector<size_t> rows;         // rows of PC0
  std::vector<size_t> numbers;      // indexes of the heads in CheckpointTable::head_rows
  int64_t undefined = 0;            // number of heads left out
  size_t blocks = 0;                // number of replicates
  std::vector<double> block_sizes;  // tokens per block, of all heads together
};

// The heads for whose row of PC0 `member` is true.
HeadGroup make_group(const CheckpointTable& checkpoint,
                     const std::function<bool(size_t row)>& member);
HeadGroup whole_group(const CheckpointTable& checkpoint);
// The heads in one tenth of the depth (depth.h).
HeadGroup depth_group(const CheckpointTable& checkpoint, int bin, int64_t last_layer);

// What is computed over the heads of a group.
enum class Aggregate { mean, spread };  // spread: standard deviation across heads, n - 1

// NaN without values; a spread needs two.
double over_heads(Aggregate what, const std::vector<double>& values);

// One view, of each head that has it.
std::vector<double> values_of(const HeadGroup& group, const IndexedView& view);

// The number with its jackknife replicates and standard error. For means of r_q and r_k, the error
// includes what uncertain signs add (sign_turns.h). Step functions, for which the jackknife fails,
// have neither.
Estimate estimate(const HeadGroup& group, const IndexedView& view, Aggregate what);

// One statistic of one head, on PC0.
Estimate head_estimate(const CheckpointTable& checkpoint, size_t index, size_t row, size_t number);

}  // namespace ropewalk
