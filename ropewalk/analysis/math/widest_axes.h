#pragma once

#include <cstdint>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Two axes are nearly tied where the variance along the second is above this share of the variance
// along the first; they then easily swap.
inline constexpr double kNearTie = 0.9;

// The input of widest_axes(): the pooled covariance of queries and keys, and how many eigenvectors
// are wanted.
struct WidestAxesInput {
  at::Tensor covariance;  // [replicates, d, d], over tokens - 1
  at::Tensor tokens;      // [replicates]: queries and keys together
  at::Tensor offset;      // [replicates, d]: difference of the means of queries and keys
  at::Tensor weight;    // [replicates]: the weight of the offset's outer product in the covariance
  at::Tensor a;         // [replicates, d]: the drift axis, of length 1 or 0
  int64_t leading = 0;  // number of eigenvectors wanted
};

// Directions of largest variance, of length 1, with arbitrary signs. Only the wanted directions are
// computed (tridiagonal_top.h); where that fails, the full eigenproblem is solved.
struct WidestAxes {
  at::Tensor values;         // [replicates, leading], decreasing
  at::Tensor vectors;        // [replicates, leading, d]
  at::Tensor within;         // [replicates, d]: widest direction after both means are removed
  at::Tensor within_values;  // [replicates]: the variance along `within`, over tokens
  at::Tensor b;  // [replicates, d]: widest direction orthogonal to a, where the offset counts twice
  at::Tensor b_values;  // [replicates]
  // For replicate 0: the variance along the next widest direction after `within` and after b.
  double next_within = 0;
  double next_b = 0;
};
WidestAxes widest_axes(const WidestAxesInput& problem);

}  // namespace ropewalk
