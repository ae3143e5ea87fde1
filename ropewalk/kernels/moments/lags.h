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

// Those over which logits of documents of at most `context` tokens are averaged: 0, 1, 2 and 3
// alone, then windows that are an octave wide and half an octave apart, from 4, 6, 8, 12, 16, … on,
// while a quarter of their octave is there. They end where tokens are too far apart for the context
// or for the layer's own sliding window. Only tokens from `first` on have pairs.
std::vector<DistanceWindow> distance_windows(int64_t context, std::optional<int64_t> sliding,
                                             int64_t first);

// Over pairs of tokens whose distance lies in a window: sums of the dot products q_t · k_(t - Δ),
// and how many they are. Each [query heads, windows] float64.
struct LagSums {
  at::Tensor sum;
  at::Tensor count;
};

// The chosen query heads and the KV heads that they read, both sorted. On a GPU int32, there; on
// the CPU any integers.
struct LagHeads {
  at::Tensor queries;
  at::Tensor keys;
};

// Adds a document. q is [q_heads, T, d], k is [kv_heads, T, d], in any float dtype and layout,
// where the sums lie. A window costs what a distance costs: the sum over it is of q_t times a
// difference of prefix sums of keys. These begin anew every few tokens in float32; what came before
// is kept in float64. There is never a matrix of all pairs, and a GPU is not waited for.
void add_lag_sums(const at::Tensor& q, const at::Tensor& k, const LagHeads& heads,
                  const std::vector<DistanceWindow>& windows, const LagSums& to);

// Bytes add_lag_sums may hold at once.
int64_t lag_sums_workspace(int64_t q_heads, int64_t kv_heads, int64_t tokens, int64_t d,
                           const at::Device& device);

}  // namespace ropewalk
