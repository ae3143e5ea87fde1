#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Distances at which logits are summed: 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, … below `end`.
std::vector<int64_t> lags_below(int64_t end);

// Over all pairs of tokens that lie a lag apart: sums of the dot products q_t · k_(t - lag), and of
// their squares.
struct LagSums {
  at::Tensor sum;      // [heads, lags] float64
  at::Tensor squares;  // [heads, lags] float64
};

// q is [q_heads, T, d], k is [kv_heads, T, d], in any float dtype and layout, on one device. Of the
// query heads `heads` [heads] (integers, on that device) with their KV heads. Dot products are
// taken in float32, sums in float64. There is never a matrix of all pairs. Lags of T and more give
// 0.
LagSums lag_sums(const at::Tensor& q, const at::Tensor& k, const at::Tensor& heads,
                 const std::vector<int64_t>& lags);

// Bytes lag_sums may hold at once.
int64_t lag_sums_workspace(int64_t heads, int64_t tokens, int64_t d, const at::Device& device);

}  // namespace ropewalk
