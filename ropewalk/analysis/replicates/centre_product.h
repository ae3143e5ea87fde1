#pragma once

#include "ropewalk/analysis/replicates/rope_replicates.h"

namespace ropewalk {

// What a mean query and a mean key before RoPE make of each other, by case. Once both have turned,
// their product depends on how far apart they stand, and on nothing else.
struct CentreProduct {
  at::Tensor real;  // [replicates, pairs]: of the query's pair times the conjugate of the key's
  at::Tensor imaginary;  // likewise
  at::Tensor rest;       // [replicates]: of dimensions in no pair
};

// Of means [replicates, d]; how a layer's pairs lie.
CentreProduct centre_product(const RopeLayer& layer, const at::Tensor& query,
                             const at::Tensor& key);

// The product at every distance below `end`, of pairs that turn by `theta` [pairs] per token and
// are multiplied by `factor` each: [replicates, end] float64.
at::Tensor product_by_distance(const CentreProduct& product, const at::Tensor& theta, double factor,
                               int64_t end);

}  // namespace ropewalk
