#pragma once

#include <cstdint>

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/kernels/attention/row_numbers.h"

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

  at::Tensor sum(int64_t column) const;  // [replicates]
  // Of one column's sums over another's, or over those of rows: [replicates]; NaN of no rows.
  at::Tensor mean(int64_t column, int64_t of = RowNumber::rows) const;
};

// Of a KV head: the length of its longest key.
struct LongestKey {
  double length = 0;
};

// Those of a head; null: not measured.
std::shared_ptr<const RowReplicates> row_replicates(const HeadReplicates& head);

}  // namespace ropewalk
