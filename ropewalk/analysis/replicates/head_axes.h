#pragma once

#include "ropewalk/analysis/replicates/head_replicates.h"

namespace ropewalk {

// Directions of a head besides its components, and the variances of queries and keys along them:
// each [replicates, d], of length 1.
struct HeadAxes {
  at::Tensor within;  // the direction of largest variance after both means are removed
  // [replicates]: the variance along it of queries and keys about their own means
  at::Tensor within_values;
  at::Tensor a;        // the drift axis; 0 where the head has none
  at::Tensor a_known;  // [replicates] bool: whether a is known
  at::Tensor b;  // the direction of largest variance orthogonal to a, where the offset counts twice
  at::Tensor b_values;  // [replicates]: half of the variance along b
  // [replicates, 4]: variance along within, a and b, and along the vector of the other stream that
  // enters logits: for queries the slope of keys, for keys the mean of queries.
  at::Tensor q_variance, k_variance;
};
// Computed once per head.
const HeadAxes& head_axes(const HeadReplicates& head);

}  // namespace ropewalk
