#pragma once

#include <cstdint>

#include "ropewalk/kernels/attention/query_rows.h"

namespace ropewalk {

// What a row of attention, all that one query attends to, adds to the sums over rows; `first` keys
// are those before QueryRows::kFirstKey. Numbers that not every row has come with how many have
// them. Each is a column of RowNumbers::numbers.
struct RowNumber {
  enum Column : int64_t {
    rows,     // 1
    sink,     // what token 0 gets of the query's attention
    first4,   // all first tokens
    self,     // the query's own token
    learned,  // the learned sink
    late,     // all tokens but the first ones
    entropy,  // in nats; the learned sink is one outcome
    reach,    // sum over late keys of p · log2(1 + distance)
    largest,  // logit
    previous_rows,
    previous,  // the token before
    far_rows,  // four: tokens farther away than kFar, where the layer sees that far and the
    far = far_rows + 4,  // query is at least twice as far from the beginning
    echo_rows = far + 4,
    echo,         // earlier late tokens that are the same as the query's
    echo_chance,  // their share of the late keys, times `late`
    copy_rows,
    copy,  // late tokens behind such ones
    copy_chance,
    moved_rows,  // from kFirstMoved on in layers that have places (moved_keys.h)
    still_rows,  // of these, those whose logits do not vary
    positional,
    symbolic,
    count
  };
};
inline constexpr int64_t kFar[] = {64, 256, 1024, 4096};
inline constexpr int64_t kFirstMoved = 64;
inline constexpr int64_t kStrongest = 2;

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
RowNumbers row_numbers(const QueryRows& rows, int64_t parts);

// Bytes that it may hold at once, for so many query heads and rows of a document.
int64_t row_numbers_workspace(int64_t heads, int64_t kv_heads, int64_t rows, int64_t tokens,
                              int64_t d_head, const at::Device& device);

}  // namespace ropewalk
