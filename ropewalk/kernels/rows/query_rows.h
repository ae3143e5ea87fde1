#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/attention/biased_attention.h"
#include "ropewalk/kernels/rows/row_columns.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Some queries of a document in a layer, and all that decides what they attend to.
struct QueryRows {
  at::Tensor q;             // [heads, rows, d_head]
  at::Tensor k;             // [KV heads, T, d_head]
  std::vector<int64_t> kv;  // of each head: its index among those of k, ascending
  std::vector<int64_t> t;   // of each row: its position, ascending
  at::Tensor tokens;        // [T] int32, on the CPU: ids
  ScoreOptions scores;      // of these heads
  at::Tensor cos, sin;      // [T, pairs] float32: what turned q and k; undefined: nothing
  bool interleaved = false;
  at::Tensor columns;  // of k (moved_keys.h), on a CPU where it turned
  uint64_t seed = 0;   // the document's

  int64_t heads() const { return q.size(0); }
  int64_t rows() const { return q.size(1); }
  bool has_places() const { return cos.defined() || scores.slopes.defined(); }
  // The first key that the query at a position sees, and how many of those from kFirstKey on.
  int64_t first_seen(int64_t query) const;
  int64_t seen(int64_t query) const;

  static constexpr int64_t kFirstKey = kFirstLateKey;
};

// Whether as many heads read each KV head, in their order, so that one product does for all.
bool reads_keys_evenly(const std::vector<int64_t>& kv, int64_t kv_heads);

// Vectors [heads, n, d_head] times those of the keys that each head reads, [KV heads, keys,
// d_head]: [heads, n, keys].
at::Tensor times_keys(const at::Tensor& vectors, const std::vector<int64_t>& kv,
                      const at::Tensor& keys);

}  // namespace ropewalk
