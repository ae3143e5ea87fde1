#pragma once

#include <cstdint>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Two axes are nearly tied, and trade places easily, where the variance along the next one is above
// this share of the first one's.
inline constexpr double kNearTie = 0.9;

// The covariance of queries and keys together, and what of it is sought.
struct AxesProblem {
  at::Tensor covariance;  // [replicates, d, d], over tokens - 1
  at::Tensor tokens;      // [replicates], of both
  at::Tensor offset;      // [replicates, d]: between their means
  at::Tensor weight;      // [replicates]: of the offset's square in the variance
  at::Tensor a;           // [replicates, d]: the drift axis, of length 1 or 0
  int64_t leading = 0;    // eigenvectors
};

// Directions of largest variance, of length 1; signs as they come. Cases are reduced to what is
// sought (tridiagonal_top.h), and solved as a whole where that fails.
struct WidestAxes {
  at::Tensor values;         // [replicates, leading], decreasing
  at::Tensor vectors;        // [replicates, leading, d]
  at::Tensor within;         // [replicates, d]: with both means removed
  at::Tensor within_values;  // [replicates]: the variance along it, over tokens
  at::Tensor b;              // [replicates, d]: orthogonal to a, with the offset counted double
  at::Tensor b_values;       // [replicates]
  // Of case 0, along the next widest after `within` and after b.
  double next_within = 0;
  double next_b = 0;
};
WidestAxes widest_axes(const AxesProblem& problem);

}  // namespace ropewalk
