#pragma once

#include "ropewalk/kernels/rows/query_rows.h"

namespace ropewalk {

// Numbers that a row takes at once: a head's keys, as they are and moved, and its query as it is
// turned for each run of them.
int64_t row_size(int64_t heads, int64_t keys, int64_t d_head);

// How many rows are computed together: a few, so that they stay in the caches.
int64_t chunk_rows(int64_t heads, int64_t keys, int64_t d_head);

struct RowSpan {
  size_t begin, end;
};

// All rows, by those that are computed together, whose keys move in runs of the same lengths.
std::vector<RowSpan> split_rows(const QueryRows& rows);

}  // namespace ropewalk
