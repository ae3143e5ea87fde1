#pragma once

#include "ropewalk/analysis/replicates/head_replicates.h"

namespace ropewalk {

// Directions of a head beside its components, and the variances of queries and keys along them:
// each [replicates, d], of length 1.
struct HeadAxes {
  at::Tensor within;         // the widest when both means are removed
  at::Tensor within_values;  // [replicates]: the variance of both about their means along it
  at::Tensor a;              // the drift axis; 0 where there is none
  at::Tensor a_known;        // [replicates] bool
  at::Tensor b;              // the widest orthogonal to a, with the offset counted double
  at::Tensor b_values;       // [replicates]: half of that variance
  // [replicates, 4]: along within, a and b, and along what meets the other stream in logits: the
  // slope of keys for queries, the mean of queries for keys.
  at::Tensor q_variance, k_variance;
};
// Computed once for each head.
const HeadAxes& head_axes(const HeadReplicates& head);

}  // namespace ropewalk
