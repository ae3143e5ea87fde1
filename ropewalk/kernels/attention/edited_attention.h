#pragma once

#include <cstdint>
#include <optional>

#include "ropewalk/kernels/attention/biased_attention.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// How the scores of queries and keys from `first` on are changed; what is below it stays.
struct ScoreChange {
  int64_t first = 0;
  at::Tensor by_distance = {};  // S, [heads, T] float64: what a score loses; undefined: nothing
  bool keep_mass = false;       // a query's sum of exp(score) over these keys stays as it was; or
                                // S is taken about its mean over them
  std::optional<int64_t> within = {};  // of these keys a query sees those at most so far away
};

// Attention of some heads, each with keys and values of its own: q, k, v [heads, T, d_head]
// float32. A soft cap comes after what the change takes from a score, ALiBi before it. Returns what
// queries from `first` on, which must be below T, get: [T - first, heads, d_head].
at::Tensor edited_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const ScoreOptions& options, const ScoreChange& change);

// Bytes beyond its inputs and output that edited_attention may hold at once.
int64_t edited_attention_workspace(int64_t heads, int64_t tokens, const at::Device& device);

}  // namespace ropewalk
