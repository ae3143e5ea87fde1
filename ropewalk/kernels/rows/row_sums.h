#pragma once

#include "ropewalk/kernels/rows/query_rows.h"

namespace ropewalk {

// Sums over rows of attention in a block of documents, by octave of the rows' positions, and the
// strongest links of all documents. Views of float64 numbers, on the device of the vectors.
struct RowSums {
  at::Tensor sums;         // [heads, octaves, RowNumber::count]
  at::Tensor attended;     // [heads, octaves, parts]: attention by distance (row_numbers.h)
  at::Tensor largest;      // [heads, 1]: the largest logit; whatever it is where there is no row
  at::Tensor edges;        // [heads, kEdges, EdgeNumber::count]; p 0: there is none
  at::Tensor edge_tokens;  // [heads, kEdges, 2, kEdgeTokens]: ids around both ends, plus 1
};

// Adds rows of a document, of any float dtype; its index names it in edges. On a GPU the program
// does not wait.
void add_row_sums(const QueryRows& rows, int64_t document, const RowSums& to);

// Bytes of the device that it may hold at once, for so many query heads and rows of a document.
int64_t row_sums_workspace(int64_t heads, int64_t kv_heads, int64_t rows, int64_t tokens,
                           int64_t d_head, const at::Device& device);

}  // namespace ropewalk
