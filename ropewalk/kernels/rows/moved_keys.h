#pragma once

#include "ropewalk/kernels/rows/query_rows.h"

namespace ropewalk {

// Logits of rows with the keys that they see, before any soft cap and with ALiBi's part.
struct UncappedRows {
  size_t begin = 0;   // the first of these rows
  size_t end = 0;     // and the one after the last
  int64_t from = 0;   // the first of these keys
  at::Tensor logits;  // [heads, rows, keys]
  at::Tensor seen;  // [rows, keys] float32: 1 of a key from kFirstKey on that the row sees, else 0
};

// How a row's logits go with those that it has once its keys have changed places (key_moves.h):
// with those at the same place, and with those of the same key. Correlations over keys, [heads,
// rows]; 0 where they are not `known` (1): the row's logits, or those after the move, do not vary.
struct MovedKeys {
  at::Tensor positional;
  at::Tensor symbolic;
  at::Tensor known;
};

// Of rows with the same shortest_run() in a layer that has places, float32 on the CPU.
// QueryRows::columns must be there where RoPE turns keys.
MovedKeys move_keys(const QueryRows& all, const UncappedRows& rows);

// Keys as move_keys() reads them: [KV heads, T, d_head] → [KV heads, d_head, T and a few more].
at::Tensor key_columns(const at::Tensor& keys);

}  // namespace ropewalk
