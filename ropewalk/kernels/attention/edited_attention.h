#pragma once

#include <cstdint>
#include <optional>

#include "ropewalk/kernels/attention/biased_attention.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// The change of the scores of queries and keys from `first` on; earlier ones stay.
struct ScoreChange {
  int64_t first = 0;
  at::Tensor by_distance = {};  // S, [heads, T] float64: what a score loses; undefined: nothing
  // Keep each query's sum of exp(score) over these keys; otherwise S is centred on its mean over
  // them.
  bool keep_mass = false;
  // A query sees only those of these keys that are at most so far away.
  std::optional<int64_t> within = {};
};

// Attention of some heads, each with keys and values of its own: q, k, v [heads, T, d_head]
// float32. The change is applied before a soft cap and after ALiBi. Returns the output for queries
// from `first` on: [T - first, heads, d_head]; `first` must be below T.
at::Tensor edited_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const ScoreOptions& options, const ScoreChange& change);

// The most bytes that edited_attention holds at once besides its inputs and output.
int64_t edited_attention_workspace(int64_t heads, int64_t tokens, const at::Device& device);

}  // namespace ropewalk
