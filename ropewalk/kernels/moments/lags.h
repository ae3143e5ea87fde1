#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Distances between a query and a key: from `begin` to before `end`.
struct DistanceWindow {
  int64_t begin = 0;
  int64_t end = 0;

  bool operator==(const DistanceWindow&) const = default;
};

// The windows over which logits of documents of at most `context` tokens are averaged: 0, 1, 2 and
// 3 alone, then windows an octave wide and half an octave apart, which begin at 4, 6, 8, 12, 16, …,
// while a quarter of their octave is there. They end at the context, and at the layer's own sliding
// window. Only tokens from `first` on have pairs.
std::vector<DistanceWindow> distance_windows(int64_t context, std::optional<int64_t> sliding,
                                             int64_t first);

// Sums over the pairs of tokens whose distance lies in a window: of the dot products
// q_t · k_(t - Δ), and their number. Each [query heads, windows] float64.
struct LagSums {
  at::Tensor sum;
  at::Tensor count;
};

// The chosen query heads and the KV heads that they read, both sorted: int32 on a GPU, any integers
// on the CPU.
struct LagHeads {
  at::Tensor queries;
  at::Tensor keys;
};

// Adds a document. q is [q_heads, T, d], k is [kv_heads, T, d], of any float dtype and layout, on
// the device of the sums. A window costs as much as a single distance: its sum is that of q_t times
// a difference of two prefix sums of keys. Prefix sums begin anew every few tokens in float32; what
// comes before is in float64. No matrix of all pairs is made, and the program does not wait for a
// GPU.
void add_lag_sums(const at::Tensor& q, const at::Tensor& k, const LagHeads& heads,
                  const std::vector<DistanceWindow>& windows, const LagSums& to);

// The most bytes that add_lag_sums holds at once.
int64_t lag_sums_workspace(int64_t q_heads, int64_t kv_heads, int64_t tokens, int64_t d,
                           const at::Device& device);

}  // namespace ropewalk
