#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// The distances at which logits are summed: 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, … below `end`.
std::vector<int64_t> lags_below(int64_t end);

// Sums over pairs of tokens that are a lag apart: of the dot products q_t · k_(t - lag), of their
// squares, and their number. Each [query heads, lags] float64.
struct LagSums {
  at::Tensor sum;
  at::Tensor squares;
  at::Tensor count;
};

// The chosen query heads and the KV heads that they read, both sorted: int32 on a GPU, any integers
// on the CPU.
struct LagHeads {
  at::Tensor queries;
  at::Tensor keys;
};

// Adds a document. q is [q_heads, T, d], k is [kv_heads, T, d], of any float dtype and layout, on
// the device of the sums; lags are below T. Dot products are computed in float32, sums in float64.
// No matrix of all pairs is made, and the program does not wait for a GPU.
void add_lag_sums(const at::Tensor& q, const at::Tensor& k, const LagHeads& heads,
                  const std::vector<int64_t>& lags, const LagSums& to);

// The most bytes that add_lag_sums holds at once.
int64_t lag_sums_workspace(int64_t q_heads, int64_t kv_heads, int64_t tokens, int64_t d,
                           const at::Device& device);

}  // namespace ropewalk
