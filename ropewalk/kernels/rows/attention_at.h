#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/rows/query_rows.h"

namespace ropewalk {

// For each row the positions of some keys, all before or at the row's own; none twice.
using KeysOfRows = std::vector<std::vector<int64_t>>;

// What each row gives to all of its keys together, for each list of keys, by the softmax of the
// model's own scores over every token that the row sees: [heads, rows, lists] float64. Tokens of
// `rows`, and what turned its vectors, are not used.
at::Tensor attention_at(const QueryRows& rows, const std::vector<KeysOfRows>& lists);

// Bytes that it may hold at once, for so many query heads of a document.
int64_t attention_at_workspace(int64_t heads, int64_t kv_heads, int64_t tokens, int64_t d_head);

}  // namespace ropewalk
