#pragma once

#include <cstdint>

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/kernels/rows/row_numbers.h"

namespace ropewalk {

// Sums over rows of attention of a query head for the whole sample (row 0) and without each block
// (rows 1 …), by octave of the rows' positions (moments/accumulators/rows.h).
struct RowReplicates {
  at::Tensor numbers;      // [replicates, octaves, RowNumber::count]
  at::Tensor distances;    // [replicates, octaves, parts]
  at::Tensor edges;        // [kEdges, EdgeNumber::count], the strongest first
  at::Tensor edge_tokens;  // [kEdges, 2, kEdgeTokens]: ids plus 1, of query and key
  double largest = 0;      // logit of all rows
  double longest = 0;      // the length of the longest query

  // A column's sum over all octaves: [replicates].
  at::Tensor sum(int64_t column) const;
  // The sum of `column` divided by the sum of `divisor`: [replicates]; NaN where that is 0.
  at::Tensor ratio(int64_t column, int64_t divisor) const;
  at::Tensor mean_over_rows(int64_t column) const { return ratio(column, RowNumber::rows); }
};

// Of a KV head: the length of its longest key.
struct LongestKey {
  double length = 0;
};

// Those of a head; null: not measured.
std::shared_ptr<const RowReplicates> row_replicates(const HeadReplicates& head);

}  // namespace ropewalk
