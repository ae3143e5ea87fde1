#pragma once

#include <cstdint>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// The covariance of queries and keys together, and what of it is sought.
struct AxesProblem {
  at::Tensor covariance;  // [cases, d, d], over tokens - 1
  at::Tensor tokens;      // [cases], of both
  at::Tensor offset;      // [cases, d]: between their means
  at::Tensor weight;      // [cases]: of the offset's square in the variance
  at::Tensor a;           // [cases, d]: the drift axis, of length 1 or 0
  int64_t leading = 0;    // eigenvectors
};

// Directions of largest variance, of length 1; signs as they come. Case 0 is solved as a whole. The
// others, of which only errors are made, are reduced to what is sought (tridiagonal_top.h), and
// solved as a whole where that fails.
struct WidestAxes {
  at::Tensor values;         // [cases, leading], decreasing
  at::Tensor vectors;        // [cases, leading, d]
  at::Tensor within;         // [cases, d]: with both means removed
  at::Tensor within_values;  // [cases]: the variance along it, over tokens
  at::Tensor b;              // [cases, d]: orthogonal to a, with the offset counted double
  at::Tensor b_values;       // [cases]
};
WidestAxes widest_axes(const AxesProblem& problem);

}  // namespace ropewalk
