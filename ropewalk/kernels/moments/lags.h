#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Distances at which logits are summed: 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, … below `end`.
std::vector<int64_t> lags_below(int64_t end);

// Over pairs of tokens that lie a lag apart: sums of the dot products q_t · k_(t - lag), of their
// squares, and how many they are. Each [query heads, lags] float64.
struct LagSums {
  at::Tensor sum;
  at::Tensor squares;
  at::Tensor count;
};

// The chosen query heads and the KV heads that they read, both sorted. On a GPU int32, there; on
// the CPU any integers.
struct LagHeads {
  at::Tensor queries;
  at::Tensor keys;
};

// Adds a document. q is [q_heads, T, d], k is [kv_heads, T, d], in any float dtype and layout,
// where the sums lie; lags are below T. Dot products are taken in float32, sums in float64. There
// is never a matrix of all pairs, and a GPU is not waited for.
void add_lag_sums(const at::Tensor& q, const at::Tensor& k, const LagHeads& heads,
                  const std::vector<int64_t>& lags, const LagSums& to);

// Bytes add_lag_sums may hold at once.
int64_t lag_sums_workspace(int64_t q_heads, int64_t kv_heads, int64_t tokens, int64_t d,
                           const at::Device& device);

}  // namespace ropewalk
