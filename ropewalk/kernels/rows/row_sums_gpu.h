#pragma once

#include "ropewalk/kernels/rows/row_sums.h"

namespace ropewalk {

// add_row_sums() of tensors on a GPU, by kernels: a few launches per document and layer, however
// many rows there are.
void add_row_sums_on_gpu(const QueryRows& rows, int64_t document, const RowSums& to);

int64_t row_sums_workspace_on_gpu(int64_t heads, int64_t rows, int64_t tokens, int64_t d_head);

}  // namespace ropewalk
