#pragma once

#include <cstdint>

#include "ropewalk/kernels/rows/query_rows.h"
#include "ropewalk/kernels/rows/row_columns.h"

namespace ropewalk {

// Attention by distance: 0, 1, [2, 4), [4, 8) …; as many parts as distances below `tokens` fill.
int64_t distance_parts(int64_t tokens);
int64_t distance_part_begin(int64_t part);

// All float64.
struct RowNumbers {
  at::Tensor numbers;    // [heads, rows, RowNumber::count]
  at::Tensor distances;  // [heads, rows, parts]: what late keys at these distances get
  // [heads, kStrongest, 3], by p: t of query and key, and p, of the strongest p of a late key that
  // is not the query's own; of equal ones the first. p 0: there is none.
  at::Tensor strongest;
};
// Of float32 tensors on the CPU. On a GPU, kernels add them to sums at once (row_sums.h).
RowNumbers row_numbers(const QueryRows& rows, int64_t parts);

// Bytes that it may hold at once, for so many query heads and rows of a document.
int64_t row_numbers_workspace(int64_t heads, int64_t kv_heads, int64_t rows, int64_t tokens,
                              int64_t d_head);

}  // namespace ropewalk
